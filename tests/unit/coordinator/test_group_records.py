"""The record formats of ``__consumer_offsets``, compared with bytes that Apache Kafka 4.3 wrote
(``tests/fixtures/offsets``)."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from fixtures.offsets.segments import records as segment_records
from kafkastore.coordinator.group.classic import records
from kafkastore.coordinator.group.classic.records import GroupValue, MemberValue
from kafkastore.coordinator.runtime.partitioning import java_string_hash, partition_for
from unit.coordinator.group_world import World, leases_are_right
from unit.coordinator.memory_groups import Committed, MemoryLog, OffsetRow

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
        if key.startswith(b"\0\1"):  # an offset's key; the data plane reads it, and reports its group
            end = 4 + int.from_bytes(key[2:4])
            row = OffsetRow(key[4:end].decode(), key[end:].hex(), 0)
            log.write(partition, row, None if value is None else Committed(0, 0, -1, b""))
        else:
            log.write(partition, key, value)
    return World(log)


def group_id_of(key: bytes) -> str | None:
    """The group of a group record's key; None for other keys."""
    return key[4:].decode() if key.startswith(b"\0\2") else None


def group_rows() -> list[tuple[int, str, bytes, bytes | None]]:
    found = []
    for partition, key, value in kafka_rows():
        group_id = group_id_of(key)
        if group_id is not None:
            found.append((partition, group_id, key, value))
    return found


def test_group_records_of_kafka_are_written_again_byte_for_byte() -> None:
    values = 0
    for _, group_id, key, value in group_rows():
        assert records.group_key(group_id) == key
        if value is not None:
            values += 1
            assert records.group_value(records.read_group_value(value)) == value
    assert 0 < values < len(group_rows())


def test_every_group_is_in_the_partition_where_kafka_put_it() -> None:
    hashes = []
    for partition, group_id, _, _ in group_rows():
        assert partition_for(group_id, PARTITIONS) == partition
        hashes.append(java_string_hash(group_id))
    assert min(hashes) < 0 < max(hashes)
    assert any((code & 0x7FFFFFFF) % PARTITIONS != abs(code) % PARTITIONS for code in hashes)  # the rules differ


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
            assert described.state == "Dead"  # groups of the new protocol are not kept
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


def test_a_group_that_kafka_had_goes_on_here() -> None:
    world = world_of_kafka()
    member = world.coordinator.describe_group("dynamic").members[0]
    assert world.groups.heartbeat("dynamic", member.member_id, None, 1) == 0
    assert world.groups.heartbeat("dynamic", member.member_id, None, 2) == 22


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


@pytest.mark.parametrize("row", range(len(group_rows())))
def test_truncated_records_are_refused_and_never_crash(row: int) -> None:
    _, _, _, value = group_rows()[row]
    for size in range(len(value or b"")):
        with pytest.raises(records.MalformedRecordError):
            records.read_group_value((value or b"")[:size])


def test_records_we_cannot_read_are_skipped_with_one_line(caplog: pytest.LogCaptureFixture) -> None:
    log = MemoryLog(1)
    log.partitions[0] = [
        (records.group_key("g"), b"\0\3"),
        (records.group_key("h"), b"\0\x09"),
        (OffsetRow("g", "t", 0), Committed(5, 9, -1, b"")),
    ]
    log.unreadable[0] = (2, "offset 1: unknown key version 99")
    world = World(log)
    assert list(world.coordinator.store.groups) == ["g"], "a simple one: its offsets are there"
    assert world.fetched() == {("t", 0): 5}
    leases_are_right(world)
    assert [record for record in caplog.messages if "Skipped" in record] == [
        "Skipped 4 records of __consumer_offsets-0 (offset 1: unknown key version 99)"
    ]
    log.unreadable.clear()
    world.load(0)
    assert caplog.messages[-1] == "Skipped 2 records of __consumer_offsets-0 (2 bytes wanted at 2 of 2)"


def test_one_line_names_the_groups_whose_consumers_will_wait(caplog: pytest.LogCaptureFixture) -> None:
    log = MemoryLog(1)
    log.unstable[0] = ["g", "h"]
    with caplog.at_level("INFO"):
        World(log)
    (line,) = [message for message in caplog.messages if message.startswith("Open transactions")]
    assert line == (
        "Open transactions in __consumer_offsets-0 hold offsets of g, h; consumers that want stable offsets wait until "
        "the transactions end"
    )
