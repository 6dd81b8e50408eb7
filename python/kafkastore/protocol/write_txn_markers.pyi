"""Messages of write_txn_markers; made by `make schema`."""

from typing import Final, final

@final
class WriteTxnMarkersRequest:
    """Versions 0-2."""

    markers: Final[tuple[WritableTxnMarker, ...]]

@final
class WritableTxnMarker:
    """Of WriteTxnMarkersRequest.

    Not in every version: transaction_version 2.
    """

    producer_id: Final[int]
    producer_epoch: Final[int]
    transaction_result: Final[bool]
    topics: Final[tuple[WritableTxnMarkerTopic, ...]]
    coordinator_epoch: Final[int]
    transaction_version: Final[int]

@final
class WritableTxnMarkerTopic:
    """Of WriteTxnMarkersRequest."""

    name: Final[str]
    partition_indexes: Final[tuple[int, ...]]

@final
class WriteTxnMarkersResponse:
    """Versions 0-2."""

    markers: Final[tuple[WritableTxnMarkerResult, ...]]

@final
class WritableTxnMarkerResult:
    """Of WriteTxnMarkersResponse."""

    producer_id: Final[int]
    topics: Final[tuple[WritableTxnMarkerTopicResult, ...]]

@final
class WritableTxnMarkerTopicResult:
    """Of WriteTxnMarkersResponse."""

    name: Final[str]
    partitions: Final[tuple[WritableTxnMarkerPartitionResult, ...]]

@final
class WritableTxnMarkerPartitionResult:
    """Of WriteTxnMarkersResponse."""

    partition_index: Final[int]
    error_code: Final[int]
