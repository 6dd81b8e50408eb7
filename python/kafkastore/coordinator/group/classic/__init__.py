"""Classic groups: their members, their leader and its assignment of partitions to the members.

======================  ==========================================================================
``join`` ``sync``       JoinGroup and SyncGroup, whose requests wait
``membership``          LeaveGroup
``rebalance``           from one generation to the next
``listing``             ListGroups, DescribeGroups
``loading``             groups loaded from their records
``states`` ``group`` ``member`` ``budget``   the state, and the limit of its bytes
``records`` ``subscription``   the bytes of group records and of subscriptions
======================  ==========================================================================
"""
