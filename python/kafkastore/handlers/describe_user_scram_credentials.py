"""DescribeUserScramCredentials (50): there is no SCRAM for clients, so no user has credentials (KIP-554)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kafkastore.authorization.bindings import DESCRIBE
from kafkastore.errors import ErrorCode
from kafkastore.purgatory.turns import Turn
from kafkastore.requests.authorization import require_cluster

if TYPE_CHECKING:
    from kafkastore.interbroker.encoding import Unwritten
    from kafkastore.interbroker.request_types.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
    from kafkastore.requests.context import RequestContext


async def handle(context: RequestContext, request: DescribeUserScramCredentialsRequest) -> Unwritten:
    require_cluster(context, DESCRIBE)
    counts = Counter(user.name for user in request.users or ())
    results = [_result(context, name, count) async for name, count in Turn().each(counts.items())]
    return context.answer(error_code=ErrorCode.NONE, error_message="", results=results)


def _result(context: RequestContext, name: str, count: int) -> bytes:
    if count > 1:
        code = ErrorCode.DUPLICATE_RESOURCE
        message = f"Cannot describe SCRAM credentials for the same user twice in a single request: {name}"
    else:
        code = ErrorCode.RESOURCE_NOT_FOUND
        message = f"Attempt to describe a user credential that does not exist: {name}"
    return context.row(
        "DescribeUserScramCredentialsResult", user=name, error_code=code, error_message=message, credential_infos=()
    )
