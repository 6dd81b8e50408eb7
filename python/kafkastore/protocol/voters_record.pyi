"""VotersRecord; made by `make schema` of `rust/protocol/messages`, see `__init__.py`."""

from typing import Final, final

@final
class VotersRecord:
    """Versions 0."""

    version: Final[int]
    voters: Final[tuple[Voter, ...]]

@final
class Voter:
    """Of VotersRecord."""

    voter_id: Final[int]
    voter_directory_id: Final[bytes | None]
    endpoints: Final[tuple[Endpoint, ...]]
    k_raft_version_feature: Final[KRaftVersionFeature]

@final
class Endpoint:
    """Of VotersRecord."""

    name: Final[str]
    host: Final[str]
    port: Final[int]

@final
class KRaftVersionFeature:
    """Of VotersRecord."""

    min_supported_version: Final[int]
    max_supported_version: Final[int]
