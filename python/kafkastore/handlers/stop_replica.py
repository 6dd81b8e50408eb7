"""StopReplica (5): the controller takes replicas of this broker out of service, or has this broker delete them.

Translates between the wire and ``replica/assigned.py``. Only on the inter-broker listener; as published in Kafka 3.9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore._core import LazyRows
from kafkastore.interbroker.orders import StoppedReplica

if TYPE_CHECKING:
    from kafkastore._core import Unwritten
    from kafkastore.protocol.stop_replica import StopReplicaRequest
    from kafkastore.requests.context import RequestContext


async def handle(context: RequestContext, request: StopReplicaRequest) -> Unwritten:
    stopped = [
        StoppedReplica(topic.topic_name, one.partition_index, one.leader_epoch, one.delete_partition)
        for topic in request.topic_states
        for one in topic.partition_states
    ]
    code, errors = await context.broker.assigned.stop(
        request.controller_epoch, request.broker_epoch, stopped, number=request.number
    )
    return context.answer(
        error_code=code,
        partition_errors=LazyRows(
            errors.items(),
            lambda one: context.row(
                "StopReplicaPartitionError", topic_name=one[0][0], partition_index=one[0][1], error_code=one[1]
            ),
        ),
    )
