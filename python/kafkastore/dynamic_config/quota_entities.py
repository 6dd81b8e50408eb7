"""Whom a quota is for, where the metadata store keeps it, and which values a quota may have (KIP-546).

An entity is a user, a client id, both, or an address, each with a name or as the default. Kafka's layout::

    entity            node
    user              /config/users/<user>
    user, client id   /config/users/<user>/clients/<client id>
    client id         /config/clients/<client id>
    address           /config/ips/<ip>

A name is written as Kafka's ``Sanitizer`` does (percent-encoded UTF-8), the default as ``<default>``. No I/O.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkastore.dynamic_config.entity_names import check_name_length, desanitize, sanitize
from kafkastore.errors import InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"
ENTITY_TYPES: Final = (USER, CLIENT_ID, IP)

DEFAULT: Final = ""
"""The name of the default in an :class:`Entity`; no user, client id or address is empty."""

DEFAULT_NODE: Final = "<default>"

_INTEGRAL_LIMITS: Final = {
    "producer_byte_rate": ("LONG", 2.0**63),
    "consumer_byte_rate": ("LONG", 2.0**63),
    "connection_creation_rate": ("INT", 2.0**31 - 1),
}
"""Kafka's type and largest value of the keys that are whole numbers."""

REQUEST_KEY: Final = "request_percentage"
DATA_PLANE_KEYS: Final = frozenset(("producer_byte_rate", "consumer_byte_rate", REQUEST_KEY))
MUTATION_KEY: Final = "controller_mutation_rate"
CONNECTION_KEY: Final = "connection_creation_rate"

_CLIENT_KEYS: Final = DATA_PLANE_KEYS | {MUTATION_KEY}
_IP_KEYS: Final = frozenset((CONNECTION_KEY,))


class Entity(NamedTuple):
    """Whom a quota is for. None: not part of the entity; :data:`DEFAULT`: the default."""

    user: str | None = None
    client_id: str | None = None
    ip: str | None = None

    def named(self, kind: str) -> str | None:
        """The name of a part; None when the entity has no part of the type."""
        return self[ENTITY_TYPES.index(kind)]

    def parts(self) -> list[tuple[str, str | None]]:
        """(type, name) of each part, as the protocol has them: the default has no name."""
        named = zip(ENTITY_TYPES, self, strict=True)
        return [(kind, name or None) for kind, name in named if name is not None]

    @property
    def keys(self) -> frozenset[str]:
        """The keys of quotas that the entity may have."""
        return _IP_KEYS if self.ip is not None else _CLIENT_KEYS

    @property
    def kind(self) -> str:
        """The node below ``/config`` that its own node is in."""
        if self.ip is not None:
            return "ips"
        return "users" if self.user is not None else "clients"

    @property
    def name(self) -> str:
        """The path of its node below :attr:`kind`."""
        if self.ip is not None:
            return _node_of(self.ip)
        if self.user is None:
            return _node_of(self.client_id or DEFAULT)
        user = _node_of(self.user)
        return user if self.client_id is None else f"{user}/clients/{_node_of(self.client_id)}"


def entity_of(parts: Iterable[tuple[str, str | None]]) -> Entity:
    """The entity of the protocol's (type, name). Raises InvalidRequestError."""
    found: dict[str, str] = {}
    for kind, name in parts:
        if kind in found:
            raise InvalidRequestError(f"Invalid empty client quota entity, duplicate entity entry {kind}")
        if kind not in ENTITY_TYPES:
            raise InvalidRequestError(f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise InvalidRequestError(f"Empty {kind} not supported")
        if name in (".", ".."):
            raise InvalidRequestError(f"The {kind} {name} is no name that the metadata store can keep")
        check_name_length(kind, name or "")
        found[kind] = DEFAULT if name is None else name
    if not found or (IP in found and len(found) > 1):
        raise InvalidRequestError("Invalid empty client quota entity")
    return Entity(found.get(USER), found.get(CLIENT_ID), found.get(IP))


def entity_at(kind: str, name: str) -> Entity | None:
    """The entity of a node ``name`` below ``/config/<kind>``; None for a node that belongs to no entity."""
    steps = name.split("/")
    if kind == "users" and len(steps) == 3 and steps[1] == "clients":
        return Entity(_name_of(steps[0]), _name_of(steps[2]))
    if len(steps) != 1 or not name:
        return None
    if kind == "users":
        return Entity(user=_name_of(name))
    return Entity(client_id=_name_of(name)) if kind == "clients" else Entity(ip=_name_of(name))


def check_value(entity: Entity, key: str, value: float) -> None:
    """Raises InvalidRequestError for a key that the entity may not have, or a value that the key may not have."""
    if key not in entity.keys:
        raise InvalidRequestError(f"Invalid configuration key {key}")
    if not value > 0.0:  # NaN, too
        raise InvalidRequestError(f"Quota {key} must be greater than 0")
    if value == math.inf:
        raise InvalidRequestError(f"Quota {key} must be a finite number")
    if key in _INTEGRAL_LIMITS:
        number, most = _INTEGRAL_LIMITS[key]
        if value > most:
            raise InvalidRequestError(f"Proposed value for {key} is too large for {_article(number)} {number}.")
        if value % 1.0 > 1e-6 or value < 1:
            raise InvalidRequestError(f"{key} cannot be a fractional value.")


def value_text(key: str, value: float) -> str:
    """A value as the store has it: Kafka writes whole numbers for the keys that are such."""
    return str(int(value)) if key in _INTEGRAL_LIMITS else repr(float(value))


def quotas_in(entity: Entity, configs: Mapping[str, str]) -> dict[str, float]:
    """The quotas among a node's keys; other keys (credentials of users) are left out. Raises ValueError for a value
    that is no number."""
    return {key: float(configs[key]) for key in sorted(entity.keys) if key in configs}


def _article(number: str) -> str:
    return "an" if number == "INT" else "a"


def _node_of(name: str) -> str:
    return sanitize(name) if name else DEFAULT_NODE


def _name_of(node: str) -> str:
    return DEFAULT if node == DEFAULT_NODE else desanitize(node)
