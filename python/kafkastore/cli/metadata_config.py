"""``kafkastore metadata config`` and ``remove-config``: the configurations that a metadata store has, whether or not a
broker runs, and which of them have no effect since they are wrong."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING, Final

from kafkastore.config.broker_values import check_broker_value
from kafkastore.config.client_metrics import SUBSCRIPTION_KEYS, validate_subscription
from kafkastore.config.definitions import group_keys
from kafkastore.dynamic_config.broker_configs import DEFAULT_BROKER
from kafkastore.dynamic_config.config_nodes import edit_nodes
from kafkastore.dynamic_config.named_configs import CLIENT_METRICS, GROUPS
from kafkastore.dynamic_config.quota_entities import entity_at, quotas_in
from kafkastore.dynamic_config.scram_credentials import MECHANISMS, decode_credential
from kafkastore.errors import ConfigError, InvalidRequestError, KafkastoreError
from kafkastore.metadata.node_content import InvalidNodeError
from kafkastore.metadata.nodes import decode_config
from kafkastore.metadata.opening import open_store
from kafkastore.metadata.store import NoNodeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kafkastore.config import BrokerConfig
    from kafkastore.metadata.store import MetadataStore

KINDS: Final = ("brokers", "topics", "users", "clients", "ips", GROUPS, CLIENT_METRICS)
_KIND_IS: Final = f"KIND is one of {', '.join(KINDS)}"
_DEFAULT: Final = "default"
"""Taken for the default of all brokers, whose name a shell would take for a redirection."""
_HIDDEN: Final = "[hidden]"


class RemoveConfigError(KafkastoreError):
    """A reason to remove nothing."""


def show(config: BrokerConfig) -> int:
    """Prints a line for each pair; 1 when one is wrong."""
    return asyncio.run(_show(config))


def remove(config: BrokerConfig, operand: str) -> None:
    """Removes one key of one entity."""
    entity, _, key = operand.rpartition(":")
    kind, _, name = entity.partition("/")
    if not kind or not name or not key or not all(name.split("/")):
        raise RemoveConfigError(
            f"{_shown(operand)} names no key; give KIND/NAME:KEY, as in brokers/1:log.roll.ms; {_KIND_IS}"
        )
    if kind not in KINDS:
        raise RemoveConfigError(f"{_shown(operand)} names no kind of configurations, {_shown(kind)}; {_KIND_IS}")
    removed = asyncio.run(_remove(config, kind, name, key))
    sys.stdout.write(f"{removed} is removed\n")


def _shown(text: str) -> str:
    """The text as it is, or, where a terminal might not print it, as a literal of Python."""
    return text if text.isprintable() else ascii(text)


async def _show(config: BrokerConfig) -> int:
    store = _open(config)
    await store.connect()
    try:
        wrong = 0
        for kind in KINDS:
            for line, is_wrong in _lines(config, kind, await _nodes(store, kind)):
                sys.stdout.write(line + "\n")
                wrong += is_wrong
    finally:
        await store.close()
    if wrong:
        sys.stderr.write(
            f"kafkastore metadata config: {wrong} of these have no effect; remove them with: metadata remove-config\n"
        )
    return 1 if wrong else 0


def _open(config: BrokerConfig) -> MetadataStore:
    """Never makes a store."""
    if config.get("zookeeper.connect") is None and not os.path.exists(config.metadata_path):
        raise RemoveConfigError(
            f"{config.metadata_setting}: {config.metadata_path} is not there; name the broker's file"
        )
    return open_store(config)


async def _nodes(store: MetadataStore, kind: str) -> dict[str, dict[str, str] | None]:
    """By name; None for one that is malformed."""
    root = f"/config/{kind}"
    found: dict[str, dict[str, str] | None] = {}
    try:
        tree = sorted(await store.get_tree(root))
    except NoNodeError:
        return {}
    for path, data, _ in tree:
        try:
            found[path[len(root) + 1 :]] = decode_config(data)
        except InvalidNodeError:  # without the error, which has a part of the node
            found[path[len(root) + 1 :]] = None
    return found


def _lines(config: BrokerConfig, kind: str, nodes: Mapping[str, dict[str, str] | None]) -> Iterator[tuple[str, bool]]:
    """(line, whether it has no effect)"""
    for name, pairs in nodes.items():
        if pairs is None:
            yield f"{kind}/{_shown(name)}: malformed", True
            continue
        judge = _as_broker(config, name, nodes) if kind == "brokers" else config
        for key, value in pairs.items():
            reason = _wrong(judge, kind, name, key, value)
            shown = _HIDDEN if _is_secret(config, kind, key) else _shown(value)
            line = f"{kind}/{_shown(name)}:{_shown(key)}={shown}"
            yield line + (f"  # no effect: {_shown(reason)}" if reason else ""), bool(reason)


def _as_broker(config: BrokerConfig, name: str, nodes: Mapping[str, dict[str, str] | None]) -> BrokerConfig:
    """The configuration of a broker with what the store has, as far as each value is of its type; of this broker for
    what is of all."""
    own = str(config.node_id) if name == DEFAULT_BROKER else name
    default, broker = (
        {
            key: value
            for key, value in (nodes.get(node) or {}).items()
            if key in config.keys and not _type_error(config, key, value)
        }
        for node in (DEFAULT_BROKER, own)
    )
    return config.changed(default=default, broker=broker)


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
        elif kind in (GROUPS, CLIENT_METRICS):
            keys = group_keys() if kind == GROUPS else SUBSCRIPTION_KEYS
            if key not in keys:
                return "there is no such key"
            keys[key].parse(value)
            if kind == CLIENT_METRICS:
                validate_subscription({key: value})
        else:
            entity = entity_at(kind, name)
            if entity is not None and key in entity.keys:
                quotas_in(entity, {key: value})
            elif kind == "users" and key in MECHANISMS.values():
                decode_credential(value)
    except (ConfigError, InvalidRequestError) as error:
        return str(error.client_message)
    except (ValueError, KeyError):  # without the error, which may have a part of a credential
        return "it is malformed"
    return ""


def _is_secret(config: BrokerConfig, kind: str, key: str) -> bool:
    if kind == "users":
        return key.startswith("SCRAM-")
    return kind == "brokers" and (key not in config.keys or config.keys[key].is_sensitive)


async def _remove(config: BrokerConfig, kind: str, name: str, key: str) -> str:
    """Returns what was removed, as it is shown."""

    def without(found: dict[str, str]) -> dict[str, str]:
        there = _named(key, found)
        if there is None:
            raise RemoveConfigError(f"{kind}/{_shown(node)} has no {_shown(key)}; see metadata config")
        del found[there]
        return found

    store = _open(config)
    await store.connect()
    try:
        nodes = await _nodes(store, kind)
        node = _named(name, nodes) or name
        if (kind, node) == ("brokers", _DEFAULT) and node not in nodes:
            node = DEFAULT_BROKER
        (outcome,) = (await edit_nodes(store, kind, {node: without})).values()
    finally:
        await store.close()
    if isinstance(outcome, KafkastoreError):
        raise outcome
    return f"{kind}/{_shown(node)}:{_shown(key)}"


def _named(given: str, there: Iterable[str]) -> str | None:
    """The name or key that is given as it is, or as it is shown."""
    return next((one for one in there if given in (one, _shown(one))), None)
