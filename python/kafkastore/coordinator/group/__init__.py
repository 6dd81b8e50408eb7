"""The parts for every kind of group. The data plane serves heartbeats, commits and offsets, by the groups' leases.

======================  ==========================================================================
``group_store``         the groups by id, and by the partition that keeps them
``removal``             groups and offsets that are deleted or expire
``offsets_log``         the contract with the data plane; ``replicated_log`` fulfils it
``config``              the broker's configuration keys for groups
``classic/``            classic groups, the only kind so far
======================  ==========================================================================
"""
