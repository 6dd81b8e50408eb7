"""The replicas of this broker: the partitions that it leads or follows.

The map: ``assigned`` applies a controller's requests, ``taken_orders`` those of this broker's own controller;
``manager`` grants leases to the data plane and appends for the coordinators, ``isr_changes`` asks the controller for
in-sync sets, ``log_dir_moves`` moves replicas to other log directories, ``low_watermarks`` waits until deleted records
are gone everywhere, ``stored_state`` reads what the metadata store has of this broker's replicas.
"""
