"""kafkastore: a Kafka-compatible broker. Rust data plane (``_core``), Python control plane (``server`` and below).

For programs: ``scan`` reads a topic's segment files as Arrow, ``topics`` lists what log directories hold.
"""

from typing import TYPE_CHECKING

from kafkastore.exports import exported

if TYPE_CHECKING:
    from kafkastore._core import DataLossError, ScanError, __version__
    from kafkastore.scanning.scan import PartitionRange, Scan, Share, scan
    from kafkastore.scanning.topics import Topic, TopicPartition, topics

__all__ = [
    "DataLossError",
    "PartitionRange",
    "Scan",
    "ScanError",
    "Share",
    "Topic",
    "TopicPartition",
    "__version__",
    "scan",
    "topics",
]

__getattr__, __dir__ = exported(
    __name__,
    {
        "DataLossError": "kafkastore._core",
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
