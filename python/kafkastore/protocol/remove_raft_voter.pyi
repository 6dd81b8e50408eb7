"""Messages of remove_raft_voter; made by `make schema`."""

from typing import Final, final

@final
class RemoveRaftVoterRequest:
    """Versions 0."""

    cluster_id: Final[str | None]
    voter_id: Final[int]
    voter_directory_id: Final[bytes | None]

@final
class RemoveRaftVoterResponse:
    """Versions 0."""

    throttle_time_ms: Final[int]
    error_code: Final[int]
    error_message: Final[str | None]
