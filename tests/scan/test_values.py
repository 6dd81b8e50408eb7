"""Typed values of a scan: types, threads and shares, malformed values, mistakes.

How each kind of value is read is compared with Spark's functions in tests/spark/test_values.py.
"""

from __future__ import annotations

import json
import pickle
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from confluent_kafka import Producer

import kafkastore
from peer.broker_factory import BrokerFactory
from peer.topics import create_topic

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

EVENTS = 5000
BAD_OFFSET = 3210
FIELDS = pa.schema([("id", pa.int64()), ("at", pa.timestamp("us", "UTC")), ("tags", pa.list_(pa.string()))])


def event(number: int) -> bytes | None:
    if number % 500 == 7:
        return None
    if number == BAD_OFFSET:
        return b'{"id":"none"'
    tags = [f"tag-{number % 7}"] * (number % 3)
    return json.dumps({"id": number, "at": number, "more": {"deep": [1, 2]}, "tags": tags}).encode()


@pytest.fixture(scope="module")
def log_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    factory = BrokerFactory("kafkastore", tmp_path_factory.mktemp("values"))
    broker = factory()
    create_topic(broker.bootstrap, "events")
    producer = Producer({"bootstrap.servers": broker.bootstrap, "batch.size": 20_000, "compression.type": "lz4"})
    for number in range(EVENTS):
        producer.produce("events", event(number), b"key")
    assert producer.flush(30) == 0
    assert broker.stop() == 0
    yield broker.log_dir
    factory.close()


def expected(number: int) -> dict[str, Any] | None:
    value = event(number)
    if value is None:
        return None
    if number == BAD_OFFSET:
        return {"id": None, "at": None, "tags": None}
    parsed = json.loads(value)
    return {"id": parsed["id"], "at": parsed["at"] * 1_000_000, "tags": parsed["tags"]}


def values_of(scan: Any) -> list[tuple[int, dict[str, Any] | None]]:
    table = pa.table(scan)
    rows = table.column("value").to_pylist()
    for row in rows:
        if row is not None and row["at"] is not None:
            row["at"] = int(row["at"].timestamp() * 1_000_000)
    return list(zip(table.column("offset").to_pylist(), rows, strict=True))


def test_values_have_the_types_of_the_schema_in_every_thread_and_share(log_dir: Path) -> None:
    wanted = [(number, expected(number)) for number in range(EVENTS)]
    ddl = "id BIGINT, at TIMESTAMP, tags ARRAY<STRING>"
    schemas: tuple[Any, ...] = (FIELDS, ddl)
    for schema in schemas:
        scan = kafkastore.scan(
            log_dir, "events", columns=["offset", "value"], value_format="json", value_schema=schema, threads=3
        )
        kind = pa.table(scan).schema.field("value").type
        assert [(field.name, field.type) for field in kind][:2] == [("id", pa.int64()), ("at", FIELDS.field(1).type)]
        assert values_of(scan) == wanted
    shares = [pickle.loads(pickle.dumps(share)) for share in scan.splits(4)]
    assert [row for share in shares for row in values_of(share)] == wanted


def test_malformed_values_are_left_out_or_fail(log_dir: Path) -> None:
    def scan(**options: str) -> kafkastore.Scan:
        return kafkastore.scan(
            log_dir,
            "events",
            columns=["value"],
            value_format="json",
            value_schema="id BIGINT",
            value_options=options,
            threads=1,
        )

    dropping = scan(mode="DROPMALFORMED")
    assert dropping.count() == EVENTS - 1 == pa.table(dropping).num_rows
    failing = scan(mode="FAILFAST")
    with pytest.raises(OSError, match=rf"events-0: the value at offset {BAD_OFFSET} is malformed: byte 12"):
        pa.table(failing)
    assert isinstance(failing.failure, kafkastore.ScanError)
    with pytest.raises(TypeError, match="rows: values that are parsed"):
        next(dropping.rows())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"value_schema": "id BIGINT"}, "value_schema: means nothing without value_format"),
        ({"value_format": "json"}, "valueSchema: missing"),
        ({"value_format": "json", "value_schema": 5}, "value_schema: int is neither text nor a schema of Arrow"),
        (
            {"value_format": "json", "value_schema": pa.schema([("a", pa.uint8())])},
            "value_schema: field a has the type UInt8, which no value is read as",
        ),
        ({"value_format": "json", "value_options": {"valueSchema": "a INT"}}, "valueSchema is the argument"),
        ({"value_format": "json", "value_options": {"mode": 5}}, "value_options: mode: 5 is no text"),
    ],
    ids=str,
)
def test_a_mistake_in_an_argument_of_values_is_one_sentence(
    log_dir: Path, arguments: dict[str, Any], sentence: str
) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence):
        kafkastore.scan(log_dir, "events", **arguments)
