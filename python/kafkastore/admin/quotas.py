"""Quotas of users, client ids and addresses. See ``admin_client.py``.

An entity is its parts, ``((USER, "alice"), (CLIENT_ID, None))``: a type and a name each, None for the default of the
type; the user first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkastore.admin.admin_client import WORK_MS, KafkaError, check, refusals

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kafkastore.admin.admin_client import AdminClient

USER, CLIENT_ID, IP = "user", "client-id", "ip"
ENTITY_TYPES: Final = (USER, CLIENT_ID, IP)

CLIENT_KEYS: Final = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate")
IP_KEYS: Final = ("connection_creation_rate",)

# org.apache.kafka.common.requests.DescribeClientQuotasRequest
EXACT, DEFAULT, ANY_NAME = range(3)

Entity = tuple[tuple[str, str | None], ...]


class Component(NamedTuple):
    """A part of the entities that are looked for: of one name, the default (None), or with ``is_any`` of any."""

    entity_type: str
    name: str | None = None
    is_any: bool = False


async def describe_quotas(
    client: AdminClient, components: Sequence[Component] = (), *, is_strict: bool = False
) -> dict[Entity, dict[str, float]]:
    """The quotas of every entity with these parts, ``is_strict`` for no others, in the broker's order. Raises
    KafkaError."""
    parts = [
        {
            "entity_type": one.entity_type,
            "match_type": ANY_NAME if one.is_any else DEFAULT if one.name is None else EXACT,
            "match": one.name,
        }
        for one in components
    ]

    async def attempt() -> dict[Entity, dict[str, float]]:
        answer = await client.ask_any("DescribeClientQuotas", {"components": parts, "strict": is_strict})
        check(answer)
        return {_entity(row): {one.key: one.value for one in row.values} for row in answer.entries or ()}

    return await client.until_done(attempt)


async def alter_quotas(
    client: AdminClient, changes: Mapping[Entity, Mapping[str, float | None]], *, validate_only: bool = False
) -> dict[Entity, KafkaError]:
    """Sets quotas, and removes those whose value is None; the entities that were refused, with the reasons."""

    async def attempt(asked: list[Entity]) -> dict[Entity, KafkaError]:
        rows = [
            {
                "entity": [{"entity_type": kind, "entity_name": name} for kind, name in entity],
                "ops": [
                    {"key": key, "value": value or 0.0, "remove": value is None}
                    for key, value in changes[entity].items()
                ],
            }
            for entity in asked
        ]
        fields = {"entries": rows, "validate_only": validate_only}
        answer = await client.ask_any("AlterClientQuotas", fields, timeout_ms=WORK_MS)
        return refusals((_entity(row), row) for row in answer.entries)

    return await client.settled(changes, attempt)


def _entity(row: Any) -> Entity:
    return tuple(sorted(((one.entity_type, one.entity_name) for one in row.entity), key=_place))


def _place(part: tuple[str, str | None]) -> int:
    return ENTITY_TYPES.index(part[0]) if part[0] in ENTITY_TYPES else len(ENTITY_TYPES)


def place_of(entity: Entity) -> list[tuple[int, bool, str]]:
    """Where an entity stands in a list: by type and name, the default behind the names."""
    return [(_place(part), part[1] is None, part[1] or "") for part in entity]
