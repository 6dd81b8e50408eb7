"""What a start does about logs that lack durable records: which losses it allows, which it refuses, what it logs.

The data plane compares each log with what was recorded of it before (docs/internals/storage.md). Before that, this
module gives it the partitions that have another in-sync replica: their damaged logs are set aside or opened short, the
broker registers as unclean, and the records are fetched again from the leader. For any other partition the start is
refused, until the file is restored or the loss is accepted in the configuration. Partitions whose directory is missing
are judged here, since the metadata says which topics exist.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kafkastore.errors import StartupError
from kafkastore.metadata.stored_topics import UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kafkastore._core import Recovery
    from kafkastore.config import BrokerConfig
    from kafkastore.metadata.stored_topics import StoredTopic

logger = logging.getLogger("kafkastore.server.log_losses")

ACCEPT_KEY = "kafkastore.accept.log.loss"

WHOLE_LINES = 200
"""How many notes are logged with a line each; for further notes only the partitions are named, many in a line."""

NAMES_A_LINE = 50


def accepted(config: BrokerConfig) -> list[tuple[str, int, int]]:
    """(topic, partition, log end offset) of each accepted loss. Raises StartupError."""
    found = []
    for entry in config.get(ACCEPT_KEY):
        name, _, end = entry.rpartition(":")
        topic, _, number = name.rpartition("-")
        if not (topic and number.isdecimal() and end.isdecimal()):
            raise StartupError(
                f"{ACCEPT_KEY}={entry}: it is no topic-partition:offset as in orders-3:5120; take it from the refusal "
                "of the start"
            )
        found.append((topic, int(number), int(end)))
    return found


def replicated(config: BrokerConfig, topics: Mapping[str, StoredTopic]) -> list[tuple[str, list[int]]]:
    """By topic the partitions of this broker that have another in-sync replica."""
    found = []
    for topic in topics.values() if config.is_member else ():
        numbers = [number for number in _placed(config.node_id, topic) if _has_other(config.node_id, topic, number)]
        if numbers:
            found.append((topic.name, numbers))
    return found


def _placed(node_id: int, topic: StoredTopic) -> Iterator[int]:
    return (number for number, one in enumerate(topic.assigned) if node_id in one.replicas)


def _has_other(node_id: int, topic: StoredTopic, number: int) -> bool:
    state = topic.states.get(number)
    return state is not None and state is not UNREADABLE and any(replica != node_id for replica in state.isr)


def tell(recovery: Recovery) -> None:
    """Logs what recovery found: names each partition, the first :data:`WHOLE_LINES` with a line of their own."""
    notes = recovery.take_notes()
    notes.sort(key=lambda note: not note.is_loss)  # losses first, otherwise in the order of the notes
    for note in notes[:WHOLE_LINES]:
        logger.log(logging.WARNING if note.is_loss else logging.INFO, "%s", note.text)
    for is_loss, loss in ((True, "lost records or had bytes cut off"), (False, "were mended after a crash")):
        names = [note.text.split(": ", 1)[0] for note in notes[WHOLE_LINES:] if note.is_loss == is_loss]
        for at in range(0, len(names), NAMES_A_LINE):
            level = logging.WARNING if is_loss else logging.INFO
            logger.log(level, "These %s too: %s", loss, ", ".join(names[at : at + NAMES_A_LINE]))


def refuse_missing(config: BrokerConfig, recovery: Recovery, topics: Mapping[str, StoredTopic]) -> None:
    """Raises StartupError when a partition of this broker has no directory any more, no other in-sync replica, and no
    accepted loss."""
    allowed = set(accepted(config))
    others = {(name, number) for name, numbers in replicated(config, topics) for number in numbers}
    refused = []
    for missing in recovery.missing_logs():
        name, number = missing.topic, missing.partition
        topic = topics.get(name)
        if topic is None or number not in _placed(config.node_id, topic):
            continue  # the partition was deleted, or moved away, since the checkpoint was written
        last = missing.log_end_offset - 1
        loss = f"{missing.log_dir}/{name}-{number} is missing, which had the records up to offset {last}"
        if (name, number) in others:
            logger.warning("%s-%d: %s; it is fetched again from the leader", name, number, loss)
        elif (name, number, 0) in allowed:
            logger.warning("%s-%d: %s; accepted, it begins anew at offset 0", name, number, loss)
        else:
            refused.append((f"{name}-{number}:0", loss))
    if not refused:
        return
    recovery.put_back_shutdown()
    for _, loss in refused[1:]:
        logger.warning("%s", loss)
    more = f", and {len(refused) - 1} more partitions, which the log names" if len(refused) > 1 else ""
    entries = ",".join(entry for entry, _ in refused[:10]) + (",…" if len(refused) > 10 else "")
    raise StartupError(
        f"{refused[0][1]}{more}; restore what is missing, or accept the loss, after which each begins anew at "
        f"offset 0, with {ACCEPT_KEY}={entries}"
    )
