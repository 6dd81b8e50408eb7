"""DeleteAcls (31): as Apache Kafka answers without an authorizer; nothing is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from kafkastore.errors import SecurityDisabledError

if TYPE_CHECKING:
    from kafkastore.interbroker.request_types.delete_acls import DeleteAclsRequest
    from kafkastore.requests.context import RequestContext


async def handle(context: RequestContext, request: DeleteAclsRequest) -> NoReturn:
    del context, request
    raise SecurityDisabledError
