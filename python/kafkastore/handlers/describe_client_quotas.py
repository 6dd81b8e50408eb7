"""DescribeClientQuotas (48): there are no quotas, so a filter that Kafka understands finds none (KIP-546).

Kafka's checks in its order, for each component: (A) an empty type, a type that came before, an unknown type; (B) a
match type that does not go with the match string. Then (C) an ip beside a user or client id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkastore.authorization.bindings import DESCRIBE_CONFIGS
from kafkastore.errors import ErrorCode, InvalidRequestError, KafkastoreError, UnsupportedVersionError
from kafkastore.requests.authorization import require_cluster

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkastore.interbroker.encoding import Unwritten
    from kafkastore.interbroker.request_types.describe_client_quotas import ComponentData, DescribeClientQuotasRequest
    from kafkastore.requests.context import RequestContext

ENTITY_TYPES: Final = ("user", "client-id", "ip")
EXACT, DEFAULT, ANY = 0, 1, 2


async def handle(context: RequestContext, request: DescribeClientQuotasRequest) -> Unwritten:
    require_cluster(context, DESCRIBE_CONFIGS)
    try:
        _check_filter(request.components)
    except KafkastoreError as error:
        return context.answer(error_code=error.code, error_message=error.client_message, entries=None)
    return context.answer(error_code=ErrorCode.NONE, error_message="", entries=())


def _check_filter(components: Sequence[ComponentData]) -> None:
    kinds: set[str] = set()
    for component in components:  # ends at the fourth at the latest: a type may come once
        _check(component, kinds)
        kinds.add(component.entity_type)
    if "ip" in kinds and len(kinds) > 1:  # C
        raise InvalidRequestError(
            "Invalid entity filter component combination. IP filter component should not be used with user or clientId "
            "filter component."
        )


def _check(component: ComponentData, before: set[str]) -> None:
    kind, how, match = component.entity_type, component.match_type, component.match
    if not kind:
        raise InvalidRequestError("Invalid empty entity type.")  # A
    if kind in before:
        raise InvalidRequestError(f"Entity type {kind} cannot appear more than once in the filter.")  # A
    if kind not in ENTITY_TYPES:
        raise UnsupportedVersionError(f"Unsupported entity type {kind}")  # A
    if how == EXACT and match is None:
        raise InvalidRequestError("Request specified MATCH_TYPE_EXACT, but set match string to null.")  # B
    if how == DEFAULT and match is not None:
        raise InvalidRequestError("Request specified MATCH_TYPE_DEFAULT, but also specified a match string.")  # B
    if how == ANY and match is not None:
        raise InvalidRequestError("Request specified MATCH_TYPE_SPECIFIED, but also specified a match string.")  # B
    if how not in (EXACT, DEFAULT, ANY):
        raise InvalidRequestError(f"Unknown match type {how}")  # B
