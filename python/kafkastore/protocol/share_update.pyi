"""ShareUpdateKey and ShareUpdateValue; made by `make schema` of `rust/protocol/messages`, see `__init__.py`."""

from typing import Final, final

@final
class ShareUpdateKey:
    """Versions 0."""

    group_id: Final[str]
    topic_id: Final[bytes | None]
    partition: Final[int]

@final
class ShareUpdateValue:
    """Versions 0."""

    snapshot_epoch: Final[int]
    leader_epoch: Final[int]
    start_offset: Final[int]
    delivery_complete_count: Final[int]
    state_batches: Final[tuple[StateBatch, ...]]

@final
class StateBatch:
    """Of ShareUpdateValue."""

    first_offset: Final[int]
    last_offset: Final[int]
    delivery_state: Final[int]
    delivery_count: Final[int]
