"""ProduceRequest and ProduceResponse; made by `make schema` of `rust/protocol/messages`, see `__init__.py`."""

from typing import Final, final

@final
class ProduceRequest:
    """Versions 0-13.

    Not in every version: transactional_id 3+.
    """

    transactional_id: Final[str | None]
    acks: Final[int]
    timeout_ms: Final[int]
    topic_data: Final[tuple[TopicProduceData, ...]]

@final
class TopicProduceData:
    """Of ProduceRequest.

    Not in every version: name 0-12, topic_id 13.
    """

    name: Final[str]
    topic_id: Final[bytes | None]
    partition_data: Final[tuple[PartitionProduceData, ...]]

@final
class PartitionProduceData:
    """Of ProduceRequest."""

    index: Final[int]
    records: Final[bytes | None]

@final
class ProduceResponse:
    """Versions 0-13.

    Not in every version: throttle_time_ms 1+, node_endpoints 10+.
    """

    responses: Final[tuple[TopicProduceResponse, ...]]
    throttle_time_ms: Final[int]
    node_endpoints: Final[tuple[NodeEndpoint, ...]]

@final
class TopicProduceResponse:
    """Of ProduceResponse.

    Not in every version: name 0-12, topic_id 13.
    """

    name: Final[str]
    topic_id: Final[bytes | None]
    partition_responses: Final[tuple[PartitionProduceResponse, ...]]

@final
class PartitionProduceResponse:
    """Of ProduceResponse.

    Not in every version: log_append_time_ms 2+, log_start_offset 5+, record_errors 8+, error_message 8+,
    current_leader 10+.
    """

    index: Final[int]
    error_code: Final[int]
    base_offset: Final[int]
    log_append_time_ms: Final[int]
    log_start_offset: Final[int]
    record_errors: Final[tuple[BatchIndexAndErrorMessage, ...]]
    error_message: Final[str | None]
    current_leader: Final[LeaderIdAndEpoch]

@final
class BatchIndexAndErrorMessage:
    """Of ProduceResponse.

    Not in every version: batch_index 8+, batch_index_error_message 8+.
    """

    batch_index: Final[int]
    batch_index_error_message: Final[str | None]

@final
class LeaderIdAndEpoch:
    """Of ProduceResponse.

    Not in every version: leader_id 10+, leader_epoch 10+.
    """

    leader_id: Final[int]
    leader_epoch: Final[int]

@final
class NodeEndpoint:
    """Of ProduceResponse.

    Not in every version: node_id 10+, host 10+, port 10+, rack 10+.
    """

    node_id: Final[int]
    host: Final[str]
    port: Final[int]
    rack: Final[str | None]
