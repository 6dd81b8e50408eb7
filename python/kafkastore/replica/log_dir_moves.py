"""Replicas that are to be in another log directory of this broker (KIP-113, spec R2.7).

The data plane copies and swaps; here is what is refused, and where the rest of the control plane learns of it. A replica that is
not here is refused, but the wish is remembered: its log is made in that directory if it comes. Never touches a file.

Cases, as Apache Kafka has them:

A  the name with the suffix of a future log is too long         → INVALID_TOPIC_EXCEPTION
B  no such directory in log.dirs                                → LOG_DIR_NOT_FOUND
C  the directory is offline, or the one that the replica is in  → KAFKA_STORAGE_ERROR
D  the partition has no replica here                            → REPLICA_NOT_AVAILABLE, remembered
E  there is no such partition                                   → UNKNOWN_TOPIC_OR_PARTITION, remembered
F  all else                                                     → moves; to where it is: ends its move
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kafkastore._core import EngineError
from kafkastore.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkastore._core import ReplicaMoved
    from kafkastore.purgatory.turns import Turn
    from kafkastore.server.context import BrokerServices

logger = logging.getLogger("kafkastore.replica.log_dir_moves")

NAMED = 10
"""Replicas of one request that a line of the log names."""

_LONGEST_NAME = 255
_LONGEST_SUFFIX = len(".") + 32 + len("-future")


async def alter(
    broker: BrokerServices, wanted: Mapping[tuple[str, int], str], turn: Turn
) -> dict[tuple[str, int], int]:
    """Begins to move each replica to its directory; an error code for each."""
    outcomes = {}
    async for (topic, partition), directory in turn.each(wanted.items()):
        code = _refusal(broker, topic, partition, directory)
        if code == ErrorCode.NONE:
            try:
                await broker.run_blocking(broker.engine.alter_log_dir, topic, partition, directory)
            except EngineError as error:
                logger.warning("Cannot move %s-%d to %s: %s", topic, partition, directory, error)
                code = error.code
        outcomes[topic, partition] = code
    begun = [f"{topic}-{number}" for (topic, number), code in outcomes.items() if code == ErrorCode.NONE]
    if begun:
        more = f" and {len(begun) - NAMED} more" if len(begun) > NAMED else ""
        logger.info("Moving to other log directories: %s%s", ", ".join(begun[:NAMED]), more)
    return outcomes


def _refusal(broker: BrokerServices, topic: str, partition: int, directory: str) -> int:
    """Cases A to E; NONE for F."""
    logs = broker.log_manager
    if len(f"{topic}-{partition}") + _LONGEST_SUFFIX > _LONGEST_NAME:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    if directory not in broker.config.log_dirs:
        return ErrorCode.LOG_DIR_NOT_FOUND
    if directory in logs.failed:
        return ErrorCode.KAFKA_STORAGE_ERROR
    here = logs.directory_of(topic, partition)
    if here is not None:
        return ErrorCode.KAFKA_STORAGE_ERROR if here in logs.failed else ErrorCode.NONE
    state = broker.replica_manager.held.partition(topic, partition)
    if logs.failed and state is not None and broker.node_id in state.replicas:
        return ErrorCode.KAFKA_STORAGE_ERROR  # it may be in one of those
    logs.prefer(topic, partition, directory)
    is_known = broker.image.partition(topic, partition) is not None
    return ErrorCode.REPLICA_NOT_AVAILABLE if is_known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def on_moved(broker: BrokerServices, event: ReplicaMoved) -> None:
    """The data plane has a replica in another directory now, which may have failed since."""
    logs = broker.log_manager
    if logs.move(event.topic, event.partition, event.log_dir) and event.log_dir in logs.failed:
        broker.replica_manager.take_offline({event.topic: [event.partition]})
