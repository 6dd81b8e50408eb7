"""The topics a member of protocol type ``consumer`` subscribes to, read from its metadata.

::

    subscription := version:int16 topics:array(string) …      (every later version starts with these fields)

Never: raises on foreign bytes; ``None`` says that they are not a subscription.
"""

from __future__ import annotations

import struct
from typing import Final

CONSUMER_PROTOCOL_TYPE: Final = "consumer"


def subscribed_topics(metadata: bytes) -> frozenset[str] | None:
    try:
        version, count = struct.unpack_from(">hi", metadata, 0)
        if version < 0 or count < 0 or count > len(metadata):
            return None
        topics = []
        position = 6
        for _ in range(count):
            (size,) = struct.unpack_from(">h", metadata, position)
            position += 2
            if size < 0 or position + size > len(metadata):
                return None
            topics.append(metadata[position : position + size].decode())
            position += size
    except (struct.error, UnicodeDecodeError):
        return None
    return frozenset(topics)
