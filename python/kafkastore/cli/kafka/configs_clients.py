"""``kafka-configs`` of users, clients and addresses: quotas and SCRAM credentials."""

from __future__ import annotations

import re
import socket
from typing import TYPE_CHECKING, Final

from kafkastore.cli.kafka.configs_command import ConfigCommand, ConfigCommandError, Entity
from kafkastore.cli.kafka.flags import int32
from kafkastore.cli.kafka.java_order import java_double, java_hash, map_order, sized
from kafkastore.cli.kafka.run import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kafkastore.admin import quotas
    from kafkastore.admin.admin_client import AdminClient

PARTS: Final = {"users": "user", "clients": "client-id", "ips": "ip"}
"""The types of a quota's entities by kafka-configs' types."""
SHOWN: Final = {"user": "user-principal", "client-id": "client-id", "ip": "ip"}
CREDENTIAL: Final = re.compile(r"(?:iterations=(-?[0-9]*),)?password=(.*)")
DEFAULT_ITERATIONS: Final = "-1"
CODE_OF_ONE: Final = 31


def check_address(name: str) -> None:
    """Raises ConfigCommandError."""
    try:
        socket.getaddrinfo(name, None)
    except (OSError, UnicodeError):
        raise ConfigCommandError(
            f"The entity name for ips must be a valid IP or resolvable host, but it is: {name}"
        ) from None


# ---- changes
async def alter(client: AdminClient, command: ConfigCommand) -> None:
    """Raises ConfigCommandError, KafkaError."""
    from kafkastore.admin.quotas import CLIENT_KEYS, IP_KEYS
    from kafkastore.admin.scram import NUMBERS

    keys = [*command.added, *command.removed]
    if command.types == ["ips"]:
        wrong = [one for one in keys if one not in IP_KEYS]
        if wrong:
            raise ConfigCommandError(
                "Only connection quota configs can be added for 'ips' using --bootstrap-server. Unexpected config "
                f"names: {','.join(wrong)}"
            )
        await _alter_quotas(client, command)
        return
    _check_keys(command, "added", command.added, CLIENT_KEYS, NUMBERS)
    _check_keys(command, "deleted", command.removed, CLIENT_KEYS, NUMBERS)
    scram = [one for one in keys if one in NUMBERS]
    if not scram:
        await _alter_quotas(client, command)
        return
    if not command.entities[0].name:
        raise ConfigCommandError(
            "The use of --entity-default or --user-defaults is not allowed with User SCRAM Credentials using "
            "--bootstrap-server."
        )
    if len(scram) < len(keys):
        raise ConfigCommandError(
            "Cannot alter both quota and SCRAM credential configs simultaneously for 'users' using --bootstrap-server."
        )
    await _alter_credentials(client, command, command.entities[0].name)


def _check_keys(
    command: ConfigCommand, done: str, given: Iterable[str], quota_keys: Sequence[str], mechanisms: Iterable[str]
) -> None:
    """Raises ConfigCommandError."""
    is_client = "clients" in command.types
    known = set(quota_keys) if is_client else {*quota_keys, *mechanisms}
    wrong = [one for one in given if one not in known]
    if wrong:
        what, kind = ("quota", "clients") if is_client else ("quota and SCRAM credential", "users")
        raise ConfigCommandError(
            f"Only {what} configs can be {done} for '{kind}' using --bootstrap-server. Unexpected config names: "
            f"{','.join(wrong)}"
        )


async def _alter_quotas(client: AdminClient, command: ConfigCommand) -> None:
    """Raises ConfigCommandError, KafkaError."""
    from kafkastore.admin.quotas import ENTITY_TYPES, alter_quotas, describe_quotas

    found = await describe_quotas(client, [_component(one) for one in command.entities], is_strict=True)
    before = next(iter(found.values()), {})
    wrong = [one for one in command.removed if one not in before]
    if wrong:
        raise ConfigCommandError(f"Invalid config(s): {','.join(wrong)}")
    parts = {PARTS[one.type]: one.name or None for one in command.entities}
    entity = tuple((kind, parts[kind]) for kind in ENTITY_TYPES if kind in parts)
    changes: dict[str, float | None] = {key: _number(key, text) for key, text in command.added.items()}
    changes |= dict.fromkeys(command.removed)
    for error in (await alter_quotas(client, {entity: changes})).values():
        raise error


def _number(key: str, text: str) -> float:
    """Raises ConfigCommandError."""
    try:
        return float(text)
    except ValueError:
        raise ConfigCommandError(f"Cannot parse quota configuration value for {key}: {text}") from None


async def _alter_credentials(client: AdminClient, command: ConfigCommand, user: str) -> None:
    """Raises ConfigCommandError, KafkaError."""
    from kafkastore.admin.scram import ITERATIONS, Deletion, Upsertion, alter_users

    upsertions = []
    for mechanism, text in command.added.items():
        match = CREDENTIAL.fullmatch(text)
        if match is None:
            raise ConfigCommandError(f"Invalid credential property {mechanism}=...; write [password=secret]")
        try:
            iterations = ITERATIONS if match[1] in (None, "", DEFAULT_ITERATIONS) else int32(match[1])
        except ValueError:
            raise ConfigCommandError(
                f"iterations={match[1]} of {mechanism} is no number of Kafka's; give one"
            ) from None
        if iterations < ITERATIONS:
            raise ConfigCommandError(
                f"Iterations {iterations} is less than the minimum {ITERATIONS} required for {mechanism}"
            )
        upsertions.append(Upsertion(user, mechanism, match[2], iterations))
    deletions = [Deletion(user, mechanism) for mechanism in command.removed]
    for error in (await alter_users(client, upsertions, deletions)).values():
        raise error


# ---- describe
async def describe(client: AdminClient, command: ConfigCommand) -> None:
    """Raises KafkaError."""
    from kafkastore.admin.admin_client import KafkaError
    from kafkastore.admin.quotas import describe_quotas
    from kafkastore.admin.scram import describe_users, is_missing

    found = await describe_quotas(client, [_component(one) for one in command.entities], is_strict=True)
    for entity in map_order(found, _code, sized(len(found))):
        _print_quota(entity, found[entity])
    user = command.entities[0]
    if command.types != ["users"] or user.name == "":
        return
    for name, credentials in (await describe_users(client, None if user.name is None else [user.name])).items():
        if is_missing(credentials):
            continue
        if isinstance(credentials, KafkaError):
            error = f"{credentials.java_class}: {credentials}"
            say(f"Error retrieving SCRAM credential configs for user-principal '{name}': {error}")
            continue
        shown = ", ".join(f"{one.mechanism}=iterations={one.iterations}" for one in credentials)
        say(f"SCRAM credential configs for user-principal '{name}' are {shown}")


def _component(entity: Entity) -> quotas.Component:
    from kafkastore.admin.quotas import Component

    return Component(PARTS[entity.type], entity.name or None, is_any=entity.name is None)


def _print_quota(entity: quotas.Entity, values: Mapping[str, float]) -> None:
    of = ", ".join(f"the default {SHOWN[kind]}" if name is None else f"{SHOWN[kind]} '{name}'" for kind, name in entity)
    keys = map_order(values, java_hash, sized(len(values)))
    say(f"Quota configs for {of} are {', '.join(f'{key}={java_double(values[key])}' for key in keys)}")


def _code(entity: quotas.Entity) -> int:
    """Its hash code in Java."""
    return CODE_OF_ONE + sum(java_hash(kind) ^ java_hash(name) for kind, name in entity) & 0xFFFFFFFF
