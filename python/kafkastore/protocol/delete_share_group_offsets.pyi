"""Messages of delete_share_group_offsets; made by `make schema`."""

from typing import Final, final

@final
class DeleteShareGroupOffsetsRequest:
    """Versions 0."""

    group_id: Final[str]
    topics: Final[tuple[DeleteShareGroupOffsetsRequestTopic, ...]]

@final
class DeleteShareGroupOffsetsRequestTopic:
    """Of DeleteShareGroupOffsetsRequest."""

    topic_name: Final[str]

@final
class DeleteShareGroupOffsetsResponse:
    """Versions 0."""

    throttle_time_ms: Final[int]
    error_code: Final[int]
    error_message: Final[str | None]
    responses: Final[tuple[DeleteShareGroupOffsetsResponseTopic, ...]]

@final
class DeleteShareGroupOffsetsResponseTopic:
    """Of DeleteShareGroupOffsetsResponse."""

    topic_name: Final[str]
    topic_id: Final[bytes | None]
    error_code: Final[int]
    error_message: Final[str | None]
