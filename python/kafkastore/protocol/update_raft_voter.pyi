"""Messages of update_raft_voter; made by `make schema`."""

from typing import Final, final

@final
class UpdateRaftVoterRequest:
    """Versions 0."""

    cluster_id: Final[str | None]
    current_leader_epoch: Final[int]
    voter_id: Final[int]
    voter_directory_id: Final[bytes | None]
    listeners: Final[tuple[Listener, ...]]
    k_raft_version_feature: Final[KRaftVersionFeature]

@final
class Listener:
    """Of UpdateRaftVoterRequest."""

    name: Final[str]
    host: Final[str]
    port: Final[int]

@final
class KRaftVersionFeature:
    """Of UpdateRaftVoterRequest."""

    min_supported_version: Final[int]
    max_supported_version: Final[int]

@final
class UpdateRaftVoterResponse:
    """Versions 0."""

    throttle_time_ms: Final[int]
    error_code: Final[int]
    current_leader: Final[CurrentLeader]

@final
class CurrentLeader:
    """Of UpdateRaftVoterResponse."""

    leader_id: Final[int]
    leader_epoch: Final[int]
    host: Final[str]
    port: Final[int]
