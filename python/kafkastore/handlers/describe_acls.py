"""DescribeAcls (29): as Apache Kafka answers without an authorizer."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from kafkastore.errors import SecurityDisabledError

if TYPE_CHECKING:
    from kafkastore.interbroker.request_types.describe_acls import DescribeAclsRequest
    from kafkastore.requests.context import RequestContext


async def handle(context: RequestContext, request: DescribeAclsRequest) -> NoReturn:
    del context, request
    raise SecurityDisabledError("No Authorizer is configured on the broker")
