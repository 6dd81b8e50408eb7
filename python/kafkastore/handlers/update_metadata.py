"""UpdateMetadata (6): the controller sends the live brokers of the cluster, and the leader of every partition.

Translates between the wire and ``replica/assigned.py``. Only on the inter-broker listener; as published in Kafka 3.9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkastore.metadata.image import BrokerImage, PartitionState
from kafkastore.replica.assigned import TopicStates

if TYPE_CHECKING:
    from kafkastore._core import Unwritten
    from kafkastore.protocol.update_metadata import (
        UpdateMetadataPartitionState,
        UpdateMetadataRequest,
        UpdateMetadataTopicState,
    )
    from kafkastore.requests.context import RequestContext

FULL: Final = 2
"""The type of a request that has all topics."""


async def handle(context: RequestContext, request: UpdateMetadataRequest) -> Unwritten:
    brokers = [
        BrokerImage(one.id, one.rack, tuple((at.listener, at.host, at.port) for at in one.endpoints))
        for one in request.live_brokers
    ]
    topics = [
        TopicStates(topic.topic_name, _id(topic), {one.partition_index: _state(one) for one in topic.partition_states})
        async for topic in context.turn().each(request.topic_states)
    ]
    code = await context.broker.assigned.update(
        request.controller_id,
        request.controller_epoch,
        request.broker_epoch,
        brokers,
        topics,
        is_full=request.type == FULL,
        number=request.number,
    )
    return context.answer(error_code=code)


def _state(one: UpdateMetadataPartitionState) -> PartitionState:
    return PartitionState(
        one.leader, one.leader_epoch, one.zk_version, one.replicas, one.isr, tuple(one.offline_replicas)
    )


def _id(topic: UpdateMetadataTopicState) -> bytes:
    assert topic.topic_id is not None  # the controller knows the id of each topic
    return topic.topic_id
