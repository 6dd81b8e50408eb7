"""``kafkastore metadata config`` and ``remove-config``: the configurations that a metadata store has, whether or not a
broker runs, and which of them have no effect since they are wrong."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Final

from kafkastore.config.broker_values import check_broker_value
from kafkastore.configuration.config_nodes import edit_nodes
from kafkastore.configuration.dynamic_configs import DEFAULT_BROKER
from kafkastore.configuration.quota_entities import entity_at, quotas_in
from kafkastore.errors import ConfigError, KafkastoreError
from kafkastore.metadata.node_content import InvalidNodeError
from kafkastore.metadata.nodes import decode_config
from kafkastore.metadata.opening import open_store
from kafkastore.metadata.store import NoNodeError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from kafkastore.config import BrokerConfig
    from kafkastore.metadata.store import MetadataStore

KINDS: Final = ("brokers", "topics", "users", "clients", "ips")
_HIDDEN: Final = "[hidden]"


class RemoveConfigError(KafkastoreError):
    """A reason to remove nothing."""


def show(config: BrokerConfig, _: str) -> int:
    """Prints a line for each pair; 1 when one is wrong."""
    return asyncio.run(_show(config))


def remove(config: BrokerConfig, operand: str) -> int:
    """Removes one key of one entity."""
    entity, _, key = operand.rpartition(":")
    kind, _, name = entity.partition("/")
    if kind not in KINDS or not name or not key or not all(name.split("/")):
        raise RemoveConfigError(f"{operand} names no key; give KIND/NAME:KEY, as in brokers/1:log.roll.ms")
    asyncio.run(_remove(config, kind, name, key))
    sys.stdout.write(f"{operand} is removed\n")
    return 0


async def _show(config: BrokerConfig) -> int:
    store = open_store(config)
    await store.connect()
    try:
        wrong = 0
        for kind in KINDS:
            async for line, is_wrong in _lines(config, store, kind):
                sys.stdout.write(line + "\n")
                wrong += is_wrong
    finally:
        await store.close()
    if wrong:
        sys.stderr.write(f"kafkastore: {wrong} of these have no effect; remove them with: metadata remove-config\n")
    return 1 if wrong else 0


async def _lines(config: BrokerConfig, store: MetadataStore, kind: str) -> AsyncIterator[tuple[str, bool]]:
    """(line, whether the pair has no effect)"""
    root = f"/config/{kind}"
    try:
        tree = sorted(await store.get_tree(root))
    except NoNodeError:
        return
    for path, data, _ in tree:
        name = path[len(root) + 1 :]
        if not name:
            continue
        try:
            pairs = decode_config(data)
        except InvalidNodeError as error:
            yield f"{kind}/{name}: malformed: {error}", True
            continue
        together = _with(config, kind, name, pairs)
        for key, value in pairs.items():
            reason = _wrong(together, kind, name, key, value)
            shown = _HIDDEN if _is_secret(config, kind, key) else value
            yield f"{kind}/{name}:{key}={shown}" + (f"  # no effect: {reason}" if reason else ""), bool(reason)


def _with(config: BrokerConfig, kind: str, name: str, pairs: dict[str, str]) -> BrokerConfig:
    """The configuration of a broker with these pairs, as far as each of them is of its type."""
    if kind != "brokers":
        return config
    right = {key: value for key, value in pairs.items() if key in config.keys and not _type_error(config, key, value)}
    return config.changed(default=right) if name == DEFAULT_BROKER else config.changed(broker=right)


def _type_error(config: BrokerConfig, key: str, value: str) -> str:
    try:
        config.keys[key].parse(value)
    except ConfigError as error:
        return str(error.client_message)
    return ""


def _wrong(config: BrokerConfig, kind: str, name: str, key: str, value: str) -> str:
    """Why a pair has no effect; empty when it has one."""
    try:
        if kind == "brokers":
            if key not in config.keys:
                return "there is no such key"
            check_broker_value(config, key, value)
        elif kind == "topics":
            known = config.topic_keys().get(key)
            if known is None:
                return "there is no such key"
            known.parse(value)
        else:
            entity = entity_at(kind, name)
            if entity is not None and key in entity.keys:
                quotas_in(entity, {key: value})
    except ConfigError as error:
        return str(error.client_message)
    except ValueError as error:
        return str(error)
    return ""


def _is_secret(config: BrokerConfig, kind: str, key: str) -> bool:
    if kind == "users":
        return key.startswith("SCRAM-")
    return kind == "brokers" and (key not in config.keys or config.keys[key].is_sensitive)


async def _remove(config: BrokerConfig, kind: str, name: str, key: str) -> None:
    def without(found: dict[str, str]) -> dict[str, str]:
        if found.pop(key, None) is None:
            raise RemoveConfigError(f"{kind}/{name} has no {key}; see metadata config")
        return found

    store = open_store(config)
    await store.connect()
    try:
        (outcome,) = (await edit_nodes(store, kind, {name: without})).values()
    finally:
        await store.close()
    if isinstance(outcome, KafkastoreError):
        raise outcome
