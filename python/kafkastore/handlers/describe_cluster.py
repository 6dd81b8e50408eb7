"""DescribeCluster (60): the cluster's id, its controller, and its brokers with their addresses on the listener of the
request (KIP-700).

Reads the metadata image; knows nothing else. A broker answers for brokers only: a request for controllers (KIP-919,
endpoint type 2) gets MISMATCHED_ENDPOINT_TYPE.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.acl_words import CLUSTER, CLUSTER_NAME, DESCRIBE
from kafkastore.errors import ErrorCode
from kafkastore.metadata.image import NO_CONTROLLER
from kafkastore.requests.authorization import allows_cluster, operations

if TYPE_CHECKING:
    from collections.abc import Container

    from kafkastore._core import Unwritten
    from kafkastore.protocol.describe_cluster import DescribeClusterRequest
    from kafkastore.requests.context import RequestContext

ENDPOINT_TYPE_BROKER = 1
ENDPOINT_TYPE_CONTROLLER = 2
OPERATIONS_NOT_ASKED = -(2**31)


async def handle(context: RequestContext, request: DescribeClusterRequest) -> Unwritten:
    endpoint_type = request.endpoint_type
    if endpoint_type == ENDPOINT_TYPE_CONTROLLER:
        return _refused(
            context,
            ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER",
        )
    if endpoint_type != ENDPOINT_TYPE_BROKER:
        return _refused(context, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"Unsupported endpoint type {endpoint_type}")
    image = context.broker.image
    brokers = {
        broker.node_id: context.row(
            "DescribeClusterBroker", broker_id=broker.node_id, host=host, port=port, rack=broker.rack, is_fenced=False
        )
        for broker in image.brokers.values()
        for listener, host, port in broker.listeners
        if listener == context.request.listener
    }
    may_do = OPERATIONS_NOT_ASKED
    if request.include_cluster_authorized_operations:
        may_do = operations(context, CLUSTER, CLUSTER_NAME) if allows_cluster(context, DESCRIBE) else 0
    return context.answer(
        error_code=ErrorCode.NONE,
        error_message=None,
        endpoint_type=ENDPOINT_TYPE_BROKER,
        cluster_id=context.broker.cluster_id,
        controller_id=_controller_to_ask(brokers, context.broker.node_id, image.controller_id),
        brokers=brokers.values(),
        cluster_authorized_operations=may_do,
    )


def _controller_to_ask(known: Container[int], node_id: int, controller_id: int) -> int:
    """The broker that is named as the controller, as in Metadata (``rust/broker/requests/metadata.rs``): this broker,
    which is alive and passes requests on to the controller."""
    return next((one for one in (node_id, controller_id) if one in known), NO_CONTROLLER)


def _refused(context: RequestContext, code: int, message: str) -> Unwritten:
    return context.answer(error_code=code, error_message=message, cluster_id="", brokers=())
