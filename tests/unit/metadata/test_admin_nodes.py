"""The content of the nodes that operators write: right entries are read, wrong ones are named."""

from __future__ import annotations

import pytest

from kafkastore.metadata.admin_nodes import decode_elections, decode_reassignments, encode_reassignments

RIGHT = '{"topic":"t","partition":0,"replicas":[1,2]}'


def test_node_of_kafkas_tool_is_read() -> None:  # ReassignPartitionsZNode of Apache Kafka 2.0
    data = b'{"version":1,"partitions":[{"topic":"a.b","partition":1,"replicas":[3,1]}]}'
    assert decode_reassignments(data) == ({("a.b", 1): (3, 1)}, [])
    assert encode_reassignments({("a.b", 1): (3, 1)}) == data
    assert decode_elections(b'{"version":1,"partitions":[{"topic":"a","partition":2}]}') == ([("a", 2)], [])


def test_unknown_fields_are_left_alone() -> None:
    entry = '{"topic":"t","partition":0,"replicas":[1,2],"log_dirs":["any","any"]}'
    assert decode_reassignments(f'{{"version":1,"partitions":[{entry}],"more":1}}'.encode()) == ({("t", 0): (1, 2)}, [])


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ("7", "7 names no topic and partition"),
        ('{"topic":"u","replicas":[1]}', "names no topic and partition"),
        ('{"topic":7,"partition":0,"replicas":[1]}', "names no topic and partition"),
        ('{"topic":"a\\nb","partition":0,"replicas":[1]}', "names no topic and partition"),
        ('{"topic":"u","partition":true,"replicas":[1]}', "names no topic and partition"),
        ('{"topic":"u","partition":"0","replicas":[1]}', "names no topic and partition"),
        ('{"topic":"u","partition":1.5,"replicas":[1]}', "names no topic and partition"),
        ('{"topic":"u","partition":0}', "u-0 has replicas null, which is no list of broker ids"),
        ('{"topic":"u","partition":0,"replicas":3}', "u-0 has replicas 3,"),
        ('{"topic":"u","partition":0,"replicas":[1,"2"]}', 'u-0 has replicas [1, "2"],'),
        (RIGHT, "t-0 stands there twice"),
    ],
)
def test_wrong_entry_is_named_and_the_others_stand(entry: str, fault: str) -> None:
    found, faults = decode_reassignments(f'{{"version":1,"partitions":[{RIGHT},{entry}]}}'.encode())
    assert found == {("t", 0): (1, 2)}
    assert len(faults) == 1
    assert fault in faults[0]


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", "is not JSON"),
        (b"\xff\xfe", "is not JSON"),
        (b"{", "{ is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"9" * 5000, "is not JSON"),
        (b"null", "null is no object of version 1"),
        (b"[]", "[] is no object of version 1"),
        (b'{"version":2,"partitions":[]}', "is no object of version 1"),
        (b'{"version":1}', "partitions is null, which is no list"),
        (b'{"version":1,"partitions":{"topic":"t"}}', "which is no list"),
    ],
)
def test_invalid_content_is_one_fault(data: bytes, fault: str) -> None:
    found, faults = decode_reassignments(data)
    assert not found
    assert len(faults) == 1
    assert fault in faults[0]
    assert len(faults[0]) < 200
    assert decode_elections(data) == ([], faults)
