"""LeaderAndIsr (4): the controller makes the replicas of this broker leaders or followers.

Translates between the wire and ``replica/assigned.py``. Only on the inter-broker listener; as published in Kafka 3.9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.metadata.image import BrokerImage, PartitionState
from kafkastore.replica.assigned import TopicStates

if TYPE_CHECKING:
    from kafkastore._core import Unwritten
    from kafkastore.protocol.leader_and_isr import (
        LeaderAndIsrPartitionState,
        LeaderAndIsrRequest,
        LeaderAndIsrTopicState,
    )
    from kafkastore.requests.context import RequestContext


async def handle(context: RequestContext, request: LeaderAndIsrRequest) -> Unwritten:
    topics = [
        TopicStates(
            topic.topic_name,
            _id(topic),
            {one.partition_index: _state(one) for one in topic.partition_states},
            frozenset(one.partition_index for one in topic.partition_states if one.is_new),
        )
        async for topic in context.turn().each(request.topic_states)
    ]
    listener = context.broker.config.inter_broker_listener
    leaders = [BrokerImage(one.broker_id, None, ((listener, one.host_name, one.port),)) for one in request.live_leaders]
    code, errors = await context.broker.assigned.become(
        request.controller_id,
        request.controller_epoch,
        request.broker_epoch,
        topics,
        leaders,
        number=request.number,
    )
    answers = [
        context.row(
            "LeaderAndIsrTopicError",
            topic_id=topic.topic_id,
            partition_errors=[
                context.row("LeaderAndIsrPartitionError", partition_index=number, error_code=errors[topic.name, number])
                for number in topic.states
                if (topic.name, number) in errors
            ],
        )
        for topic in topics
        if not code
    ]
    return context.answer(error_code=code, topics=answers)


def _state(one: LeaderAndIsrPartitionState) -> PartitionState:
    return PartitionState(one.leader, one.leader_epoch, one.partition_epoch, one.replicas, one.isr)


def _id(topic: LeaderAndIsrTopicState) -> bytes:
    assert topic.topic_id is not None  # the controller knows the id of each topic
    return topic.topic_id
