"""The control plane's part of transactions. The state machine of transactional ids is in the data plane, with its
records, its timers and the markers: ``rust/coordinator/transactions``.

======================  ==========================================================================
``shards``              loading and giving up partitions of ``__transaction_state``
``listing``             the answers of ListTransactions and DescribeTransactions
``config``              the broker's configuration keys for transactions
======================  ==========================================================================
"""
