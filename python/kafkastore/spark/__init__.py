"""Topics as PySpark data frames, read from the segment files where Spark's tasks see the disk.

columns.py       the columns as Spark's types
planning.py      asks the planner (rust/planner): options into shares, what each task reads, fixed when planned
reading.py       a share as Arrow batches, on a worker
jvm.py           ``spark.read.format("kafkastore")``: the jar that has this source
map_in_arrow.py  ``segments(...).mapInArrow(scan_segments(...), ...)``
bulk_load.py     ``load``: tasks build segments that the brokers adopt
"""

from typing import TYPE_CHECKING

from kafkastore.exports import exported
from kafkastore.spark.columns import spark_schema as schema
from kafkastore.spark.jvm import configure, jar
from kafkastore.spark.map_in_arrow import scan_segments, segments

if TYPE_CHECKING:
    from kafkastore.spark.bulk_load import load

__all__ = ["configure", "jar", "load", "scan_segments", "schema", "segments"]

# a load needs the brokers' requests
__getattr__, __dir__ = exported(__name__, {"load": "kafkastore.spark.bulk_load"})
