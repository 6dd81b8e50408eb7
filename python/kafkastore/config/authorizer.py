"""The configuration of authorisation: whether there is an authorizer, and who may do everything.

Never: decides what a client may do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kafkastore.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

CLASS_KEY: Final = "authorizer.class.name"
SUPER_USERS_KEY: Final = "super.users"
EVERYONE_KEY: Final = "allow.everyone.if.no.acl.found"

KEYS: Final = frozenset((SUPER_USERS_KEY, EVERYONE_KEY))
"""The keys that belong to the authorizer and stand in no table of Kafka's broker keys."""

CLASSES: Final = (
    "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "kafka.security.authorizer.AclAuthorizer",
)
"""Kafka's authorizers, of Kafka 4 and of Kafka with ZooKeeper: both mean ours."""


class AuthorizerSettings(NamedTuple):
    super_users: frozenset[str]
    allows_everyone: bool


def authorizer_settings(properties: Mapping[str, str]) -> AuthorizerSettings | None:
    """None when there is no authorizer. Raises ConfigError."""
    name = properties.get(CLASS_KEY, "").strip()
    users = _super_users(properties.get(SUPER_USERS_KEY, ""))
    everyone = properties.get(EVERYONE_KEY, "false").strip().lower()
    if everyone not in ("true", "false"):
        raise ConfigError(f"{EVERYONE_KEY}={everyone} is neither true nor false; give one of them")
    if not name:
        for key in (SUPER_USERS_KEY, EVERYONE_KEY):
            if properties.get(key, "").strip():
                raise ConfigError(
                    f"{key}={properties[key].strip()} has no effect without an authorizer; set {CLASS_KEY}="
                    f"{CLASSES[0]} or remove the key"
                )
        return None
    if name not in CLASSES:
        raise ConfigError(f"{CLASS_KEY}={name} cannot be loaded; give {CLASSES[0]} or nothing")
    return AuthorizerSettings(users, everyone == "true")


def _super_users(value: str) -> frozenset[str]:
    users = [one.strip() for one in value.split(";") if one.strip()]
    for one in users:
        if ":" not in one:
            raise ConfigError(
                f"{SUPER_USERS_KEY}={value} has {one}, which names no principal; write User:{one}, and a semicolon "
                "between two principals"
            )
    return frozenset(users)
