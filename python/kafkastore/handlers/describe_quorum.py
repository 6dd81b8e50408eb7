"""DescribeQuorum (55, KIP-595): which broker is the controller, in which epoch. ``kafka-metadata-quorum`` and
``kafkastore cluster status`` ask for it; Metadata and DescribeCluster name a broker that passes requests on instead.

The metadata store elects the controller, and every broker may be elected: so the voters are the brokers. The brokers
replicate no metadata log: the offset of all of them, and the high watermark, is the generation of the store, which
rises with its changes and which the brokers share. Answered from the metadata that this broker has and the store.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from kafkastore._core import LazyRows
from kafkastore.acl_words import DESCRIBE
from kafkastore.errors import ErrorCode
from kafkastore.metadata.image import NO_CONTROLLER
from kafkastore.metadata.store import StoreError
from kafkastore.requests.authorization import require_cluster
from kafkastore.topic_names import CLUSTER_METADATA_TOPIC

if TYPE_CHECKING:
    from kafkastore._core import Unwritten
    from kafkastore.protocol.describe_quorum import DescribeQuorumRequest, DescribeQuorumRequestTopicData
    from kafkastore.requests.context import RequestContext

UNKNOWN_OFFSET: Final = -1

STORE_WAIT_S: Final = 1.0


async def handle(context: RequestContext, request: DescribeQuorumRequest) -> Unwritten:
    require_cluster(context, DESCRIBE)
    generation = await _generation(context)

    def row(topic: DescribeQuorumRequestTopicData) -> Unwritten:
        name = topic.topic_name
        partitions = LazyRows(topic.partitions, lambda one: _partition(context, name, one.partition_index, generation))
        return context.unwritten_row("TopicData", topic_name=topic.topic_name, partitions=partitions)

    nodes = [
        context.row(
            "Node",
            node_id=broker.node_id,
            listeners=[context.row("Listener", name=name, host=host, port=port)],
        )
        for broker in context.broker.image.brokers.values()
        for name, host, port in broker.listeners
        if name == context.request.listener
    ] if context.api_version >= 2 else []  # fmt: skip
    return context.answer(
        error_code=ErrorCode.NONE, error_message=None, topics=LazyRows(request.topics, row), nodes=nodes
    )


async def _generation(context: RequestContext) -> int:
    """-1 when the store does not answer soon: who asks may want to know why."""
    try:
        mark = await asyncio.wait_for(context.broker.read_mark(), STORE_WAIT_S)
    except (TimeoutError, StoreError):
        return UNKNOWN_OFFSET
    return 0 if mark is None else mark.generation


def _partition(context: RequestContext, topic: str, number: int, generation: int) -> bytes:
    image, controller = context.broker.image, context.broker.controller
    code = ErrorCode.NONE
    leader, epoch, voters = NO_CONTROLLER, -1, list(image.brokers)
    if (topic, number) != (CLUSTER_METADATA_TOPIC, 0):
        code, voters = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, []
    else:
        leader = controller.controller_id if controller.controller_id >= 0 else image.controller_id
        epoch = controller.epoch if controller.is_active else image.controller_epoch
    return context.row(
        "PartitionData",
        partition_index=number,
        error_code=code,
        error_message=None,
        leader_id=leader,
        leader_epoch=epoch,
        high_watermark=generation if code == ErrorCode.NONE else UNKNOWN_OFFSET,
        current_voters=[
            context.row("ReplicaState", replica_id=node, replica_directory_id=None, log_end_offset=generation)
            for node in voters
        ],
        observers=(),
    )
