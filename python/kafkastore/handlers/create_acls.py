"""CreateAcls (30): adds access control lists. It needs Alter on the cluster.

Translates between the wire and ``authorization/acls.py``. One creation's error never fails the others. The new ACLs are
in effect on this broker when it answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore._core import LazyRows
from kafkastore.acl_words import ALTER
from kafkastore.errors import ErrorCode, KafkastoreError, SecurityDisabledError
from kafkastore.handlers.acl_rules import binding
from kafkastore.requests.authorization import require_cluster

if TYPE_CHECKING:
    from kafkastore._core import Unwritten
    from kafkastore.acl_words import AccessControlEntry, ResourcePattern
    from kafkastore.protocol.create_acls import CreateAclsRequest
    from kafkastore.requests.context import RequestContext

Failure = tuple[int, "str | None"]
"""(error code, message)"""


async def handle(context: RequestContext, request: CreateAclsRequest) -> Unwritten:
    require_cluster(context, ALTER)
    acls = context.broker.acls
    if acls is None:
        raise SecurityDisabledError
    added: dict[ResourcePattern, list[AccessControlEntry]] = {}
    outcomes: list[Failure | None] = []
    async for one in context.turn().each(request.creations):
        try:
            pattern, entry = binding(one)
        except KafkastoreError as error:
            outcomes.append((error.code, error.client_message))
        else:
            outcomes.append(None)
            added.setdefault(pattern, []).append(entry)
    failure: Failure = (ErrorCode.NONE, None)
    try:
        await acls.add(added, context.request.principal, context.request.client_host)
    except KafkastoreError as error:
        failure = error.code, error.client_message

    def row(outcome: Failure | None) -> bytes:
        code, message = failure if outcome is None else outcome
        return context.row("AclCreationResult", error_code=code, error_message=message)

    return context.answer(results=LazyRows(outcomes, row))
