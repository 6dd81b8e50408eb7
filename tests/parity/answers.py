"""Sends a table of cases to one broker and writes down its answers in a form that two brokers can share.

Left out: what is a broker's own business (addresses, ids it draws, sizes, values from its properties file, the
wording of documentation, how long it throttled) and ``min.insync.replicas``, which a KRaft cluster with eligible
leader replicas sets cluster-wide by itself. Of a broker with several log directories each stands by its place. Order
within an array is not compared, since Kafka shuffles some. The broker must be fresh (no topics) and have ``node.id=1``
and ``num.partitions=1``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from parity.batch import record_batch
from parity.cases import BROKER, BROKER_NAME, Case, LogDir, TopicId
from parity.messages import Answer
from parity.raw_client import ConnectionClosedError
from parity.transaction_cases import Batch, Epoch, Id

LEFT_OUT = {"throttle_time_ms", "cluster_id", "host", "port", "rack", "partition_size"}
ONLY_WHETHER_SET = {"topic_id", "total_bytes", "usable_bytes", "documentation", "transaction_start_time_ms"}
NOW_OR_GIVEN = {"last_timestamp"}
GIVEN_TIMES_END_MS = 1_750_000_000_000  # what cases give is older, a broker's clock is past it
STATIC_BROKER_CONFIG = 4
READERS = {
    "describe_configs",
    "describe_topic_partitions",
    "describe_cluster",
    "describe_log_dirs",
    "list_config_resources",
    "list_partition_reassignments",
}
POLL_SECONDS = 0.02
SETTLE_SECONDS = 0.3  # Apache Kafka's broker learns of a change after its controller has answered
MOVE_LIMIT_SECONDS = 30.0  # of an empty replica; Apache Kafka needs a second
COORDINATOR_IS_BUSY = {14, 15, 16, 51}  # it loads, is not there yet, or ends the previous transaction
Answers = dict[str, Any]


def shared_form(value: Any, name: str = "", log_dirs: Sequence[str] = ()) -> Any:
    """``value`` as JSON types, without what differs between two equal brokers. ``log_dirs`` are those of one with
    several."""
    if name == "log_dir":
        return log_dirs.index(value)
    if name in NOW_OR_GIVEN and isinstance(value, int) and value > GIVEN_TIMES_END_MS:
        return "a time"
    if name in ONLY_WHETHER_SET:
        return value not in (None, -1)
    if name == "producer_id" and isinstance(value, int) and value != 4000:
        return "an id" if value >= 0 else value
    if isinstance(value, Answer):
        fields = [name for name in vars(value) if name not in LEFT_OUT]
        if not log_dirs and "log_dir" in fields:
            fields.remove("log_dir")
        if getattr(value, "config_source", None) == STATIC_BROKER_CONFIG:
            fields = [field for field in fields if field not in ("value", "synonyms")]
        return {field: shared_form(getattr(value, field), field, log_dirs) for field in fields}
    if isinstance(value, (tuple, list)):
        items = [
            shared_form(item, "", log_dirs) for item in value if getattr(item, "name", "") != "min.insync.replicas"
        ]
        return sorted(items, key=lambda item: json.dumps(item, sort_keys=True))
    return value


class Client(Protocol):
    def ask(self, api: str, version: int, given: Mapping[str, Any]) -> Any: ...

    def close(self) -> None: ...


class Asker:
    """One broker and what must be known of it to fill a request in. ``connect`` gives what has an ``ask``."""

    def __init__(self, connect: Callable[[], Client]) -> None:
        self._connect = connect
        self._client = connect()
        self._node_id = self._client.ask("describe_cluster", 0, {}).brokers[0].broker_id
        described = self._client.ask("describe_log_dirs", 4, {"topics": []}).results
        self._log_dirs = sorted(result.log_dir for result in described)
        self._producers: dict[str, tuple[int, int]] = {}

    def answer(self, case: Case, version: int) -> Any:
        try:
            log_dirs = self._log_dirs if len(self._log_dirs) > 1 else ()
            found = self._client.ask(case.api, version, self._fill(case.given))
            self._remember(case, found)
            return shared_form(found, "", log_dirs)
        except (ConnectionClosedError, TimeoutError) as failure:
            self._client.close()
            self._client = self._connect()
            return "connection closed" if isinstance(failure, ConnectionClosedError) else "no answer"

    def settled_answer(self, case: Case, version: int) -> Any:
        """Once nothing moves and no coordinator is busy; the last one if that takes too long."""
        deadline = time.monotonic() + MOVE_LIMIT_SECONDS
        while True:
            answer = self.answer(case, version)
            is_final = not _is_pending(answer) and case.awaited in json.dumps(answer)
            if is_final or time.monotonic() > deadline:
                return answer
            time.sleep(POLL_SECONDS)

    def close(self) -> None:
        self._client.close()

    def _remember(self, case: Case, answer: Any) -> None:
        """The producer id and epoch that a transactional id was given last."""
        producer_id, name = getattr(answer, "producer_id", -1), case.given.get("transactional_id")
        if name and producer_id >= 0:
            self._producers[name] = producer_id, answer.producer_epoch

    def _fill(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._fill(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._fill(item) for item in value]
        if isinstance(value, TopicId):
            return self._topic_id(value.topic)
        if isinstance(value, LogDir):
            return self._log_dirs[value.place] + value.suffix
        if isinstance(value, Id):
            return self._producers[value.transactional_id][0]
        if isinstance(value, Epoch):
            return self._producers[value.transactional_id][1] + value.more
        if isinstance(value, Batch):
            producer_id, epoch = self._producers[value.transactional_id]
            epoch += value.epochs_more
            return record_batch(1, producer_id, epoch, value.sequence, is_transactional=value.is_transactional)
        if value is BROKER:
            return self._node_id
        return str(self._node_id) if value is BROKER_NAME else value

    def _topic_id(self, topic: str) -> bytes | None:
        answer = self._client.ask("metadata", 12, {"topics": [{"name": topic}], "allow_auto_topic_creation": False})
        found: bytes | None = answer.topics[0].topic_id
        return found


def _is_pending(answer: Any) -> bool:
    """Whether an answer has a replica that moves, or an error of a coordinator that is busy."""
    text = json.dumps(answer)
    return '"is_future_key": true' in text or any(f'"error_code": {code},' in text for code in COORDINATOR_IS_BUSY)


def all_answers(connect: Callable[[], Client], cases: Iterable[Case], settle_seconds: float = 0.0) -> Answers:
    """Every case's answer by "name, vN", in the table's order. ``settle_seconds`` is for a broker that answers a config
    change before it has applied it."""
    asker = Asker(connect)
    found: Answers = {}
    for case in cases:
        for version in case.versions:
            answer = asker.settled_answer(case, version) if case.is_settled else asker.answer(case, version)
            if not case.is_setup:
                found[f"{case.name}, v{version}"] = answer
            if case.api not in READERS and not case.is_settled:
                time.sleep(settle_seconds)
    asker.close()
    return found
