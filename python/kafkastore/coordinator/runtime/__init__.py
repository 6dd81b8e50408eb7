"""What every coordinator stands on: an internal topic as the log of its state, of which each broker coordinates the
partitions it leads.

======================  ==========================================================================
``partitions``          which partitions are coordinated here, and what requests are told meanwhile
``elections``           taking partitions over and giving them up
``internal_log``        appending records to the topic
``append_errors``       what a failed append is called towards a client
``steps`` ``running``   long work, a step at a time
``periodic``            work that comes again, such as expiry
``clock``               the clock of a running broker
``partitioning``        which partition keeps a key
``log_lines``           names in log lines
======================  ==========================================================================

Never: knows a record, a group or a transaction.
"""
