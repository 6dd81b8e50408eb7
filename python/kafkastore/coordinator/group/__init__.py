"""Classic groups and their offsets.

======================  ==========================================================================
``coordinator``         what handlers call
``join`` ``sync``       the requests that wait
``membership``          heartbeat, leave
``rebalance``           from one generation to the next
``offsets``             commit, fetch
``removal``             what is deleted, what expires
``tombstones``          how it leaves the log
``listing``             list, describe
``loading``             taking over and giving up partitions
``steps`` ``running``   long work, a step at a time
``states`` ``group`` ``member`` ``group_store`` ``budget``   the state, and how much of it there may be
``records`` ``partitioning`` ``subscription``     bytes
``offsets_log``         where it is kept
======================  ==========================================================================
"""
