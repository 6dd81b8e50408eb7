"""Bulk load without Spark: ``kafkastore.load`` (docs/bulk-load.md).

The map: ``load`` has the function and its result, ``steps`` what it does one after the other, ``cluster`` asks the
brokers (where the leaders' log directories are, a producer id, the adoption of the segments), ``staging`` has the
directories in which ``_core.LoadBuilder`` builds.
"""
