"""Classic groups: who is a member, who leads, what is assigned; the members assign among themselves.

======================  ==========================================================================
``join`` ``sync``       the requests that wait
``membership``          leave
``rebalance``           from one generation to the next
``listing``             list, describe
``loading``             groups made of their records
``states`` ``group`` ``member`` ``budget``   the state, and how much of it there may be
``records`` ``subscription``   bytes
======================  ==========================================================================
"""
