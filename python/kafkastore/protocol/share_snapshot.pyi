"""ShareSnapshotKey and ShareSnapshotValue; made by `make schema` of `rust/protocol/messages`, see `__init__.py`."""

from typing import Final, final

@final
class ShareSnapshotKey:
    """Versions 0."""

    group_id: Final[str]
    topic_id: Final[bytes | None]
    partition: Final[int]

@final
class ShareSnapshotValue:
    """Versions 0."""

    snapshot_epoch: Final[int]
    state_epoch: Final[int]
    leader_epoch: Final[int]
    start_offset: Final[int]
    delivery_complete_count: Final[int]
    create_timestamp: Final[int]
    write_timestamp: Final[int]
    state_batches: Final[tuple[StateBatch, ...]]

@final
class StateBatch:
    """Of ShareSnapshotValue."""

    first_offset: Final[int]
    last_offset: Final[int]
    delivery_state: Final[int]
    delivery_count: Final[int]
