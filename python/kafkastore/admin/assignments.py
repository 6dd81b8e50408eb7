"""What members of a consumer group say to each other through the broker, which keeps it as bytes: the partitions that a
member is assigned (org.apache.kafka.clients.consumer.internals.ConsumerProtocol).

```text
assignment  version:int16 count:int32 topic* user_data:bytes
topic       name:string count:int32 partition:int32*
string      length:int16 utf-8
```

A later version adds to the end; what is known is read alike in all of them.
"""

from __future__ import annotations

from struct import Struct, error
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kafkastore.admin.admin_client import Partition

SHORT: Final = Struct(">h")
INT: Final = Struct(">i")


def assigned_partitions(data: bytes) -> tuple[Partition, ...]:
    """The partitions in a member's assignment; none where it is empty, or of another kind of group."""
    try:
        return tuple(read_assignment(data))
    except ValueError:
        return ()


def read_assignment(data: bytes) -> list[Partition]:
    """The same, for the member itself. Raises ValueError for bytes that are no assignment."""
    if not data:
        return []
    try:
        if SHORT.unpack_from(data)[0] < 0:
            raise ValueError(f"{data[:8]!r} begins with no version")
        return _read(data)
    except error as why:
        raise ValueError(f"{data[:8]!r} is no assignment: {why}") from None


def _read(data: bytes) -> list[Partition]:
    found = []
    (topics,) = INT.unpack_from(data, SHORT.size)
    position = SHORT.size + INT.size
    for _ in range(topics):
        (length,) = SHORT.unpack_from(data, position)
        start = position + SHORT.size
        position = start + length
        topic = data[start:position].decode()
        (count,) = INT.unpack_from(data, position)
        position += INT.size
        for _ in range(count):
            found.append((topic, INT.unpack_from(data, position)[0]))
            position += INT.size
    return found
