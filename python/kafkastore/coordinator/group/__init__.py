"""What every kind of group has. Heartbeats, commits and offsets are the data plane's, by leases.

======================  ==========================================================================
``group_store``         the groups by id, and by the partition that keeps them
``removal``             groups and offsets that are deleted or expire
``offsets_log``         the contract with the data plane; ``replicated_log`` fulfils it
``config``              the broker's keys
``classic/``            the one kind there is so far
======================  ==========================================================================
"""
