"""Messages of create_topics; made by `make schema`."""

from typing import Final, final

@final
class CreateTopicsRequest:
    """Versions 0-7.

    Not in every version: validate_only 1+.
    """

    topics: Final[tuple[CreatableTopic, ...]]
    timeout_ms: Final[int]
    validate_only: Final[bool]

@final
class CreatableTopic:
    """Of CreateTopicsRequest."""

    name: Final[str]
    num_partitions: Final[int]
    replication_factor: Final[int]
    assignments: Final[tuple[CreatableReplicaAssignment, ...]]
    configs: Final[tuple[CreatableTopicConfig, ...]]

@final
class CreatableReplicaAssignment:
    """Of CreateTopicsRequest."""

    partition_index: Final[int]
    broker_ids: Final[tuple[int, ...]]

@final
class CreatableTopicConfig:
    """Of CreateTopicsRequest."""

    name: Final[str]
    value: Final[str | None]

@final
class CreateTopicsResponse:
    """Versions 0-7.

    Not in every version: throttle_time_ms 2+.
    """

    throttle_time_ms: Final[int]
    topics: Final[tuple[CreatableTopicResult, ...]]

@final
class CreatableTopicResult:
    """Of CreateTopicsResponse.

    Not in every version: topic_id 7, error_message 1+, topic_config_error_code 5+, num_partitions 5+,
    replication_factor 5+, configs 5+.
    """

    name: Final[str]
    topic_id: Final[bytes | None]
    error_code: Final[int]
    error_message: Final[str | None]
    topic_config_error_code: Final[int]
    num_partitions: Final[int]
    replication_factor: Final[int]
    configs: Final[tuple[CreatableTopicConfigs, ...] | None]

@final
class CreatableTopicConfigs:
    """Of CreateTopicsResponse.

    Not in every version: name 5+, value 5+, read_only 5+, config_source 5+, is_sensitive 5+.
    """

    name: Final[str]
    value: Final[str | None]
    read_only: Final[bool]
    config_source: Final[int]
    is_sensitive: Final[bool]
