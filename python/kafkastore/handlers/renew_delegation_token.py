"""RenewDelegationToken (39): as Apache Kafka answers on a listener without authentication."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkastore.errors import DelegationTokenRequestNotAllowedError

if TYPE_CHECKING:
    from kafkastore.server.context import RequestContext


async def handle(context: RequestContext, request: Any) -> Any:
    del context, request
    raise DelegationTokenRequestNotAllowedError
