"""Moves replicas to other log directories of this broker (KIP-113).

The data plane copies and swaps the log; this module refuses invalid moves, and informs the rest of the control plane of
a finished one. For a replica that is not on this broker the move is refused, but the directory is remembered: the log
is created there when the controller assigns the replica. Never touches a file.

Cases, as Apache Kafka has them:

A  the name with the suffix of a future log is too long         → INVALID_TOPIC_EXCEPTION
B  no such directory in log.dirs                                → LOG_DIR_NOT_FOUND
C  the directory, or that of the replica, is offline            → KAFKA_STORAGE_ERROR
D  the partition has no replica here                            → REPLICA_NOT_AVAILABLE, remembered
E  there is no such partition                                   → UNKNOWN_TOPIC_OR_PARTITION, remembered
F  any other                                                    → moves; to its own directory: ends its move
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from kafkastore._core import EngineError
from kafkastore.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kafkastore._core import Engine, ReplicaMoved
    from kafkastore.log.manager import LogManager
    from kafkastore.metadata.image import MetadataImage
    from kafkastore.purgatory.turns import Turn
    from kafkastore.replica.manager import ReplicaManager

logger = logging.getLogger("kafkastore.replica.log_dir_moves")

NAMED = 10
"""How many replicas of one request a line of the log names."""

_MAX_NAME_LENGTH = 255
_MAX_SUFFIX_LENGTH = len(".") + 32 + len("-future")


class LogDirMoves:
    """See the module. Runs on the loop."""

    def __init__(
        self,
        node_id: int,
        log_dirs: Sequence[str],
        image: MetadataImage,
        engine: Engine,
        log_manager: LogManager,
        replica_manager: ReplicaManager,
    ) -> None:
        """``log_dirs`` are the configured log directories, online or offline."""
        self._node_id = node_id
        self._log_dirs = log_dirs
        self._image = image
        self._engine = engine
        self._logs = log_manager
        self._replica_manager = replica_manager

    async def alter(self, wanted: Mapping[tuple[str, int], str], turn: Turn) -> dict[tuple[str, int], int]:
        """Begins to move each replica to its directory. Returns an error code for each replica."""
        loop, move = asyncio.get_running_loop(), self._engine.alter_log_dir
        outcomes = {}
        async for (topic, partition), directory in turn.each(wanted.items()):
            code = self._refusal(topic, partition, directory)
            if code == ErrorCode.NONE:
                try:
                    await loop.run_in_executor(None, move, topic, partition, directory)
                except EngineError as error:
                    logger.warning("Cannot move %s-%d to %s: %s", topic, partition, directory, error)
                    code = error.code
            outcomes[topic, partition] = code
        begun = [f"{topic}-{number}" for (topic, number), code in outcomes.items() if code == ErrorCode.NONE]
        if begun:
            more = f" and {len(begun) - NAMED} more" if len(begun) > NAMED else ""
            logger.info("Moving to other log directories: %s%s", ", ".join(begun[:NAMED]), more)
        return outcomes

    def _refusal(self, topic: str, partition: int, directory: str) -> int:
        """Cases A to E; NONE for F."""
        logs = self._logs
        if len(f"{topic}-{partition}") + _MAX_SUFFIX_LENGTH > _MAX_NAME_LENGTH:
            return ErrorCode.INVALID_TOPIC_EXCEPTION
        if directory not in self._log_dirs:
            return ErrorCode.LOG_DIR_NOT_FOUND
        if directory in logs.failed:
            return ErrorCode.KAFKA_STORAGE_ERROR
        here = logs.directory_of(topic, partition)
        if here is not None:
            return ErrorCode.KAFKA_STORAGE_ERROR if here in logs.failed else ErrorCode.NONE
        state = self._replica_manager.held.partition(topic, partition)
        if logs.failed and state is not None and self._node_id in state.replicas:
            return ErrorCode.KAFKA_STORAGE_ERROR  # its log may be in a failed directory
        logs.prefer(topic, partition, directory)
        is_known = self._image.partition(topic, partition) is not None
        return ErrorCode.REPLICA_NOT_AVAILABLE if is_known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def on_moved(self, event: ReplicaMoved) -> None:
        """The data plane has moved a replica to another directory, which may have failed since."""
        logs = self._logs
        if logs.move(event.topic, event.partition, event.log_dir) and event.log_dir in logs.failed:
            self._replica_manager.take_offline({event.topic: [event.partition]})
