"""Messages of add_partitions_to_txn; made by `make schema`."""

from typing import Final, final

@final
class AddPartitionsToTxnRequest:
    """Versions 0-5.

    Not in every version: transactions 4+, v3_and_below_transactional_id 0-3, v3_and_below_producer_id 0-3,
    v3_and_below_producer_epoch 0-3, v3_and_below_topics 0-3.
    """

    transactions: Final[tuple[AddPartitionsToTxnTransaction, ...]]
    v3_and_below_transactional_id: Final[str]
    v3_and_below_producer_id: Final[int]
    v3_and_below_producer_epoch: Final[int]
    v3_and_below_topics: Final[tuple[AddPartitionsToTxnTopic, ...]]

@final
class AddPartitionsToTxnTransaction:
    """Of AddPartitionsToTxnRequest.

    Not in every version: transactional_id 4+, producer_id 4+, producer_epoch 4+, verify_only 4+, topics 4+.
    """

    transactional_id: Final[str]
    producer_id: Final[int]
    producer_epoch: Final[int]
    verify_only: Final[bool]
    topics: Final[tuple[AddPartitionsToTxnTopic, ...]]

@final
class AddPartitionsToTxnTopic:
    """Of AddPartitionsToTxnRequest."""

    name: Final[str]
    partitions: Final[tuple[int, ...]]

@final
class AddPartitionsToTxnResponse:
    """Versions 0-5.

    Not in every version: error_code 4+, results_by_transaction 4+, results_by_topic_v3_and_below 0-3.
    """

    throttle_time_ms: Final[int]
    error_code: Final[int]
    results_by_transaction: Final[tuple[AddPartitionsToTxnResult, ...]]
    results_by_topic_v3_and_below: Final[tuple[AddPartitionsToTxnTopicResult, ...]]

@final
class AddPartitionsToTxnResult:
    """Of AddPartitionsToTxnResponse.

    Not in every version: transactional_id 4+, topic_results 4+.
    """

    transactional_id: Final[str]
    topic_results: Final[tuple[AddPartitionsToTxnTopicResult, ...]]

@final
class AddPartitionsToTxnTopicResult:
    """Of AddPartitionsToTxnResponse."""

    name: Final[str]
    results_by_partition: Final[tuple[AddPartitionsToTxnPartitionResult, ...]]

@final
class AddPartitionsToTxnPartitionResult:
    """Of AddPartitionsToTxnResponse."""

    partition_index: Final[int]
    partition_error_code: Final[int]
