"""RenewDelegationToken (39): as Apache Kafka answers on a listener without authentication."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from kafkastore.errors import DelegationTokenRequestNotAllowedError

if TYPE_CHECKING:
    from kafkastore.interbroker.request_types.renew_delegation_token import RenewDelegationTokenRequest
    from kafkastore.requests.context import RequestContext


async def handle(context: RequestContext, request: RenewDelegationTokenRequest) -> NoReturn:
    del context, request
    raise DelegationTokenRequestNotAllowedError
