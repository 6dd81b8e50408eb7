"""Messages of delete_topics; made by `make schema`."""

from typing import Final, final

@final
class DeleteTopicsRequest:
    """Versions 0-6.

    Not in every version: topics 6, topic_names 0-5.
    """

    topics: Final[tuple[DeleteTopicState, ...]]
    topic_names: Final[tuple[str, ...]]
    timeout_ms: Final[int]

@final
class DeleteTopicState:
    """Of DeleteTopicsRequest.

    Not in every version: name 6, topic_id 6.
    """

    name: Final[str | None]
    topic_id: Final[bytes | None]

@final
class DeleteTopicsResponse:
    """Versions 0-6.

    Not in every version: throttle_time_ms 1+.
    """

    throttle_time_ms: Final[int]
    responses: Final[tuple[DeletableTopicResult, ...]]

@final
class DeletableTopicResult:
    """Of DeleteTopicsResponse.

    Not in every version: topic_id 6, error_message 5+.
    """

    name: Final[str | None]
    topic_id: Final[bytes | None]
    error_code: Final[int]
    error_message: Final[str | None]
