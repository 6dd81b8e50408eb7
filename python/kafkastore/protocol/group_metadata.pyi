"""GroupMetadataKey and GroupMetadataValue; made by `make schema` of `rust/protocol/messages`, see `__init__.py`."""

from typing import Final, final

@final
class GroupMetadataKey:
    """Versions 0."""

    group: Final[str]

@final
class GroupMetadataValue:
    """Versions 0-4.

    Not in every version: current_state_timestamp 2+.
    """

    protocol_type: Final[str]
    generation: Final[int]
    protocol: Final[str | None]
    leader: Final[str | None]
    current_state_timestamp: Final[int]
    members: Final[tuple[MemberMetadata, ...]]

@final
class MemberMetadata:
    """Of GroupMetadataValue.

    Not in every version: group_instance_id 3+, rebalance_timeout 1+.
    """

    member_id: Final[str]
    group_instance_id: Final[str | None]
    client_id: Final[str]
    client_host: Final[str]
    rebalance_timeout: Final[int]
    session_timeout: Final[int]
    subscription: Final[bytes]
    assignment: Final[bytes]
