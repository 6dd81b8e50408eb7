"""AlterClientQuotas (49): sets and removes the quotas of users, client ids and addresses (KIP-546).

Translates between the wire and ``dynamic_config/quotas.py``, which owns the rules. This module checks the request as a
whole: an entity that the request has more than once, and a key that an entity has more than once. One entity's error
never fails the others.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kafkastore._core import LazyRows
from kafkastore.acl_words import ALTER_CONFIGS
from kafkastore.dynamic_config.quota_entities import Entity, entity_of
from kafkastore.errors import ErrorCode, InvalidRequestError, KafkastoreError
from kafkastore.requests.authorization import require_cluster

if TYPE_CHECKING:
    from kafkastore._core import Unwritten
    from kafkastore.protocol.alter_client_quotas import AlterClientQuotasRequest, AlterClientQuotasRequestEntryData
    from kafkastore.requests.context import RequestContext


async def handle(context: RequestContext, request: AlterClientQuotasRequest) -> Unwritten:
    require_cluster(context, ALTER_CONFIGS)
    turn = context.turn()
    counts: Counter[Entity | None] = Counter()
    async for entry in turn.each(request.entries):
        counts[_entity(entry)] += 1
    changes: dict[Entity, dict[str, float | None]] = {}
    outcomes: list[tuple[AlterClientQuotasRequestEntryData, Entity | KafkastoreError]] = []
    async for entry in turn.each(request.entries):
        try:
            entity = entity_of((one.entity_type, one.entity_name) for one in entry.entity)
            if counts[entity] > 1:
                raise InvalidRequestError(f"Ignoring duplicate entity {_shown(entity)}")
            changes[entity] = _changes(entry, entity)
        except KafkastoreError as error:
            outcomes.append((entry, error.with_traceback(None)))
        else:
            outcomes.append((entry, entity))
    refused = await context.broker.quotas.alter(changes, validate_only=request.validate_only)

    def row(outcome: tuple[AlterClientQuotasRequestEntryData, Entity | KafkastoreError]) -> bytes:
        entry, of = outcome
        error = of if isinstance(of, KafkastoreError) else refused.get(of)
        return context.row(
            "EntryData",
            error_code=ErrorCode.NONE if error is None else error.code,
            error_message=None if error is None else error.client_message,
            entity=[
                context.row("EntityData", entity_type=one.entity_type, entity_name=one.entity_name)
                for one in entry.entity
            ],
        )

    return context.answer(entries=LazyRows(outcomes, row))


def _changes(entry: AlterClientQuotasRequestEntryData, entity: Entity) -> dict[str, float | None]:
    """The entry's changes by key; None removes."""
    changes: dict[str, float | None] = {}
    for op in entry.ops:
        if op.key in changes:
            raise InvalidRequestError(
                f"Duplicate quota key {op.key} not updating quota for this entity {_shown(entity)}"
            )
        changes[op.key] = None if op.remove else op.value
    return changes


def _entity(entry: AlterClientQuotasRequestEntryData) -> Entity | None:
    """None for an entry that is refused for itself."""
    try:
        return entity_of((one.entity_type, one.entity_name) for one in entry.entity)
    except InvalidRequestError:
        return None


def _shown(entity: Entity) -> str:
    parts = ", ".join(f"{kind}={name or 'null'}" for kind, name in entity.parts())
    return f"ClientQuotaEntity(entries={{{parts}}})"
