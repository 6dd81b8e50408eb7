"""Messages of assign_replicas_to_dirs; made by `make schema`."""

from typing import Final, final

@final
class AssignReplicasToDirsRequest:
    """Versions 0."""

    broker_id: Final[int]
    broker_epoch: Final[int]
    directories: Final[tuple[AssignReplicasToDirsRequestDirectoryData, ...]]

@final
class AssignReplicasToDirsRequestDirectoryData:
    """Of AssignReplicasToDirsRequest."""

    id: Final[bytes | None]
    topics: Final[tuple[AssignReplicasToDirsRequestTopicData, ...]]

@final
class AssignReplicasToDirsRequestTopicData:
    """Of AssignReplicasToDirsRequest."""

    topic_id: Final[bytes | None]
    partitions: Final[tuple[AssignReplicasToDirsRequestPartitionData, ...]]

@final
class AssignReplicasToDirsRequestPartitionData:
    """Of AssignReplicasToDirsRequest."""

    partition_index: Final[int]

@final
class AssignReplicasToDirsResponse:
    """Versions 0."""

    throttle_time_ms: Final[int]
    error_code: Final[int]
    directories: Final[tuple[AssignReplicasToDirsResponseDirectoryData, ...]]

@final
class AssignReplicasToDirsResponseDirectoryData:
    """Of AssignReplicasToDirsResponse."""

    id: Final[bytes | None]
    topics: Final[tuple[AssignReplicasToDirsResponseTopicData, ...]]

@final
class AssignReplicasToDirsResponseTopicData:
    """Of AssignReplicasToDirsResponse."""

    topic_id: Final[bytes | None]
    partitions: Final[tuple[AssignReplicasToDirsResponsePartitionData, ...]]

@final
class AssignReplicasToDirsResponsePartitionData:
    """Of AssignReplicasToDirsResponse."""

    partition_index: Final[int]
    error_code: Final[int]
