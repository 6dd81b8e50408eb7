"""The topics that members of protocol type ``consumer`` subscribe to, read from their metadata at each query.

::

    subscription := version:int16 topics:array(string) …      (every later version starts with these fields)

The topics are not kept: a member may name hundreds of thousands of topics.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from kafkastore.coordinator.runtime.steps import ITEMS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from kafkastore.coordinator.group.classic.group import Group
    from kafkastore.coordinator.runtime.steps import Steps

CONSUMER_PROTOCOL_TYPE: Final = "consumer"
TOPICS_A_STEP: Final = ITEMS * 8


class NoSubscriptionError(ValueError):
    """Metadata that is not a subscription."""


def topics_of(metadata: bytes) -> Iterator[bytes]:
    """Yields the topic names. Raises NoSubscriptionError, maybe after it has yielded some."""
    try:
        version, count = struct.unpack_from(">hi", metadata, 0)
        if version < 0 or count < 0 or count > len(metadata):
            raise NoSubscriptionError
        position = 6
        for _ in range(count):
            (size,) = struct.unpack_from(">h", metadata, position)
            position += 2
            if size < 0 or position + size > len(metadata):
                raise NoSubscriptionError
            yield metadata[position : position + size]
            position += size
    except struct.error:
        raise NoSubscriptionError from None


def subscribed_among(group: Group, topics: Collection[str]) -> Steps[frozenset[str] | None]:
    """Returns which of the topics a member of the group subscribes to; ``None`` when a member's metadata is no
    subscription. Reads the members as they are at the call. Members that join, leave or change meanwhile raise
    ``membership_changes``, which the caller compares."""
    wanted = {topic.encode(errors="surrogatepass"): topic for topic in topics}
    found: set[str] = set()
    seen: set[bytes] = set()  # most members have the same metadata
    number = 0
    for member in list(group.members.values()):
        metadata = member.metadata(group.protocol_name)
        if metadata in seen:
            continue
        seen.add(metadata)
        try:
            for name in topics_of(metadata):
                number += 1
                if number % TOPICS_A_STEP == 0:
                    yield None
                if name in wanted:
                    found.add(wanted[name])
        except NoSubscriptionError:
            return None
        yield None
    return frozenset(found)
