"""Classic groups and their offsets.

======================  ==========================================================================
``coordinator``         what handlers call
``join`` ``sync``       the requests that wait
``membership``          heartbeat, leave
``rebalance``           from one generation to the next
``offsets``             commit, fetch, delete
``removal``             deleted groups, expiry
``listing``             list, describe
``loading``             taking over and giving up partitions
``states`` ``group`` ``member`` ``group_store``   the state
``records`` ``partitioning`` ``subscription``     bytes
``offsets_log``         where it is kept
======================  ==========================================================================
"""
