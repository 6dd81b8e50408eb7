"""kafkastore: a Kafka-compatible broker. Rust data plane (``_core``), Python control plane (``server`` and below).

For programs: ``scan`` reads a topic's segment files as Arrow, ``topics`` lists what log directories hold, ``load``
appends rows as segments.
"""

from typing import TYPE_CHECKING

from kafkastore.exports import exported

if TYPE_CHECKING:
    from kafkastore._core import DataLossError, LoadBuildError, ScanError, __version__
    from kafkastore.loading.cluster import LoadError
    from kafkastore.loading.load import LoadResult, load
    from kafkastore.scanning.scan import PartitionRange, Scan, Share, scan
    from kafkastore.scanning.topics import Topic, TopicPartition, topics

__all__ = [
    "DataLossError",
    "LoadBuildError",
    "LoadError",
    "LoadResult",
    "PartitionRange",
    "Scan",
    "ScanError",
    "Share",
    "Topic",
    "TopicPartition",
    "__version__",
    "load",
    "scan",
    "topics",
]

__getattr__, __dir__ = exported(
    __name__,
    {
        "DataLossError": "kafkastore._core",
        "LoadBuildError": "kafkastore._core",
        "LoadError": "kafkastore.loading.cluster",
        "LoadResult": "kafkastore.loading.load",
        "load": "kafkastore.loading.load",
        "ScanError": "kafkastore._core",
        "PartitionRange": "kafkastore.scanning.scan",
        "Scan": "kafkastore.scanning.scan",
        "Share": "kafkastore.scanning.scan",
        "scan": "kafkastore.scanning.scan",
        "Topic": "kafkastore.scanning.topics",
        "TopicPartition": "kafkastore.scanning.topics",
        "topics": "kafkastore.scanning.topics",
        "__version__": "kafkastore._core",
    },
)
