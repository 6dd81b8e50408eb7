"""Messages of find_coordinator; made by `make schema`."""

from typing import Final, final

@final
class FindCoordinatorRequest:
    """Versions 0-6.

    Not in every version: key 0-3, key_type 1+, coordinator_keys 4+.
    """

    key: Final[str]
    key_type: Final[int]
    coordinator_keys: Final[tuple[str, ...]]

@final
class FindCoordinatorResponse:
    """Versions 0-6.

    Not in every version: throttle_time_ms 1+, error_code 0-3, error_message 1-3, node_id 0-3, host 0-3, port 0-3,
    coordinators 4+.
    """

    throttle_time_ms: Final[int]
    error_code: Final[int]
    error_message: Final[str | None]
    node_id: Final[int]
    host: Final[str]
    port: Final[int]
    coordinators: Final[tuple[Coordinator, ...]]

@final
class Coordinator:
    """Of FindCoordinatorResponse.

    Not in every version: key 4+, node_id 4+, host 4+, port 4+, error_code 4+, error_message 4+.
    """

    key: Final[str]
    node_id: Final[int]
    host: Final[str]
    port: Final[int]
    error_code: Final[int]
    error_message: Final[str | None]
