"""DescribeAcls (29): the access control lists that a filter matches, by resource pattern. It needs Describe on the
cluster.

Translates between the wire and ``authorization/acls.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore._core import LazyRows
from kafkastore.acl_words import DESCRIBE
from kafkastore.errors import ErrorCode, SecurityDisabledError
from kafkastore.handlers.acl_rules import check_shown, filter_of
from kafkastore.requests.authorization import require_cluster

if TYPE_CHECKING:
    from kafkastore._core import Unwritten
    from kafkastore.acl_words import AccessControlEntry, ResourcePattern
    from kafkastore.protocol.describe_acls import DescribeAclsRequest
    from kafkastore.requests.context import RequestContext


async def handle(context: RequestContext, request: DescribeAclsRequest) -> Unwritten:
    require_cluster(context, DESCRIBE)
    acls = context.broker.acls
    if acls is None:
        raise SecurityDisabledError("No Authorizer is configured on the broker")
    wanted = filter_of(request)
    found = [one async for one in context.turn().each(acls.find(wanted))]
    for pattern, _ in found:
        check_shown(pattern, context.api_version)
    return context.answer(
        error_code=ErrorCode.NONE, error_message=None, resources=LazyRows(found, lambda one: _resource(context, *one))
    )


def _resource(context: RequestContext, pattern: ResourcePattern, entries: list[AccessControlEntry]) -> Unwritten:
    return context.unwritten_row(
        "DescribeAclsResource",
        resource_type=pattern.resource_type,
        resource_name=pattern.name,
        pattern_type=pattern.pattern_type,
        acls=LazyRows(entries, lambda entry: _acl(context, entry)),
    )


def _acl(context: RequestContext, entry: AccessControlEntry) -> bytes:
    return context.row(
        "AclDescription",
        principal=entry.principal,
        host=entry.host,
        operation=entry.operation,
        permission_type=entry.permission,
    )
