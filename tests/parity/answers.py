"""Sends a table of cases to one broker and writes down its answers in a form that two brokers can share.

Left out: what is a broker's own business (addresses, ids it draws, sizes, values from its properties file, the
wording of documentation, how long it throttled) and ``min.insync.replicas``, which a KRaft cluster with eligible
leader replicas sets cluster-wide by itself. Of a broker with several log directories each stands by its place. Order
within an array is not compared, since Kafka shuffles some. The broker must be fresh (no topics) and have ``node.id=1``
and ``num.partitions=1``.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import json
import time
import uuid
from typing import TYPE_CHECKING, Any, Protocol

from parity.cases import BROKER, BROKER_NAME, Case, LogDir, TopicId
from parity.raw_client import ConnectionClosedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

LEFT_OUT = {"throttle_time", "cluster_id", "host", "port", "rack", "partition_size"}
ONLY_WHETHER_SET = {"topic_id", "total_bytes", "usable_bytes", "documentation"}
STATIC_BROKER_CONFIG = 4
READERS = {
    "describe_configs",
    "describe_topic_partitions",
    "describe_cluster",
    "describe_log_dirs",
    "list_config_resources",
    "list_partition_reassignments",
}
SETTLE_SECONDS = 0.3  # Apache Kafka's broker learns of a change after its controller has answered
MOVE_LIMIT_SECONDS = 30.0  # of an empty replica; Apache Kafka needs a second
Answers = dict[str, Any]


def shared_form(value: Any, name: str = "", log_dirs: Sequence[str] = ()) -> Any:
    """``value`` as JSON types, without what differs between two equal brokers. ``log_dirs`` are those of one with
    several."""
    if name == "log_dir":
        return log_dirs.index(value)
    if name in ONLY_WHETHER_SET:
        return value not in (None, -1)
    if name == "producer_id" and isinstance(value, int) and value != 4000:
        return "an id" if value >= 0 else value
    if dataclasses.is_dataclass(value):
        fields = [f.name for f in dataclasses.fields(value) if f.name not in LEFT_OUT]
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
    if isinstance(value, enum.Enum):
        return int(value.value)
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, dt.timedelta):
        return int(value.total_seconds() * 1000)
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

    def answer(self, case: Case, version: int) -> Any:
        try:
            log_dirs = self._log_dirs if len(self._log_dirs) > 1 else ()
            return shared_form(self._client.ask(case.api, version, self._fill(case.given)), "", log_dirs)
        except (ConnectionClosedError, TimeoutError) as failure:
            self._client.close()
            self._client = self._connect()
            return "connection closed" if isinstance(failure, ConnectionClosedError) else "no answer"

    def settled_answer(self, case: Case, version: int) -> Any:
        """Once nothing moves; the last one if that takes too long."""
        deadline = time.monotonic() + MOVE_LIMIT_SECONDS
        while True:
            answer = self.answer(case, version)
            if not _moves(answer) or time.monotonic() > deadline:
                return answer

    def close(self) -> None:
        self._client.close()

    def _fill(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._fill(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._fill(item) for item in value]
        if isinstance(value, TopicId):
            return self._topic_id(value.topic)
        if isinstance(value, LogDir):
            return self._log_dirs[value.place] + value.suffix
        if value is BROKER:
            return self._node_id
        return str(self._node_id) if value is BROKER_NAME else value

    def _topic_id(self, topic: str) -> uuid.UUID | None:
        answer = self._client.ask("metadata", 12, {"topics": [{"name": topic}], "allow_auto_topic_creation": False})
        found: uuid.UUID | None = answer.topics[0].topic_id
        return found


def _moves(answer: Any) -> bool:
    """Whether an answer to DescribeLogDirs has a replica that moves."""
    return '"is_future_key": true' in json.dumps(answer)


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
            if case.api not in READERS:
                time.sleep(settle_seconds)
    asker.close()
    return found
