"""Classic groups: who is a member, what is assigned, what goes. Heartbeats, commits and offsets are the data plane's, by leases.

======================  ==========================================================================
``coordinator``         what handlers call
``join`` ``sync``       the requests that wait
``membership``          leave
``rebalance``           from one generation to the next
``removal``             what is deleted, what expires
``listing``             list, describe
``loading``             taking over and giving up partitions
``steps`` ``running``   long work, a step at a time
``states`` ``group`` ``member`` ``group_store`` ``budget``   the state, and how much of it there may be
``records`` ``partitioning`` ``subscription``     bytes
``offsets_log``         where it is kept
======================  ==========================================================================
"""
