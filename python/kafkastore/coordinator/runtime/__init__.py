"""The parts that every coordinator is built on: an internal topic is the log of its state, and each broker coordinates
the partitions that it leads.

======================  ==========================================================================
``partitions``          which partitions are coordinated here, and the error codes for the others
``elections``           taking partitions over and giving them up
``internal_log``        appending records to the topic
``append_errors``       the error code that a client gets for a failed append
``steps`` ``running``   long work, a step at a time
``periodic``            periodic work, such as expiry
``clock``               the clock of a running broker
``partitioning``        which partition keeps a key
``log_lines``           names in log lines
======================  ==========================================================================

Never: knows a record, a group or a transaction.
"""
