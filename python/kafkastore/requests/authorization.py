"""What the client of a request may do: the one place where handlers ask. The answer comes from the data plane, which
decides by the same access control lists for itself (``rust/broker/requests/authorization.rs``), and logs refusals.

Without an authorizer everything is allowed. A broker that has proven the brokers' secret, and a request of this broker
itself, may do everything: an ACL never locks a broker out of its cluster. A request that another broker passes on is
its client's (``requests/forwarding.py``).

A handler asks before it looks at what the request names, so that no answer tells a client whether something exists that
it may not describe.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkastore.acl_words import CLUSTER, CLUSTER_NAME, GROUP, TOPIC, TRANSACTIONAL_ID
from kafkastore.errors import (
    ClusterAuthorizationFailedError,
    ErrorCode,
    GroupAuthorizationFailedError,
)

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from kafkastore.authorization.acls import Acls
    from kafkastore.requests.context import RequestContext

FAILED: Final = {
    TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    TRANSACTIONAL_ID: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}
"""The error for a resource of each type that the client may not use."""

ALL_OPERATIONS: Final = {TOPIC: 0b1101_1111_1000, GROUP: 0b1101_0100_1000, CLUSTER: 0b1_1111_1010_0000}
"""Every operation of a resource type, as a bit field of Kafka's codes."""


class _Everything:
    """Contains everything."""

    __slots__ = ()

    def __contains__(self, _: object) -> bool:
        return True


EVERYTHING: Final = _Everything()


def _deciding(context: RequestContext) -> Acls | None:
    """The ACLs that decide about a request; None when everything is allowed."""
    acls = context.broker.acls
    return None if acls is None or context.is_trusted else acls


def decides(context: RequestContext) -> bool:
    """Whether ACLs decide about a request; else everything is allowed. For a request of many rows, of which each would
    ask."""
    return _deciding(context) is not None


def _client(context: RequestContext) -> tuple[str, str]:
    return context.request.principal, context.request.client_host


def allows(context: RequestContext, operation: int, resource_type: int, name: str, *, is_logged: bool = True) -> bool:
    """Whether the client may do this. A refusal is logged, unless the client did not name the resource or has another
    way."""
    return name in allowed(context, operation, resource_type, (name,), is_logged=is_logged)


def allowed(
    context: RequestContext, operation: int, resource_type: int, names: Iterable[str], *, is_logged: bool = True
) -> Container[str]:
    """Those of the resources with which the client may do this."""
    acls = _deciding(context)
    if acls is None:
        return EVERYTHING
    requested = list(names)
    found = acls.security.authorize(
        context.api.name, _client(context), operation, resource_type, requested, is_logged=is_logged
    )
    if found is None:
        return EVERYTHING
    return {name for name, is_allowed in zip(requested, found, strict=True) if is_allowed}


def allows_cluster(context: RequestContext, operation: int, *, is_logged: bool = True) -> bool:
    return allows(context, operation, CLUSTER, CLUSTER_NAME, is_logged=is_logged)


def require_cluster(context: RequestContext, operation: int) -> None:
    """Raises ClusterAuthorizationFailedError unless the client may do this with the cluster."""
    if not allows_cluster(context, operation):
        raise ClusterAuthorizationFailedError


def require_group(context: RequestContext, operation: int, group_id: str) -> None:
    """Raises GroupAuthorizationFailedError unless the client may do this with the group."""
    if not allows(context, operation, GROUP, group_id):
        raise GroupAuthorizationFailedError


def log_refused_order(context: RequestContext) -> None:
    """Logs that the client is no broker, and asked for what brokers alone may do to each other."""
    if (acls := context.broker.acls) is not None:
        acls.security.log_refused_order(context.api.name, _client(context))


def operations(context: RequestContext, resource_type: int, name: str) -> int:
    """The operations that the client may do with a resource, as a response's bit field."""
    acls = _deciding(context)
    if acls is None:
        return ALL_OPERATIONS[resource_type]
    return acls.security.authorized_operations(_client(context), resource_type, (name,))[0]
