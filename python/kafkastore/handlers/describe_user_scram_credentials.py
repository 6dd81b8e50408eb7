"""DescribeUserScramCredentials (50): which mechanisms of SCRAM users have credentials for, and their iterations
(KIP-554). Without users, or with an empty list, all users are described. No answer has a salt or a key.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kafkastore._core import LazyRows
from kafkastore.acl_words import DESCRIBE
from kafkastore.errors import ErrorCode
from kafkastore.requests.authorization import require_cluster

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkastore._core import Unwritten
    from kafkastore.dynamic_config.scram_credentials import Credential
    from kafkastore.protocol.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
    from kafkastore.requests.context import RequestContext


async def handle(context: RequestContext, request: DescribeUserScramCredentialsRequest) -> Unwritten:
    require_cluster(context, DESCRIBE)
    known = context.broker.scram_credentials.known
    counts = Counter(user.name for user in request.users or ()) or dict.fromkeys(known, 1)

    def row(name: str) -> bytes:
        return _result(context, name, counts[name], known.get(name))

    return context.answer(error_code=ErrorCode.NONE, error_message="", results=LazyRows(list(counts), row))


def _result(context: RequestContext, name: str, count: int, found: Mapping[int, Credential] | None) -> bytes:
    code, message = ErrorCode.NONE, ""
    if count > 1:
        code = ErrorCode.DUPLICATE_RESOURCE
        message = f"Cannot describe SCRAM credentials for the same user twice in a single request: {name}"
    elif not found:
        code = ErrorCode.RESOURCE_NOT_FOUND
        message = f"Attempt to describe a user credential that does not exist: {name}"
    infos = [
        context.row("CredentialInfo", mechanism=mechanism, iterations=one.iterations)
        for mechanism, one in sorted((found or {}).items())
    ]
    return context.row(
        "DescribeUserScramCredentialsResult",
        user=name,
        error_code=code,
        error_message=message,
        credential_infos=() if code else infos,
    )
