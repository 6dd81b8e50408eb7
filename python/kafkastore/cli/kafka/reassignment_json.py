"""The two JSON files of ``kafka-reassign-partitions``: moves, and topics to plan moves for. Read with the patience and
the sentences of Kafka's tool; ``admin/plan_file.py`` reads and writes the same form for commands of ours."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkastore.cli.kafka.flags import split_list
from kafkastore.errors import KafkastoreError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kafkastore.admin.log_dirs import Replica

    Partition = tuple[str, int]

ANY: Final = "any"
"""In place of a directory: the broker chooses."""
VERSION: Final = 1
JAVA_TYPES: Final = {int: "Integer", str: "String", list: "JSON array"}
_MISSING: Final = object()


class Moves(NamedTuple):
    """As the file has them: with what stands there twice. ``log_dirs`` are the replicas with a directory of theirs."""

    partitions: list[tuple[Partition, list[int]]]
    log_dirs: dict[Replica, str]

    @property
    def targets(self) -> dict[Partition, list[int]]:
        return dict(self.partitions)


def read_moves(path: str) -> Moves:
    """Raises KafkastoreError."""
    from kafkastore.admin.log_dirs import Replica

    found = Moves([], {})
    for row in _rows(path, "partitions"):
        topic, number = _field(row, "topic", str), _field(row, "partition", int)
        replicas = _list(_field(row, "replicas", list), int)
        log_dirs = _list(row["log_dirs"], str) if "log_dirs" in row else [ANY] * len(replicas)
        if len(log_dirs) != len(replicas):
            raise KafkastoreError(
                f"Size of replicas list {_java_list(replicas)} is different from size of log dirs list "
                f"{_java_list(log_dirs)} for partition {topic}-{number}"
            )
        found.partitions.append(((topic, number), replicas))
        for node, log_dir in zip(replicas, log_dirs, strict=True):
            if log_dir != ANY:
                found.log_dirs[Replica(node, topic, number)] = log_dir
    return found


def check_moves(moves: Moves) -> None:
    """Raises KafkastoreError for moves that cannot be begun."""
    if not moves.partitions:
        raise KafkastoreError("Partition reassignment list cannot be empty")
    if not all(replicas for _, replicas in moves.partitions):
        raise KafkastoreError("Partition replica list cannot be empty")
    twice = _twice(key for key, _ in moves.partitions)
    if twice:
        names = ",".join(f"{topic}-{number}" for topic, number in twice)
        raise KafkastoreError(f"Partition reassignment contains duplicate topic partitions: {names}")
    entries = [
        f"{topic}-{number} contains multiple entries for {','.join(map(str, _twice(replicas)))}"
        for (topic, number), replicas in moves.partitions
        if _twice(replicas)
    ]
    if entries:
        raise KafkastoreError(f"Partition replica lists may not contain duplicate entries: {'. '.join(entries)}")


def read_topics(path: str) -> list[str]:
    """The topics to plan for. Raises KafkastoreError."""
    topics = [_field(row, "topic", str) for row in _rows(path, "topics")]
    if twice := _twice(topics):
        raise KafkastoreError(f"List of topics to reassign contains duplicate entries: {_java_list(twice)}")
    return topics


def read_brokers(text: str) -> list[int]:
    """``--broker-list``. Raises KafkastoreError."""
    nodes = split_list(text)
    for node in nodes:
        if not node.lstrip("-").isdecimal():
            raise KafkastoreError(f'For input string: "{node}"')
    found = list(map(int, nodes))
    if twice := _twice(found):
        raise KafkastoreError(f"Broker list contains duplicate entries: {_java_list(twice)}")
    return found


def _rows(path: str, key: str) -> list[dict[str, Any]]:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError):
        raise KafkastoreError(f"Unable to read file {path}") from None
    if not text and key == "partitions":
        raise KafkastoreError("The input string shouldn't be empty")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise KafkastoreError(f"The input string is not a valid JSON\n{error}") from None
    if not isinstance(content, dict):
        raise KafkastoreError(f"Expected JSON object, received {json.dumps(content)}")
    version = content.get("version", VERSION)
    if version != VERSION:
        raise KafkastoreError(f"Not supported version field value {version}")
    rows = content.get(key, [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise KafkastoreError(f"Expected JSON array, received {json.dumps(rows)}")
    return rows


def _field(row: dict[str, Any], name: str, kind: type) -> Any:
    value = row.get(name, _MISSING)
    if value is _MISSING:
        raise KafkastoreError(f"No such field exists: `{name}`")
    if not isinstance(value, kind) or isinstance(value, bool):
        raise KafkastoreError(f"Expected `{JAVA_TYPES[kind]}` value, received {json.dumps(value)}")
    return value


def _list(found: list[Any], kind: type) -> list[Any]:
    for one in found:
        if not isinstance(one, kind) or isinstance(one, bool):
            raise KafkastoreError(f"Expected `{JAVA_TYPES[kind]}` value, received {json.dumps(one)}")
    return found


def _twice(things: Iterable[Any]) -> list[Any]:
    return sorted(thing for thing, count in Counter(things).items() if count > 1)


def _java_list(things: Sequence[Any]) -> str:
    return f"[{', '.join(map(str, things))}]"
