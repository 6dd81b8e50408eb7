"""The engine's double with the further state that the admin handlers read: producers, epochs, policies, failed
directories."""

from __future__ import annotations

import struct

from fake_engine import Engine, EngineError, EpochEnd, LogDir

OFFSET_OUT_OF_RANGE, POLICY_VIOLATION, KAFKA_STORAGE_ERROR = 1, 44, 56
FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH = 74, 75
NO_EPOCH = -1

Producer = tuple[int, int, int, int, int, int]
"""(producer id, epoch, last sequence, last timestamp, coordinator epoch, start of the current transaction)"""


class AdminEngine(Engine):
    def __init__(self, node_id: int, log_dirs: list[str]) -> None:
        super().__init__(node_id, "MkU3OEVBNTcwNTJENDM2Qg", log_dirs, {})
        self.producers: dict[tuple[str, int], list[Producer]] = {}

    def add_records(self, topic: str, partition: int, count: int) -> None:
        """Appends records as a produce request does."""
        log = self._led(topic, partition)
        log.records += [(log.end_offset + index, 0, None, b"v", False) for index in range(count)]

    def delete_records(self, topic: str, partition: int, before_offset: int) -> int:
        self._led(topic, partition)
        if "delete" not in self.topic_configs[topic]["cleanup.policy"]:
            raise EngineError(POLICY_VIOLATION, "The topic is only compacted.")
        log = self.partitions[topic, partition]
        target = log.end_offset if before_offset == -1 else before_offset
        if not 0 <= target <= log.end_offset:
            raise EngineError(OFFSET_OUT_OF_RANGE, f"{target} is not in the log.")
        log.records = [record for record in log.records if record[0] >= target]
        log.start_offset = max(log.start_offset, target)
        return target

    def offset_for_leader_epoch(
        self, topic: str, partition: int, current_leader_epoch: int, leader_epoch: int
    ) -> EpochEnd:
        log = self._led(topic, partition)
        epoch = self.leases[topic, partition][1]
        if current_leader_epoch > epoch:
            raise EngineError(UNKNOWN_LEADER_EPOCH, "The leader epoch is newer than the partition's.")
        if current_leader_epoch not in (NO_EPOCH, epoch):
            raise EngineError(FENCED_LEADER_EPOCH, "The leader epoch is older than the partition's.")
        return EpochEnd(leader_epoch, log.end_offset) if leader_epoch == epoch else EpochEnd(-1, -1)

    def describe_producers(self, topic: str, partition: int) -> bytes:
        self._led(topic, partition)
        found = self.producers.get((topic, partition), [])
        return b"".join(struct.pack(">qiiqiq", *producer) for producer in found)

    def describe_log_dirs(self) -> list[LogDir]:
        return [
            LogDir(one.path, KAFKA_STORAGE_ERROR, -1, -1, []) if one.path in self.failed_dirs else one
            for one in super().describe_log_dirs()
        ]
