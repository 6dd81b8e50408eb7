"""DescribeClientQuotas (48): the quotas of the entities that a filter matches (KIP-546).

Kafka's checks in its order, for each component: (A) an empty type, a type that came before, an unknown type; (B) a
match type that does not go with the match string. Then (C) an ip beside a user or client id.

An entity matches when each component matches a part of it; with ``strict`` the entity has no other parts. A filter
without components matches every entity, with ``strict`` none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore._core import LazyRows
from kafkastore.acl_words import DESCRIBE_CONFIGS
from kafkastore.dynamic_config.quota_entities import DEFAULT, ENTITY_TYPES
from kafkastore.errors import ErrorCode, InvalidRequestError, KafkastoreError, UnsupportedVersionError
from kafkastore.requests.authorization import require_cluster

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kafkastore._core import Unwritten
    from kafkastore.dynamic_config.quota_entities import Entity
    from kafkastore.protocol.describe_client_quotas import ComponentData, DescribeClientQuotasRequest
    from kafkastore.requests.context import RequestContext

EXACT, DEFAULT_NAME, ANY = 0, 1, 2


async def handle(context: RequestContext, request: DescribeClientQuotasRequest) -> Unwritten:
    require_cluster(context, DESCRIBE_CONFIGS)
    try:
        _check_filter(request.components)
    except KafkastoreError as error:
        return context.answer(error_code=error.code, error_message=error.client_message, entries=None)
    turn = context.turn()
    found = [
        one
        async for one in turn.each(context.broker.quotas.entities.copy().items())
        if _matches(one[0], request.components, is_strict=request.strict)
    ]

    def row(one: tuple[Entity, Mapping[str, float]]) -> bytes:
        entity, quotas = one
        return context.row(
            "EntryData",
            entity=[context.row("EntityData", entity_type=kind, entity_name=name) for kind, name in entity.parts()],
            values=[context.row("ValueData", key=key, value=value) for key, value in quotas.items()],
        )

    return context.answer(error_code=ErrorCode.NONE, error_message="", entries=LazyRows(found, row))


def _matches(entity: Entity, components: Sequence[ComponentData], *, is_strict: bool) -> bool:
    if is_strict and len(components) != len(entity.parts()):
        return False
    return all(_has(entity, component) for component in components)


def _has(entity: Entity, component: ComponentData) -> bool:
    name = entity.named(component.entity_type)
    if name is None or component.match_type == ANY:
        return name is not None
    if component.match_type == DEFAULT_NAME:
        return name == DEFAULT
    return name == component.match != DEFAULT


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
    if how == DEFAULT_NAME and match is not None:
        raise InvalidRequestError("Request specified MATCH_TYPE_DEFAULT, but also specified a match string.")  # B
    if how == ANY and match is not None:
        raise InvalidRequestError("Request specified MATCH_TYPE_SPECIFIED, but also specified a match string.")  # B
    if how not in (EXACT, DEFAULT_NAME, ANY):
        raise InvalidRequestError(f"Unknown match type {how}")  # B
