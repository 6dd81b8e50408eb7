"""A transactional producer in single requests, as a client of transaction version 1 or 2 (KIP-890) sends them.

Each method ``*_request`` makes a request without sending it, so that a test may send it late or on a connection of its
own. The producer asks again only after errors that say so. It starts nothing and reads no records.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from aiokafka.record.default_records import DefaultRecordBatchBuilder

from kafkastore.errors import plain_name
from parity import messages
from parity.raw_client import ConnectionClosedError
from peer.broker_process import POLL_S

VERSIONS: Mapping[int, Mapping[str, int]] = {
    1: {"init_producer_id": 4, "add_partitions_to_txn": 3, "produce": 11, "txn_offset_commit": 4, "end_txn": 4},
    2: {"init_producer_id": 5, "add_partitions_to_txn": 5, "produce": 12, "txn_offset_commit": 5, "end_txn": 5},
}
"""The version of each API by transaction version."""

LIMIT_S = 30.0
BATCH_BYTES = 1 << 14
PASSING = {
    "CONCURRENT_TRANSACTIONS",
    "COORDINATOR_LOAD_IN_PROGRESS",
    "COORDINATOR_NOT_AVAILABLE",
    "NOT_COORDINATOR",
    "NOT_LEADER_OR_FOLLOWER",
    "LEADER_NOT_AVAILABLE",
    "NOT_ENOUGH_REPLICAS",
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
    "REQUEST_TIMED_OUT",
    "UNKNOWN_TOPIC_OR_PARTITION",  # of a broker that does not know of its partitions yet
}
"""Errors after which a client sends the same request again."""


class Request(NamedTuple):
    api: str
    version: int
    given: dict[str, Any]


class Ask(Protocol):
    """Sends a request to the broker that it is for, once."""

    def __call__(self, request: Request, /) -> Any: ...


def name_of(code: int) -> str:
    return plain_name(code) or f"error {code}"


def error_of(answer: Any) -> str:
    """The first error in the answer to a request of one partition, in Kafka's spelling; NONE for none."""
    code = getattr(answer, "error_code", None)
    if code is None or not code:
        for field in NESTED:
            for nested in getattr(answer, field, None) or ():
                error = error_of(nested)
                if error != "NONE":
                    return error
    code = getattr(answer, "partition_error_code", code)
    return name_of(code) if code else "NONE"


NESTED = (
    "responses",
    "partition_responses",
    "results_by_topic_v3_and_below",
    "results_by_transaction",
    "topic_results",
    "results_by_partition",
    "transaction_states",
    "groups",
    "topics",
    "partitions",
)
"""The fields of answers under which errors stand."""


def decode(api: str, version: int, payload: bytes) -> Any:
    """The answer in the payload of a frame."""
    return messages.answer(api, version, payload)


def ask_until(ask: Ask, request: Request, limit_s: float = LIMIT_S) -> Any:
    """The answer after those that ask for patience; the last one when the time is up."""
    deadline = time.monotonic() + limit_s
    while True:
        try:
            answer = ask(request)
        except (ConnectionClosedError, OSError):
            answer = None
        is_final = answer is not None and error_of(answer) not in PASSING
        if is_final or time.monotonic() > deadline:
            assert answer is not None, f"{request.api} found no broker in {limit_s:g} s"
            return answer
        time.sleep(POLL_S)


class RawProducer:
    """One instance. ``ask`` sends its requests, ``epoch`` is the epoch that the broker answered last."""

    def __init__(self, ask: Ask, transactional_id: str, version: int, timeout_ms: int) -> None:
        self.transactional_id = transactional_id
        self.version = version
        self.timeout_ms = timeout_ms
        self.producer_id = -1
        self.epoch = -1
        self._ask = ask
        self._sequences: dict[tuple[str, int], int] = {}

    # ---- requests
    def init_request(self) -> Request:
        given = {"transactional_id": self.transactional_id, "transaction_timeout_ms": self.timeout_ms}
        return self._request("init_producer_id", {**given, "producer_id": -1, "producer_epoch": -1})

    def add_request(self, topic: str, *partitions: int) -> Request:
        """Of version 2, as the leader of the partition sends it."""
        topics = [{"name": topic, "partitions": list(partitions)}]
        if self.version == 1:
            given = {f"v3_and_below_{key}": value for key, value in {**self._me, "topics": topics}.items()}
        else:
            given = {"transactions": [{**self._me, "verify_only": False, "topics": topics}]}
        return self._request("add_partitions_to_txn", given)

    def produce_request(self, topic: str, partition: int, value: str, sequence: int | None = None) -> Request:
        """One record, by default with the next sequence number."""
        at = self._sequences.get((topic, partition), 0) if sequence is None else sequence
        builder = DefaultRecordBatchBuilder(2, 0, 1, self.producer_id, self.epoch, at, BATCH_BYTES)
        builder.append(0, int(time.time() * 1000), None, value.encode(), [])
        data = [{"name": topic, "partition_data": [{"index": partition, "records": bytes(builder.build())}]}]
        given = {"transactional_id": self.transactional_id, "acks": -1, "timeout_ms": 5000, "topic_data": data}
        return self._request("produce", given)

    def add_offsets_request(self, group: str) -> Request:
        return Request("add_offsets_to_txn", 4, {**self._me, "group_id": group})

    def offsets_request(self, group: str, topic: str, offset: int) -> Request:
        row = {"partition_index": 0, "committed_offset": offset, "committed_metadata": ""}
        member = {"group_id": group, "generation_id_or_member_epoch": -1, "member_id": ""}
        topics = [{"name": topic, "partitions": [row]}]
        return self._request("txn_offset_commit", {**self._me, **member, "topics": topics})

    def end_request(self, *, commits: bool) -> Request:
        return self._request("end_txn", {**self._me, "committed": commits})

    # ---- requests that must succeed
    def init(self) -> None:
        self._begin(self.ask(self.init_request()))

    def send(self, topic: str, partition: int, value: str) -> None:
        if self.version == 1:
            self.ask(self.add_request(topic, partition))
        self.ask(self.produce_request(topic, partition, value))
        self._sequences[topic, partition] = self._sequences.get((topic, partition), 0) + 1

    def send_offsets(self, group: str, topic: str, offset: int) -> None:
        if self.version == 1:
            self.ask(self.add_offsets_request(group))
        self.ask(self.offsets_request(group, topic, offset))

    def end(self, *, commits: bool) -> None:
        self.end_answered(self.ask(self.end_request(commits=commits)))

    def end_answered(self, answer: Any) -> None:
        """Takes what the answer to EndTxn says of the next epoch."""
        if self.version == 2:
            self._begin(answer)

    def ask(self, request: Request) -> Any:
        answer = ask_until(self._ask, request)
        error = error_of(answer)
        assert error == "NONE", f"{self.transactional_id}: {request.api} v{request.version}: {error}"
        return answer

    def _begin(self, answer: Any) -> None:
        if (answer.producer_id, answer.producer_epoch) != (self.producer_id, self.epoch):
            self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
            self._sequences.clear()

    @property
    def _me(self) -> dict[str, Any]:
        return {
            "transactional_id": self.transactional_id,
            "producer_id": self.producer_id,
            "producer_epoch": self.epoch,
        }

    def _request(self, api: str, given: dict[str, Any]) -> Request:
        return Request(api, VERSIONS[self.version][api], given)
