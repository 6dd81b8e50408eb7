"""The four APIs that Kafka 4 dropped: bytes put together by hand from Kafka 3.9's field lists, both ways."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer

from kafkastore.interbroker.schema.controlled_shutdown.v3 import request as shutdown_request
from kafkastore.interbroker.schema.controlled_shutdown.v3 import response as shutdown_response
from kafkastore.interbroker.schema.leader_and_isr.v7 import request as isr_request
from kafkastore.interbroker.schema.leader_and_isr.v7 import response as isr_response
from kafkastore.interbroker.schema.stop_replica.v4 import request as stop_request
from kafkastore.interbroker.schema.stop_replica.v4 import response as stop_response
from kafkastore.interbroker.schema.update_metadata.v8 import request as metadata_request
from kafkastore.interbroker.schema.update_metadata.v8 import response as metadata_response
from kafkastore.interbroker.shapes import program_for
from kafkastore.requests.context import RequestContext, schema_class
from kafkastore.requests.registry import Api

TOPIC_ID = UUID(bytes=bytes(range(1, 17)))
ID = bytes(range(1, 17)).hex()


def state(**fields: Any) -> isr_request.LeaderAndIsrPartitionState:
    return isr_request.LeaderAndIsrPartitionState(
        partition_index=3, controller_epoch=2, leader=1, leader_epoch=7, isr=(1, 2), partition_epoch=9,
        replicas=(1, 2, 4), adding_replicas=(4,), removing_replicas=(), is_new=True, leader_recovery_state=1, **fields,
    )  # fmt: skip


STATE = (
    "00000003 00000002 00000001 00000007"  # partition, controller epoch, leader, leader epoch
    " 03 00000001 00000002 00000009"  # isr, partition epoch
    " 04 00000001 00000002 00000004"  # replicas
    " 02 00000004 01 01 01"  # adding, removing, is new, recovering
)


def leader_and_isr(of_state: isr_request.LeaderAndIsrPartitionState) -> isr_request.LeaderAndIsrRequest:
    return isr_request.LeaderAndIsrRequest(
        controller_id=5,
        controller_epoch=2,
        broker_epoch=258,
        type_=2,
        topic_states=(
            isr_request.LeaderAndIsrTopicState(topic_name="t", topic_id=TOPIC_ID, partition_states=(of_state,)),
        ),
        live_leaders=(isr_request.LeaderAndIsrLiveLeader(broker_id=1, host_name="h", port=9092),),
    )


LEADER_AND_ISR = (
    "00000005 00 00000002 0000000000000102 02 02 0274 {id} 02 {state} {tags} 00 02 00000001 0268 00002384 00 00"
)

EXAMPLES = {
    "LeaderAndIsr": (leader_and_isr(state()), LEADER_AND_ISR.format(id=ID, state=STATE, tags="00")),
    "LeaderAndIsr with elr (KIP-966)": (
        leader_and_isr(state(elr=(4,))),
        # one tag: 10000 as a varint, five bytes, an array of one
        LEADER_AND_ISR.format(id=ID, state=STATE, tags="01 904e 05 02 00000004"),
    ),
    "LeaderAndIsr answer": (
        isr_response.LeaderAndIsrResponse(
            error_code=ErrorCode.none,
            topics=(
                isr_response.LeaderAndIsrTopicError(
                    topic_id=TOPIC_ID,
                    partition_errors=(
                        isr_response.LeaderAndIsrPartitionError(
                            partition_index=3, error_code=ErrorCode.kafka_storage_error
                        ),
                    ),
                ),
            ),
        ),
        f"0000 02 {ID} 02 00000003 0038 00 00 00",
    ),
    "StopReplica": (
        stop_request.StopReplicaRequest(
            controller_id=5,
            controller_epoch=2,
            broker_epoch=258,
            topic_states=(
                stop_request.StopReplicaTopicState(
                    topic_name="t",
                    partition_states=(
                        stop_request.StopReplicaPartitionState(
                            partition_index=3, leader_epoch=-2, delete_partition=True
                        ),
                    ),
                ),
            ),
        ),
        "00000005 00 00000002 0000000000000102 02 0274 02 00000003 fffffffe 01 00 00 00",
    ),
    "StopReplica answer": (
        stop_response.StopReplicaResponse(
            error_code=ErrorCode.none,
            partition_errors=(
                stop_response.StopReplicaPartitionError(
                    topic_name="t", partition_index=3, error_code=ErrorCode.fenced_leader_epoch
                ),
            ),
        ),
        "0000 02 0274 00000003 004a 00 00",
    ),
    "UpdateMetadata": (
        metadata_request.UpdateMetadataRequest(
            controller_id=5,
            type_=2,
            controller_epoch=2,
            broker_epoch=258,
            topic_states=(
                metadata_request.UpdateMetadataTopicState(
                    topic_name="t",
                    topic_id=TOPIC_ID,
                    partition_states=(
                        metadata_request.UpdateMetadataPartitionState(
                            partition_index=3,
                            controller_epoch=2,
                            leader=1,
                            leader_epoch=7,
                            isr=(1,),
                            zk_version=9,
                            replicas=(1, 2),
                            offline_replicas=(2,),
                        ),
                    ),
                ),
            ),
            live_brokers=(
                metadata_request.UpdateMetadataBroker(
                    id_=1,
                    endpoints=(
                        metadata_request.UpdateMetadataEndpoint(port=9092, host="h", listener="L", security_protocol=0),
                    ),
                    rack=None,
                ),
            ),
        ),
        f"00000005 00 00000002 0000000000000102 02 0274 {ID} 02 00000003 00000002 00000001 00000007 02 00000001"
        " 00000009 03 00000001 00000002 02 00000002 00 00"
        " 02 00000001 02 00002384 0268 024c 0000 00 00 00"  # a broker, its endpoint, no rack
        " 01 00 01 02",  # the type is tagged
    ),
    "UpdateMetadata answer": (
        metadata_response.UpdateMetadataResponse(error_code=ErrorCode.stale_controller_epoch),
        "000b 00",
    ),
    "ControlledShutdown": (
        shutdown_request.ControlledShutdownRequest(broker_id=1, broker_epoch=258),
        "00000001 0000000000000102 00",
    ),
    "ControlledShutdown answer": (
        shutdown_response.ControlledShutdownResponse(
            error_code=ErrorCode.none,
            remaining_partitions=(shutdown_response.RemainingPartition(topic_name="t", partition_index=3),),
        ),
        "0000 02 0274 00000003 00 00",
    ),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_bytes_are_those_of_the_field_lists_both_ways(name: str) -> None:
    entity, text = EXAMPLES[name]
    expected = bytes.fromhex(text)
    buffer = io.BytesIO()
    entity_writer(type(entity))(buffer, entity)
    assert buffer.getvalue().hex() == expected.hex()
    read, size = entity_reader(type(entity))(expected, 0)
    assert read == entity
    assert size == len(expected)


APIS = [
    (Api(4, "LeaderAndIsr", 7, 7, 4, "control", "leader_and_isr"), 7, {"topics": []}),
    (Api(5, "StopReplica", 4, 4, 2, "control", "stop_replica"), 4, {"partition_errors": []}),
    (Api(6, "UpdateMetadata", 8, 8, 6, "control", "update_metadata"), 8, {}),
    (Api(7, "ControlledShutdown", 3, 3, 3, "control", "controlled_shutdown"), 3, {"remaining_partitions": []}),
]


@pytest.mark.parametrize(("api", "version", "rows"), APIS, ids=str)
def test_handlers_build_and_the_data_plane_checks_them_like_kios_own(
    api: Api, version: int, rows: dict[str, list[Any]]
) -> None:
    assert program_for(schema_class(api, version, "request"))[0] == 1
    context = RequestContext(SimpleNamespace(api_version=version), api, SimpleNamespace())  # type: ignore[arg-type]
    answer = context.as_entity(context.answer(error_code=11, **rows))
    assert answer.error_code is ErrorCode.stale_controller_epoch


def test_elr_is_an_array_under_its_own_tag_in_the_program() -> None:  # KIP-966
    program = program_for(isr_request.LeaderAndIsrPartitionState)
    assert program.endswith(bytes([1, *(10000).to_bytes(2, "big"), 6, 2, 1, 4]))
