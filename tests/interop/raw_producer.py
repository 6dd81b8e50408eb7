"""A transactional producer of single requests, so that a test holds a transaction in whatever state it needs.

Version 2 of transactions (KIP-890) adds partitions with the first batch and raises the epoch at each end; version 1
adds them by requests of their own. Sends each request once, but for those that the coordinator asks to repeat.
"""

from __future__ import annotations

import copy
from contextlib import closing
from typing import Any, Self

from parity.batch import record_batch
from parity.raw_client import RawClient
from peer.broker_process import BrokerProcess, wait_until

LIMIT_S = 30
TIMEOUT_MS = 600_000
PASSING = (6, 13, 14, 15, 16, 19, 51)
"""NOT_LEADER_OR_FOLLOWER, NETWORK_EXCEPTION, COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR,
NOT_ENOUGH_REPLICAS (the question to the coordinator failed), CONCURRENT_TRANSACTIONS."""
NO_SUCH_MEMBER: dict[str, Any] = {"generation_id_or_member_epoch": -1, "member_id": ""}
LATEST: dict[int, dict[str, int]] = {
    1: {"init_producer_id": 4, "produce": 11, "txn_offset_commit": 3, "end_txn": 4},
    2: {"init_producer_id": 5, "produce": 12, "txn_offset_commit": 5, "end_txn": 5},
}
"""The newest version of each API that a client of transaction version 1 or 2 sends."""


class RawProducer:
    """The producer of a transactional id, on the broker where it was made or on a later one of the same logs."""

    def __init__(
        self, broker: BrokerProcess, transactional_id: str, *, version: int = 2, timeout_ms: int = TIMEOUT_MS
    ) -> None:
        self.broker = broker
        self.transactional_id = transactional_id
        self.version = version
        self.producer_id = self.epoch = -1
        self.written: list[tuple[int, int]] = []
        """Partition and offset of each record that was acknowledged."""
        self._timeout_ms = timeout_ms
        self._sequences: dict[tuple[str, int], int] = {}

    def moved_to(self, broker: BrokerProcess) -> Self:
        """The same producer, connected to another broker that has the logs of its broker."""
        moved = copy.deepcopy(self, {id(self.broker): broker})
        assert moved.broker is broker
        return moved

    def _ask(self, api: str, version: int | None = None, /, **given: Any) -> Any:
        number = version if version is not None else LATEST[self.version][api]
        with closing(RawClient("127.0.0.1", self.broker.port)) as client:
            return client.ask(api, number, given)

    @property
    def _name(self) -> dict[str, str]:
        return {"transactional_id": self.transactional_id}

    @property
    def _me(self) -> dict[str, Any]:
        return {**self._name, "producer_id": self.producer_id, "producer_epoch": self.epoch}

    def init(self) -> None:
        """With a new producer id, or the next epoch."""
        found: Any = None

        def has_id() -> bool:
            nonlocal found
            self._ask("find_coordinator", 4, key_type=1, coordinator_keys=[self.transactional_id])
            found = self._ask("init_producer_id", **self._name, transaction_timeout_ms=self._timeout_ms)
            return _is_settled(int(found.error_code))

        wait_until(has_id, LIMIT_S, f"a producer id for {self.transactional_id}")
        assert int(found.error_code) == 0, found
        self.producer_id, self.epoch = int(found.producer_id), int(found.producer_epoch)

    def send(self, topic: str, *partitions: int, count: int = 1) -> None:
        """A batch of `count` records to each partition, in the transaction."""
        if self.version == 1:
            self._add(topic, partitions)
        for partition in partitions:
            assert self.try_to_send(topic, partition, count) == 0

    def _add(self, topic: str, partitions: tuple[int, ...]) -> None:
        given = {**self._me, "topics": [{"name": topic, "partitions": list(partitions)}]}
        asked = {f"v3_and_below_{name}": value for name, value in given.items()}
        answer = self._ask("add_partitions_to_txn", 3, **asked)
        (row,) = answer.results_by_topic_v3_and_below
        assert {int(one.partition_error_code) for one in row.results_by_partition} == {0}, answer

    def try_to_send(self, topic: str, partition: int, count: int = 1) -> int:
        """The error code of one batch."""
        place = (topic, partition)
        sequence = self._sequences.get(place, 0)
        batch = record_batch(count, self.producer_id, self.epoch, sequence, is_transactional=True)
        data = [{"name": topic, "partition_data": [{"index": partition, "records": batch}]}]
        found: Any = None

        def is_settled() -> bool:
            nonlocal found
            answer = self._ask("produce", **self._name, acks=-1, timeout_ms=5000, topic_data=data)
            found = answer.responses[0].partition_responses[0]
            return _is_settled(int(found.error_code))

        wait_until(is_settled, LIMIT_S, f"{topic}-{partition} takes a batch or refuses it")
        code = int(found.error_code)
        if code == 0:
            self._sequences[place] = sequence + count
            self.written += [(partition, int(found.base_offset) + number) for number in range(count)]
        return code

    def commit_offset(self, group: str, topic: str, partition: int, offset: int) -> None:
        """In the transaction."""
        if self.version == 1:
            added = self._ask("add_offsets_to_txn", 3, **self._me, group_id=group)
            assert int(added.error_code) == 0, added
        row = {"partition_index": partition, "committed_offset": offset, "committed_metadata": ""}
        asked = {"group_id": group, **NO_SUCH_MEMBER, "topics": [{"name": topic, "partitions": [row]}]}
        answer: Any = None

        def is_settled() -> bool:
            nonlocal answer
            self._ask("find_coordinator", 4, key_type=0, coordinator_keys=[group])
            answer = self._ask("txn_offset_commit", **self._me, **asked)
            return _is_settled(int(answer.topics[0].partitions[0].error_code))

        wait_until(is_settled, LIMIT_S, f"the coordinator of {group}")
        assert int(answer.topics[0].partitions[0].error_code) == 0, answer

    def end(self, *, commits: bool) -> None:
        """Returns when the outcome is decided; the markers may be missing still."""
        code = self.try_to_end(commits=commits)
        assert code == 0, code

    def try_to_end(self, *, commits: bool) -> int:
        """The error code; under version 2 the next transaction has the epoch of the answer."""
        answer: Any = None

        def is_settled() -> bool:
            nonlocal answer
            answer = self._ask("end_txn", **self._me, committed=commits)
            return _is_settled(int(answer.error_code))

        wait_until(is_settled, LIMIT_S, f"the coordinator of {self.transactional_id}")
        if self.version == 2 and int(answer.error_code) == 0:
            self.producer_id, self.epoch = int(answer.producer_id), int(answer.producer_epoch)
            self._sequences.clear()
        return int(answer.error_code)


def _is_settled(code: int) -> bool:
    return code not in PASSING
