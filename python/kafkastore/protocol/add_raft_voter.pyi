"""Messages of add_raft_voter; made by `make schema`."""

from typing import Final, final

@final
class AddRaftVoterRequest:
    """Versions 0-1.

    Not in every version: ack_when_committed 1.
    """

    cluster_id: Final[str | None]
    timeout_ms: Final[int]
    voter_id: Final[int]
    voter_directory_id: Final[bytes | None]
    listeners: Final[tuple[Listener, ...]]
    ack_when_committed: Final[bool]

@final
class Listener:
    """Of AddRaftVoterRequest."""

    name: Final[str]
    host: Final[str]
    port: Final[int]

@final
class AddRaftVoterResponse:
    """Versions 0-1."""

    throttle_time_ms: Final[int]
    error_code: Final[int]
    error_message: Final[str | None]
