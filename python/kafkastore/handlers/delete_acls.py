"""DeleteAcls (31): removes the access control lists that filters match. It needs Alter on the cluster.

Translates between the wire and ``authorization/acls.py``. One filter's error never fails the others. The ACLs have no
effect on this broker any more when it answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore._core import LazyRows
from kafkastore.acl_words import ALTER
from kafkastore.errors import ErrorCode, KafkastoreError, SecurityDisabledError
from kafkastore.handlers.acl_rules import check_shown, filter_of
from kafkastore.requests.authorization import require_cluster

if TYPE_CHECKING:
    from kafkastore._core import Unwritten
    from kafkastore.acl_words import AccessControlEntry, AclBindingFilter, ResourcePattern
    from kafkastore.protocol.delete_acls import DeleteAclsRequest
    from kafkastore.requests.context import RequestContext


async def handle(context: RequestContext, request: DeleteAclsRequest) -> Unwritten:
    require_cluster(context, ALTER)
    acls = context.broker.acls
    if acls is None:
        raise SecurityDisabledError
    outcomes: list[KafkastoreError | AclBindingFilter] = []
    async for one in context.turn().each(request.filters):
        try:
            outcomes.append(filter_of(one))
        except KafkastoreError as error:
            outcomes.append(error.with_traceback(None))
    wanted = [one for one in outcomes if not isinstance(one, KafkastoreError)]
    failure: KafkastoreError | None = None
    removed: list[list[tuple[ResourcePattern, AccessControlEntry]]] = [[] for _ in wanted]
    try:
        removed = await acls.remove(wanted, context.request.principal, context.request.client_host)
    except KafkastoreError as error:
        failure = error.with_traceback(None)
    found = iter(removed)

    def row(outcome: KafkastoreError | AclBindingFilter) -> Unwritten:
        error = outcome if isinstance(outcome, KafkastoreError) else failure
        matching = () if isinstance(outcome, KafkastoreError) else next(found)
        return context.unwritten_row(
            "DeleteAclsFilterResult",
            error_code=ErrorCode.NONE if error is None else error.code,
            error_message=None if error is None else error.client_message,
            matching_acls=LazyRows(matching, lambda one: _matching(context, *one)),
        )

    return context.answer(filter_results=LazyRows(outcomes, row))


def _matching(context: RequestContext, pattern: ResourcePattern, entry: AccessControlEntry) -> bytes:
    check_shown(pattern, context.api_version)
    return context.row(
        "DeleteAclsMatchingAcl",
        error_code=ErrorCode.NONE,
        error_message=None,
        resource_type=pattern.resource_type,
        resource_name=pattern.name,
        pattern_type=pattern.pattern_type,
        principal=entry.principal,
        host=entry.host,
        operation=entry.operation,
        permission_type=entry.permission,
    )
