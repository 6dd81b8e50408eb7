"""The record formats of ``__consumer_offsets`` against bytes that Apache Kafka 4.3 wrote (``tests/fixtures/offsets``)."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from fixtures.offsets.segments import records as segment_records
from kafkastore.coordinator.group import records
from kafkastore.coordinator.group.partitioning import java_string_hash, partition_for
from kafkastore.coordinator.group.records import GroupKey, GroupValue, MemberValue, OffsetKey, OffsetValue, OtherKey
from unit.coordinator.group_world import MemoryLog, World

FIXTURES = Path(__file__).parent.parent.parent / "fixtures" / "offsets"
PARTITIONS = 5


def kafka_rows() -> list[tuple[int, bytes, bytes | None]]:
    rows = []
    for partition in range(PARTITIONS):
        data = (FIXTURES / f"partition-{partition}.log").read_bytes()
        for _, _, key, value, _ in segment_records(data):
            assert key is not None
            rows.append((partition, key, value))
    return rows


def expected() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((FIXTURES / "expected.json").read_text())
    return loaded


def world_of_kafka() -> World:
    log = MemoryLog(PARTITIONS)
    for partition, key, value in kafka_rows():
        log.partitions.setdefault(partition, []).append((key, value))
    return World(log)


def test_what_kafka_wrote_is_written_again_byte_for_byte() -> None:
    kinds = set()
    for _, key, value in kafka_rows():
        kind = records.read_key(key)
        kinds.add(type(kind))
        if isinstance(kind, OffsetKey):
            assert records.offset_key(*kind) == key
            if value is not None:
                assert records.offset_value(records.read_offset_value(value)) == value
        elif isinstance(kind, GroupKey):
            assert records.group_key(kind.group_id) == key
            if value is not None:
                assert records.group_value(records.read_group_value(value)) == value
    assert kinds == {OffsetKey, GroupKey, OtherKey}


def test_every_group_is_in_the_partition_where_kafka_put_it() -> None:
    hashes = []
    for partition, key, _ in kafka_rows():
        kind = records.read_key(key)
        if not isinstance(kind, OtherKey):
            assert partition_for(kind.group_id, PARTITIONS) == partition
            hashes.append(java_string_hash(kind.group_id))
    assert min(hashes) < 0 < max(hashes)
    assert any((code & 0x7FFFFFFF) % PARTITIONS != abs(code) % PARTITIONS for code in hashes)  # the two rules differ


def test_the_one_hash_without_a_positive_twin_goes_to_partition_0() -> None:
    assert java_string_hash("polygenelubricants") == -(1 << 31)
    assert partition_for("polygenelubricants", 50) == 0
    assert java_string_hash("") == 0
    assert java_string_hash("𝄞") == 31 * 0xD834 + 0xDD1E


def test_kafkas_groups_load_as_kafka_describes_them() -> None:
    world = world_of_kafka()
    for row in expected()["groups"]:
        described = world.coordinator.describe_group(row["group_id"])
        if row["group_id"] == "new-protocol":
            assert described.state == "Dead"  # a group of the new protocol is not ours to keep
            continue
        assert described.error_code == row["error_code"]
        assert described.state == row["group_state"]
        assert described.protocol_type == row["protocol_type"]
        assert described.protocol_name == row["protocol_data"]
        members = [
            {
                "member_id": member.member_id,
                "group_instance_id": member.group_instance_id,
                "client_id": member.client_id,
                "client_host": member.client_host,
                "member_metadata": member.metadata.hex(),
                "member_assignment": member.assignment.hex(),
            }
            for member in described.members
        ]
        assert members == row["members"]


def test_kafkas_offsets_load_as_kafka_fetches_them() -> None:
    world = world_of_kafka()
    for row in expected()["offsets"]:
        result = world.fetch(row["group_id"], None)
        found = {
            (topic, each.partition, each.offset, each.leader_epoch, each.metadata)
            for topic, partitions in result.topics
            for each in partitions
        }
        assert found == {
            (
                topic["name"],
                each["partition_index"],
                each["committed_offset"],
                each["committed_leader_epoch"],
                each["metadata"],
            )
            for topic in row["topics"]
            for each in topic["partitions"]
        }


def test_a_group_that_kafka_had_goes_on_here() -> None:
    world = world_of_kafka()
    member = world.coordinator.describe_group("dynamic").members[0]
    assert world.coordinator.heartbeat("dynamic", member.member_id, None, 1) == 0
    assert world.coordinator.heartbeat("dynamic", member.member_id, None, 2) == 22


MEMBER = MemberValue("m", None, "c", "/h", 7, 7, b"sub", b"part")


def old_group_value(version: int) -> bytes:
    """A group value as old Kafka versions wrote it."""
    text = struct.pack(">h", 8) + b"consumer"
    value = struct.pack(">h", version) + text + struct.pack(">i", 3) + b"\0\5range" + b"\0\1m"
    if version >= 2:
        value += struct.pack(">q", 99)
    value += struct.pack(">i", 1) + b"\0\1m" + (b"\xff\xff" if version >= 3 else b"") + b"\0\1c\0\2/h"
    if version >= 1:
        value += struct.pack(">i", 7)
    return value + struct.pack(">i", 7) + b"\0\0\0\3sub" + b"\0\0\0\4part"


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_group_values_of_every_old_version_are_read(version: int) -> None:
    timestamp = 99 if version >= 2 else -1
    assert records.read_group_value(old_group_value(version)) == GroupValue(
        "consumer", 3, "range", "m", timestamp, (MEMBER,)
    )


def test_group_value_4_is_read() -> None:
    value = b"\0\4\x09consumer\0\0\0\3\x06range\x02m" + struct.pack(">q", 99)
    value += b"\x02" + b"\x02m\0\x02c\x03/h" + struct.pack(">ii", 7, 7) + b"\x04sub\x05part\0" + b"\0"
    assert records.read_group_value(value) == GroupValue("consumer", 3, "range", "m", 99, (MEMBER,))


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (struct.pack(">hq", 0, 5) + b"\0\1x" + struct.pack(">q", 9), OffsetValue(5, -1, "x", 9, -1, None)),
        (struct.pack(">hq", 1, 5) + b"\0\1x" + struct.pack(">qq", 9, 10), OffsetValue(5, -1, "x", 9, 10, None)),
        (struct.pack(">hq", 2, 5) + b"\0\1x" + struct.pack(">q", 9), OffsetValue(5, -1, "x", 9, -1, None)),
        (struct.pack(">hqi", 3, 5, 2) + b"\0\1x" + struct.pack(">q", 9), OffsetValue(5, 2, "x", 9, -1, None)),
        (struct.pack(">hqi", 4, 5, 2) + b"\2x" + struct.pack(">q", 9) + b"\0", OffsetValue(5, 2, "x", 9, -1, None)),
    ],
)
def test_offset_values_of_every_version_are_read(value: bytes, read: OffsetValue) -> None:
    assert records.read_offset_value(value) == read


def test_offset_key_0_is_read() -> None:
    assert records.read_key(b"\0\0\0\1g\0\1t\0\0\0\3") == OffsetKey("g", "t", 3)


def test_long_metadata_has_a_length_of_two_bytes() -> None:
    value = OffsetValue(5, 2, "y" * 4096, 9, -1, bytes(range(1, 17)))
    assert records.read_offset_value(records.offset_value(value)) == value


@pytest.mark.parametrize("row", range(len(kafka_rows())))
def test_truncated_records_are_refused_and_never_crash(row: int) -> None:
    _, key, value = kafka_rows()[row]
    kind = records.read_key(key)
    if isinstance(kind, OtherKey):
        return
    for size in range(len(key)):
        with pytest.raises(records.MalformedRecordError):
            records.read_key(key[:size])
    read = records.read_offset_value if isinstance(kind, OffsetKey) else records.read_group_value
    for size in range(len(value or b"")):
        with pytest.raises(records.MalformedRecordError):
            read((value or b"")[:size])


def test_records_we_cannot_read_are_skipped_with_one_line(caplog: pytest.LogCaptureFixture) -> None:
    log = MemoryLog(1)
    log.partitions[0] = [
        (b"\0\2\0\1g", b"\0\3"),
        (b"\0\x63", b"x"),
        (b"\0", None),
        (b"\0\2\0\1h", b"\0\x09"),
        (records.offset_key("g", "t", 0), records.offset_value(OffsetValue(5, -1, "", 9, -1, None))),
    ]
    world = World(log)
    assert world.fetched() == {("t", 0): 5}
    assert [record for record in caplog.messages if "Skipped" in record] == [
        "Skipped 4 records of __consumer_offsets-0 (offset 0: 2 bytes wanted at 2 of 2)"
    ]
