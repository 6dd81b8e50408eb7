"""AlterClientQuotas (49): sets and removes the quotas of users, client ids and addresses (KIP-546).

Translates between the wire and ``configuration/quotas.py``, which owns the rules. This module checks the request as a
whole: an entity that the request has more than once, and a key that an entity has more than once. One entity's error
never fails the others.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kafkastore.authorization.bindings import ALTER_CONFIGS
from kafkastore.configuration.quota_entities import Entity, entity_of
from kafkastore.errors import ErrorCode, InvalidRequestError, KafkastoreError
from kafkastore.interbroker.encoding import Rows
from kafkastore.requests.authorization import require_cluster

if TYPE_CHECKING:
    from kafkastore.interbroker.encoding import Unwritten
    from kafkastore.interbroker.request_types.alter_client_quotas import AlterClientQuotasRequest, EntryData
    from kafkastore.requests.context import RequestContext


async def handle(context: RequestContext, request: AlterClientQuotasRequest) -> Unwritten:
    require_cluster(context, ALTER_CONFIGS)
    turn = context.turn()
    counts: Counter[Entity | None] = Counter()
    async for entry in turn.each(request.entries):
        counts[_entity(entry)] += 1
    outcomes: list[tuple[EntryData, KafkastoreError | None]] = []
    async for entry in turn.each(request.entries):
        try:
            await _alter(context, entry, counts, validate_only=request.validate_only)
        except KafkastoreError as error:
            outcomes.append((entry, error.with_traceback(None)))
        else:
            outcomes.append((entry, None))
    context.broker.quotas.publish()

    def row(outcome: tuple[EntryData, KafkastoreError | None]) -> bytes:
        entry, error = outcome
        return context.row(
            "EntryData",
            error_code=ErrorCode.NONE if error is None else error.code,
            error_message=None if error is None else error.client_message,
            entity=[
                context.row("EntityData", entity_type=one.entity_type, entity_name=one.entity_name)
                for one in entry.entity
            ],
        )

    return context.answer(entries=Rows(outcomes, row))


async def _alter(
    context: RequestContext, entry: EntryData, counts: Counter[Entity | None], *, validate_only: bool
) -> None:
    entity = entity_of((one.entity_type, one.entity_name) for one in entry.entity)
    if counts[entity] > 1:
        raise InvalidRequestError(f"Ignoring duplicate entity {_shown(entity)}")
    changes: dict[str, float | None] = {}
    for op in entry.ops:
        if op.key in changes:
            raise InvalidRequestError(
                f"Duplicate quota key {op.key} not updating quota for this entity {_shown(entity)}"
            )
        changes[op.key] = None if op.remove else op.value
    await context.broker.quotas.alter(entity, changes, validate_only=validate_only)


def _entity(entry: EntryData) -> Entity | None:
    """None for an entry that is refused for itself."""
    try:
        return entity_of((one.entity_type, one.entity_name) for one in entry.entity)
    except InvalidRequestError:
        return None


def _shown(entity: Entity) -> str:
    parts = ", ".join(f"{kind}={name or 'null'}" for kind, name in entity.parts())
    return f"ClientQuotaEntity(entries={{{parts}}})"
