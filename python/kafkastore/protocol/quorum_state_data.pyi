"""QuorumStateData; made by `make schema` of `rust/protocol/messages`, see `__init__.py`."""

from typing import Final, final

@final
class QuorumStateData:
    """Versions 0-1.

    Not in every version: cluster_id 0, voted_directory_id 1, applied_offset 0, current_voters 0.
    """

    cluster_id: Final[str]
    leader_id: Final[int]
    leader_epoch: Final[int]
    voted_id: Final[int]
    voted_directory_id: Final[bytes | None]
    applied_offset: Final[int]
    current_voters: Final[tuple[Voter, ...] | None]

@final
class Voter:
    """Of QuorumStateData.

    Not in every version: voter_id 0.
    """

    voter_id: Final[int]
