"""LeaderChangeMessage; made by `make schema` of `rust/protocol/messages`, see `__init__.py`."""

from typing import Final, final

@final
class LeaderChangeMessage:
    """Versions 0-1."""

    version: Final[int]
    leader_id: Final[int]
    voters: Final[tuple[Voter, ...]]
    granting_voters: Final[tuple[Voter, ...]]

@final
class Voter:
    """Of LeaderChangeMessage.

    Not in every version: voter_directory_id 1.
    """

    voter_id: Final[int]
    voter_directory_id: Final[bytes | None]
