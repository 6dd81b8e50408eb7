"""The four APIs that Kafka 4 dropped: bytes put together by hand from Kafka 3.9's field lists, both ways."""

from __future__ import annotations

from typing import Any

import pytest

from kafkastore.errors import ErrorCode
from unit.protocol.known_bytes import check_both_ways

TOPIC_ID = bytes(range(1, 17))
ID = TOPIC_ID.hex()

FROM_CONTROLLER = {"controller_id": 5, "controller_epoch": 2, "broker_epoch": 258}


def leader_and_isr(**of_state: Any) -> dict[str, Any]:
    state = {
        "partition_index": 3, "controller_epoch": 2, "leader": 1, "leader_epoch": 7, "isr": (1, 2),
        "partition_epoch": 9, "replicas": (1, 2, 4), "adding_replicas": (4,), "removing_replicas": (), "is_new": True,
        "leader_recovery_state": 1, "elr": (), **of_state,
    }  # fmt: skip
    return {
        **FROM_CONTROLLER,
        "type": 2,
        "topic_states": [{"topic_name": "t", "topic_id": TOPIC_ID, "partition_states": [state]}],
        "live_leaders": [{"broker_id": 1, "host_name": "h", "port": 9092}],
    }


STATE = (
    "00000003 00000002 00000001 00000007"  # partition, controller epoch, leader, leader epoch
    " 03 00000001 00000002 00000009"  # isr, partition epoch
    " 04 00000001 00000002 00000004"  # replicas
    " 02 00000004 01 01 01"  # adding, removing, is new, recovering
)

LEADER_AND_ISR = (
    "00000005 00 00000002 0000000000000102 02 02 0274 {id} 02 {state} {tags} 00 02 00000001 0268 00002384 00 00"
)

UPDATE_METADATA = {
    **FROM_CONTROLLER,
    "type": 2,
    "topic_states": [
        {
            "topic_name": "t",
            "topic_id": TOPIC_ID,
            "partition_states": [
                {
                    "partition_index": 3,
                    "controller_epoch": 2,
                    "leader": 1,
                    "leader_epoch": 7,
                    "isr": (1,),
                    "zk_version": 9,
                    "replicas": (1, 2),
                    "offline_replicas": (2,),
                }
            ],
        }
    ],
    "live_brokers": [
        {
            "id": 1,
            "endpoints": [{"port": 9092, "host": "h", "listener": "L", "security_protocol": 0}],
            "rack": None,
        }
    ],
}

EXAMPLES: dict[str, tuple[str, int, dict[str, Any], str]] = {
    "LeaderAndIsr": (
        "LeaderAndIsrRequest",
        7,
        leader_and_isr(),
        LEADER_AND_ISR.format(id=ID, state=STATE, tags="00"),
    ),
    "LeaderAndIsr with elr (KIP-966)": (
        "LeaderAndIsrRequest",
        7,
        leader_and_isr(elr=(4,)),
        # one tag: 10000 as a varint, five bytes, an array of one
        LEADER_AND_ISR.format(id=ID, state=STATE, tags="01 904e 05 02 00000004"),
    ),
    "LeaderAndIsr answer": (
        "LeaderAndIsrResponse",
        7,
        {
            "error_code": ErrorCode.NONE,
            "topics": [
                {
                    "topic_id": TOPIC_ID,
                    "partition_errors": [{"partition_index": 3, "error_code": ErrorCode.KAFKA_STORAGE_ERROR}],
                }
            ],
        },
        f"0000 02 {ID} 02 00000003 0038 00 00 00",
    ),
    "StopReplica": (
        "StopReplicaRequest",
        4,
        {
            **FROM_CONTROLLER,
            "topic_states": [
                {
                    "topic_name": "t",
                    "partition_states": [{"partition_index": 3, "leader_epoch": -2, "delete_partition": True}],
                }
            ],
        },
        "00000005 00 00000002 0000000000000102 02 0274 02 00000003 fffffffe 01 00 00 00",
    ),
    "StopReplica with its number": (
        "StopReplicaRequest",
        4,
        {**FROM_CONTROLLER, "topic_states": (), "number": 7},
        "00000005 00 00000002 0000000000000102 01 01 904e 08 0000000000000007",  # a tag of KafkaStore's own
    ),
    "StopReplica answer": (
        "StopReplicaResponse",
        4,
        {
            "error_code": ErrorCode.NONE,
            "partition_errors": [
                {"topic_name": "t", "partition_index": 3, "error_code": ErrorCode.FENCED_LEADER_EPOCH}
            ],
        },
        "0000 02 0274 00000003 004a 00 00",
    ),
    "UpdateMetadata": (
        "UpdateMetadataRequest",
        8,
        UPDATE_METADATA,
        f"00000005 00 00000002 0000000000000102 02 0274 {ID} 02 00000003 00000002 00000001 00000007 02 00000001"
        " 00000009 03 00000001 00000002 02 00000002 00 00"
        " 02 00000001 02 00002384 0268 024c 0000 00 00 00"  # a broker, its endpoint, no rack
        " 01 00 01 02",  # the type is tagged
    ),
    "UpdateMetadata answer": (
        "UpdateMetadataResponse",
        8,
        {"error_code": ErrorCode.STALE_CONTROLLER_EPOCH},
        "000b 00",
    ),
    "ControlledShutdown": (
        "ControlledShutdownRequest",
        3,
        {"broker_id": 1, "broker_epoch": 258},
        "00000001 0000000000000102 00",
    ),
    "ControlledShutdown answer": (
        "ControlledShutdownResponse",
        3,
        {"error_code": ErrorCode.NONE, "remaining_partitions": [{"topic_name": "t", "partition_index": 3}]},
        "0000 02 0274 00000003 00 00",
    ),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_bytes_are_those_of_the_field_lists_both_ways(name: str) -> None:
    check_both_ways(*EXAMPLES[name])
