"""The versions that Kafka 4 dropped (KIP-896): bytes put together by hand from Kafka 3.9's field lists, both ways."""

from __future__ import annotations

import io
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer

from kafkastore.interbroker.encoding import encoder_of
from kafkastore.interbroker.older_versions import older_module
from kafkastore.interbroker.shapes import program_for
from parity.kio_entities import build

BODIES: dict[tuple[str, int, str], tuple[dict[str, Any], str]] = {
    ("create_topics", 0, "request"): (
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
            "timeout": 1500,
        },
        "00000001 0001 74 ffffffff ffff 00000001 00000003 00000002 00000001 00000002 00000001 0001 61 ffff 000005dc",
    ),
    ("create_topics", 1, "request"): (
        {"topics": [], "timeout": 1500, "validate_only": True},
        "00000000 000005dc 01",
    ),
    ("create_topics", 0, "response"): (
        {"topics": [{"name": "t", "error_code": ErrorCode(36)}]},
        "00000001 0001 74 0024",
    ),
    ("create_topics", 1, "response"): (
        {"topics": [{"name": "t", "error_code": ErrorCode(36), "error_message": "m"}]},
        "00000001 0001 74 0024 0001 6d",
    ),
    ("delete_topics", 0, "request"): ({"topic_names": ["t"], "timeout": 1500}, "00000001 0001 74 000005dc"),
    ("delete_topics", 0, "response"): (
        {"responses": [{"name": "t", "error_code": ErrorCode(3)}]},
        "00000001 0001 74 0003",
    ),
    ("describe_configs", 0, "request"): (
        {
            "resources": [
                {"resource_type": 2, "resource_name": "t", "configuration_keys": None},
                {"resource_type": 4, "resource_name": "1", "configuration_keys": ["a"]},
            ]
        },
        "00000002 02 0001 74 ffffffff 04 0001 31 00000001 0001 61",
    ),
    ("describe_configs", 0, "response"): (
        {
            "throttle_time": 0,
            "results": [
                {
                    "error_code": ErrorCode(0),
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
    ("offset_for_leader_epoch", 0, "request"): (
        {"topics": [{"topic": "t", "partitions": [{"partition": 3, "leader_epoch": 7}]}]},
        "00000001 0001 74 00000001 00000003 00000007",
    ),
    ("offset_for_leader_epoch", 0, "response"): (
        {"topics": [{"topic": "t", "partitions": [{"error_code": ErrorCode(0), "partition": 3, "end_offset": 9}]}]},
        "00000001 0001 74 00000001 0000 00000003 0000000000000009",
    ),
    ("offset_for_leader_epoch", 1, "response"): (
        {
            "topics": [
                {
                    "topic": "t",
                    "partitions": [{"error_code": ErrorCode(0), "partition": 3, "leader_epoch": 7, "end_offset": 9}],
                }
            ]
        },
        "00000001 0001 74 00000001 0000 00000003 00000007 0000000000000009",
    ),
    ("create_acls", 0, "request"): (
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
    ("describe_log_dirs", 0, "request"): ({"topics": None}, "ffffffff"),
}
"""What differs from kio's oldest version, at least once; value and bytes."""


@pytest.mark.parametrize("name", BODIES, ids=str)
def test_bytes_are_those_of_kafkas_definition_both_ways(name: tuple[str, int, str]) -> None:
    given, text = BODIES[name]
    api, version, direction = name
    classes = older_module(api, version, direction)
    wanted = f"{api.replace('_', '')}{direction}"
    entity_class = next(one for key, one in vars(classes).items() if key.lower() == wanted)
    entity, body = build(entity_class, dict(given)), bytes.fromhex(text)
    out = io.BytesIO()
    entity_writer(entity_class)(out, entity)
    assert out.getvalue() == body
    assert b"".join(encoder_of(entity_class).pieces(entity)) == body
    assert entity_reader(entity_class)(body, 0) == (entity, len(body))
    assert program_for(entity_class)[0] == 1
