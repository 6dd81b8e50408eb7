"""Messages of alter_replica_log_dirs; made by `make schema`."""

from typing import Final, final

@final
class AlterReplicaLogDirsRequest:
    """Versions 0-2."""

    dirs: Final[tuple[AlterReplicaLogDir, ...]]

@final
class AlterReplicaLogDir:
    """Of AlterReplicaLogDirsRequest."""

    path: Final[str]
    topics: Final[tuple[AlterReplicaLogDirTopic, ...]]

@final
class AlterReplicaLogDirTopic:
    """Of AlterReplicaLogDirsRequest."""

    name: Final[str]
    partitions: Final[tuple[int, ...]]

@final
class AlterReplicaLogDirsResponse:
    """Versions 0-2."""

    throttle_time_ms: Final[int]
    results: Final[tuple[AlterReplicaLogDirTopicResult, ...]]

@final
class AlterReplicaLogDirTopicResult:
    """Of AlterReplicaLogDirsResponse."""

    topic_name: Final[str]
    partitions: Final[tuple[AlterReplicaLogDirPartitionResult, ...]]

@final
class AlterReplicaLogDirPartitionResult:
    """Of AlterReplicaLogDirsResponse."""

    partition_index: Final[int]
    error_code: Final[int]
