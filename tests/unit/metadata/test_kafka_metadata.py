"""Kafka's metadata log is read to its end (KIP-631 records, encoded here by their grammar)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kafkastore.metadata.kafka_metadata import read_metadata

TOPIC_ID = bytes(range(16))


def compact(text: str | None) -> bytes:
    return b"\0" if text is None else bytes([len(text) + 1]) + text.encode()


def config_record(resource: int, name: str, key: str, value: str | None) -> bytes:
    return b"\x01\x04\x00" + bytes([resource]) + compact(name) + compact(key) + compact(value) + b"\0"


def varint(value: int) -> bytes:
    zigzag = value << 1 ^ value >> 63
    out = bytearray()
    while zigzag > 0x7F:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    return bytes([*out, zigzag])


def batch(base_offset: int, *values: bytes, attributes: int = 0) -> bytes:
    records = b""
    for index, value in enumerate(values):
        record = b"\0" + varint(0) + varint(index) + varint(-1) + varint(len(value)) + value + varint(0)
        records += varint(len(record)) + record
    header = bytearray(61)
    header[0:8] = base_offset.to_bytes(8, "big")
    header[8:12] = (49 + len(records)).to_bytes(4, "big")
    header[16] = 2
    header[21:23] = attributes.to_bytes(2, "big")
    header[57:61] = len(values).to_bytes(4, "big")
    return bytes(header) + records


def write(folder: Path, name: str, *batches: bytes) -> None:
    directory = folder / "__cluster_metadata-0"
    directory.mkdir(exist_ok=True)
    (directory / name).write_bytes(b"".join(batches))


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., dict[str, dict[str, str]]]:
    def read_values(*values: bytes) -> dict[str, dict[str, str]]:
        write(tmp_path, f"{0:020d}.log", *(batch(offset, value) for offset, value in enumerate(values)))
        return read_metadata([str(tmp_path)]).topic_configs()

    return read_values


def test_last_value_of_each_topic_config_counts(read: Callable[..., object]) -> None:
    assert read(
        b"\x01\x02\x00" + compact("t") + TOPIC_ID + b"\0",
        config_record(2, "t", "retention.ms", "1"),
        config_record(2, "t", "cleanup.policy", "compact"),
        config_record(2, "t", "retention.ms", "2"),
        config_record(2, "t", "cleanup.policy", None),
        config_record(4, "1", "log.retention.ms", "9"),
    ) == {"t": {"retention.ms": "2"}}


def test_removed_topic_has_none(read: Callable[..., object]) -> None:
    created = b"\x01\x02\x00" + compact("t") + TOPIC_ID + b"\0"
    removed = b"\x01\x09\x00" + TOPIC_ID + b"\0"
    assert read(created, config_record(2, "t", "retention.ms", "1"), removed) == {}


def test_registered_brokers_are_those_that_were_not_unregistered(tmp_path: Path) -> None:
    first, second = (number.to_bytes(4, "big") for number in (1, 2))
    removed = b"\x01\x01\x00" + first + bytes(8) + b"\0"
    write(tmp_path, f"{0:020d}.log", batch(0, b"\x01\x00\x03" + first, b"\x01\x00\x01" + second, removed))
    assert read_metadata([str(tmp_path)]).brokers == {2}


def test_unreadable_records_are_skipped(read: Callable[..., object]) -> None:
    assert read(b"\x01", b"", b"\x01\x04\x00\x02\x7f", b"\x00\x63\x00abc", config_record(2, "t", "a", "b")) == {
        "t": {"a": "b"}
    }


def test_snapshot_replaces_the_records_that_it_covers(tmp_path: Path) -> None:
    old = config_record(2, "t", "retention.ms", "1")
    new = config_record(2, "t", "flush.ms", "3")
    write(tmp_path, f"{0:020d}.log", batch(0, old), batch(5, old), batch(10, new))
    write(tmp_path, f"{10:020d}-0000000003.checkpoint", batch(0, config_record(2, "t", "retention.ms", "2")))
    assert read_metadata([str(tmp_path)]).topic_configs() == {"t": {"retention.ms": "2", "flush.ms": "3"}}


def test_control_batches_and_a_torn_end_are_passed_over(tmp_path: Path) -> None:
    record = config_record(2, "t", "retention.ms", "1")
    write(tmp_path, f"{0:020d}.log", batch(0, record), batch(1, b"leader", attributes=0x20), batch(2, record)[:-4])
    assert read_metadata([str(tmp_path)]).topic_configs() == {"t": {"retention.ms": "1"}}


def test_last_block_of_producer_ids_counts(tmp_path: Path) -> None:
    blocks = [b"\x01\x0f\x00" + bytes(4 + 8) + next_id.to_bytes(8, "big") + b"\0" for next_id in (1000, 70_000)]
    write(tmp_path, f"{0:020d}.log", *(batch(offset, value) for offset, value in enumerate(blocks)))
    assert read_metadata([str(tmp_path)]).next_producer_id == 70_000


def test_directory_without_the_log_has_none(tmp_path: Path) -> None:
    found = read_metadata([str(tmp_path), "/nowhere"])
    assert not found.configs
    assert not found.next_producer_id


def test_records_of_a_transaction_count_when_it_ends(read: Callable[..., object]) -> None:
    def record(kind: int) -> bytes:
        return bytes([1, kind, 0, 0])

    begin, end, abort = map(record, (23, 24, 25))
    one, two, three = (config_record(2, "t", "retention.ms", value) for value in "123")
    assert read(one, begin, two, end, begin, three, abort) == {"t": {"retention.ms": "2"}}
    assert read(one, begin, two) == {"t": {"retention.ms": "1"}}


def test_what_is_removed_again_is_not_there(tmp_path: Path) -> None:
    acl_id = bytes(range(16))
    acl = acl_id + b"\x02" + compact("t") + b"\x03" + compact("User:a") + compact("*") + b"\x03\x03\0"
    scram = compact("a") + b"\x01" + compact("salt") + compact("stored") + compact("server") + bytes([0, 0, 16, 0, 0])
    quota = b"\x02" + compact("user") + compact("a") + b"\0" + compact("key") + bytes(8)
    token = compact("User:a") + compact("User:a") + b"\x01" + bytes(24) + compact("id") + b"\0"

    def read_all(*records: tuple[int, bytes]) -> list[object]:
        values = [bytes([1, kind, 0]) + fields for kind, fields in records]
        write(tmp_path, f"{0:020d}.log", *(batch(offset, value) for offset, value in enumerate(values)))
        found = read_metadata([str(tmp_path)])
        assert not found.faults
        return [found.acls, found.credentials, found.quotas, found.tokens]

    made = [(18, acl), (11, scram), (14, quota + b"\0"), (10, token)]
    gone = [(19, acl_id + b"\0"), (22, compact("a") + b"\x01\0"), (14, quota + b"\x01"), (26, compact("id") + b"\0")]
    assert [len(one) for one in read_all(*made)] == [1, 1, 1, 1]  # type: ignore[arg-type]
    assert read_all(*made, *gone) == [{}, {}, {}, {}]
