"""The versions that Kafka 4 dropped (KIP-896): bytes put together by hand from Kafka 3.9's field lists, both ways."""

from __future__ import annotations

from typing import Any

import pytest

from kafkastore.errors import ErrorCode
from unit.protocol.known_bytes import check_both_ways

BODIES: dict[tuple[str, int, str], tuple[dict[str, Any], str]] = {
    ("CreateTopics", 0, "Request"): (
        {
            "topics": [
                {
                    "name": "t",
                    "num_partitions": -1,
                    "replication_factor": -1,
                    "assignments": [{"partition_index": 3, "broker_ids": [1, 2]}],
                    "configs": [{"name": "a", "value": None}],
                }
            ],
            "timeout_ms": 1500,
        },
        "00000001 0001 74 ffffffff ffff 00000001 00000003 00000002 00000001 00000002 00000001 0001 61 ffff 000005dc",
    ),
    ("CreateTopics", 1, "Request"): (
        {"topics": [], "timeout_ms": 1500, "validate_only": True},
        "00000000 000005dc 01",
    ),
    ("CreateTopics", 0, "Response"): (
        {"topics": [{"name": "t", "error_code": ErrorCode.TOPIC_ALREADY_EXISTS}]},
        "00000001 0001 74 0024",
    ),
    ("CreateTopics", 1, "Response"): (
        {"topics": [{"name": "t", "error_code": ErrorCode.TOPIC_ALREADY_EXISTS, "error_message": "m"}]},
        "00000001 0001 74 0024 0001 6d",
    ),
    ("DeleteTopics", 0, "Request"): ({"topic_names": ["t"], "timeout_ms": 1500}, "00000001 0001 74 000005dc"),
    ("DeleteTopics", 0, "Response"): (
        {"responses": [{"name": "t", "error_code": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}]},
        "00000001 0001 74 0003",
    ),
    ("DescribeConfigs", 0, "Request"): (
        {
            "resources": [
                {"resource_type": 2, "resource_name": "t", "configuration_keys": None},
                {"resource_type": 4, "resource_name": "1", "configuration_keys": ["a"]},
            ]
        },
        "00000002 02 0001 74 ffffffff 04 0001 31 00000001 0001 61",
    ),
    ("DescribeConfigs", 0, "Response"): (
        {
            "throttle_time_ms": 0,
            "results": [
                {
                    "error_code": ErrorCode.NONE,
                    "error_message": None,
                    "resource_type": 2,
                    "resource_name": "t",
                    "configs": [
                        {"name": "a", "value": "b", "read_only": False, "is_default": True, "is_sensitive": False}
                    ],
                }
            ],
        },
        "00000000 00000001 0000 ffff 02 0001 74 00000001 0001 61 0001 62 00 01 00",
    ),
    ("OffsetForLeaderEpoch", 0, "Request"): (
        {"topics": [{"topic": "t", "partitions": [{"partition": 3, "leader_epoch": 7}]}]},
        "00000001 0001 74 00000001 00000003 00000007",
    ),
    ("OffsetForLeaderEpoch", 0, "Response"): (
        {"topics": [{"topic": "t", "partitions": [{"error_code": ErrorCode.NONE, "partition": 3, "end_offset": 9}]}]},
        "00000001 0001 74 00000001 0000 00000003 0000000000000009",
    ),
    ("OffsetForLeaderEpoch", 1, "Response"): (
        {
            "topics": [
                {
                    "topic": "t",
                    "partitions": [{"error_code": ErrorCode.NONE, "partition": 3, "leader_epoch": 7, "end_offset": 9}],
                }
            ]
        },
        "00000001 0001 74 00000001 0000 00000003 00000007 0000000000000009",
    ),
    ("CreateAcls", 0, "Request"): (
        {
            "creations": [
                {
                    "resource_type": 2,
                    "resource_name": "t",
                    "principal": "p",
                    "host": "*",
                    "operation": 3,
                    "permission_type": 3,
                }
            ]
        },
        "00000001 02 0001 74 0001 70 0001 2a 03 03",
    ),
    ("DescribeLogDirs", 0, "Request"): ({"topics": None}, "ffffffff"),
}
"""What differs from the oldest version of Kafka 4, at least once; value and bytes."""


@pytest.mark.parametrize("name", BODIES, ids=str)
def test_bytes_are_those_of_kafkas_definition_both_ways(name: tuple[str, int, str]) -> None:
    api, version, direction = name
    check_both_ways(f"{api}{direction}", version, *BODIES[name])
