"""The quotas of clients: read from the metadata store, in force on this broker, changed by AlterClientQuotas (KIP-546).

Each node of ``quota_entities.py`` may have other keys beside its quotas (a user's node has credentials): a change keeps
them (``config_nodes.py``). The broker that was asked takes the change over before it answers, the others when their
watch of the notices fires (``changes.py``). What is put into force is what has changed.

The data plane gets the limits of bytes, request time and connections; ``mutation_quotas.py`` has those of the
controller. A host's name is looked up when its quota is read (``hosts.py``). Runs on the loop.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Final

from kafkastore.dynamic_config.config_nodes import ConcurrentChanges, edit_nodes, take_over
from kafkastore.dynamic_config.hosts import Hosts
from kafkastore.dynamic_config.quota_entities import (
    CONNECTION_KEY,
    DATA_PLANE_KEYS,
    MUTATION_KEY,
    REQUEST_KEY,
    Entity,
    check_value,
    entity_at,
    quotas_in,
    value_text,
)
from kafkastore.errors import InvalidRequestError, KafkastoreError
from kafkastore.metadata.node_content import InvalidNodeError
from kafkastore.metadata.nodes import decode_config
from kafkastore.metadata.store import NoNodeError
from kafkastore.purgatory.turns import Turn

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from kafkastore._core import Engine
    from kafkastore.dynamic_config.changes import ConfigChanges
    from kafkastore.dynamic_config.mutation_quotas import MutationQuotas
    from kafkastore.metadata.store import MetadataStore

logger = logging.getLogger("kafkastore.dynamic_config.quotas")

KINDS: Final = ("users", "clients", "ips")

SOON_S: Final = 0.1
"""How long the addresses of hosts that were looked up wait for those of others."""


class ClientQuotas:
    """See the module. ``entities`` are the entities that have quotas, with their quotas by key."""

    def __init__(
        self, store: MetadataStore, engine: Engine, config_changes: ConfigChanges, mutations: MutationQuotas
    ) -> None:
        self._store = store
        self._engine = engine
        self.mutations = mutations
        self.entities: dict[Entity, dict[str, float]] = {}
        self._hosts = Hosts()
        self._changed: set[Entity] = set()
        """What is not in force yet."""
        self._are_all_changed = False
        self._is_publishing_soon = False
        self._meanwhile = {kind: ConcurrentChanges() for kind in KINDS}
        self._request_limits: set[Entity] = set()
        """Whose request time is limited."""
        for kind in KINDS:
            config_changes.follow(kind, f"/config/{kind}", partial(self.take, kind), partial(self.reload_all, kind))

    @property
    def has_request_limits(self) -> bool:
        """Whether any client's request time is limited."""
        return bool(self._request_limits)

    async def reload_all(self, kind: str) -> None:
        """Reads the quotas of all nodes of a kind."""
        root = f"/config/{kind}"
        found: dict[Entity, dict[str, float]] = {}
        with self._meanwhile[kind].names() as taken:
            async for path, data, _ in Turn().each(await self._tree(root)):
                entity = entity_at(kind, path[len(root) + 1 :])
                if entity is not None and (quotas := _quotas_at(path, entity, data)):
                    found[entity] = quotas
            newer = {entity for name in taken if (entity := entity_at(kind, name)) is not None}
        kept = {entity: own for entity, own in self.entities.items() if entity.kind != kind or entity in newer}
        found = {entity: quotas for entity, quotas in found.items() if entity not in newer} | kept
        if found != self.entities:
            self.entities, self._are_all_changed = found, True
        for entity in found:
            if entity.kind == kind:
                self._look_up(entity)
        self.publish()

    def take(self, kind: str, found: Mapping[str, bytes | None]) -> None:
        """Takes over what nodes have now."""
        self._meanwhile[kind].note(found)
        for name, data in found.items():
            entity = entity_at(kind, name)
            if entity is None:
                continue
            self._note(entity, {} if data is None else _quotas_at(f"/config/{kind}/{name}", entity, data))
            if entity in self.entities:
                self._look_up(entity)
        self.publish()

    async def alter(
        self, changes: Mapping[Entity, Mapping[str, float | None]], *, validate_only: bool = False
    ) -> dict[Entity, KafkastoreError]:
        """Sets or, for None, removes quotas of entities; of each all or none. They are in force here when this returns.
        Returns why entities were refused."""
        refused: dict[Entity, KafkastoreError] = {}
        async for entity, wanted in Turn().each(changes.items()):
            try:
                _check(entity, wanted)
            except InvalidRequestError as error:
                refused[entity] = error.with_traceback(None)
        hosts = {entity.ip: entity for entity in changes if entity not in refused and entity.ip}
        async with self._hosts.checked(list(hosts)) as unknown:
            for host in unknown:
                refused[hosts[host]] = InvalidRequestError(f"{host} is not a valid IP or resolvable host.")
            if validate_only:
                return refused
            self._changed.update(entity for entity in hosts.values() if entity not in refused)  # other addresses
            by_kind: dict[str, dict[str, Entity]] = {}
            async for entity in Turn().each([one for one in changes if one not in refused]):
                by_kind.setdefault(entity.kind, {})[entity.name] = entity
            for kind in KINDS:
                named = by_kind.get(kind, {})
                if not named:
                    continue
                edits = {name: partial(_changed, changes[entity]) for name, entity in named.items()}
                outcomes = await edit_nodes(self._store, kind, edits)
                written: dict[str, dict[str, str]] = {}
                for name, outcome in outcomes.items():
                    if isinstance(outcome, KafkastoreError):
                        refused[named[name]] = outcome
                    else:
                        written[name] = outcome
                await take_over(self._store, f"/config/{kind}", written, partial(self.take, kind))
            self.publish()
        return refused

    def publish(self) -> None:
        """Puts what was read and altered into force on this broker."""
        if self._are_all_changed:
            self._publish(self.entities, is_whole=True)
        elif self._changed:
            self._publish(self._changed, is_whole=False)
        self._changed.clear()
        self._are_all_changed = False

    def _note(self, entity: Entity, quotas: dict[str, float]) -> None:
        if quotas == self.entities.get(entity, {}):
            return
        self._changed.add(entity)
        if quotas:
            self.entities[entity] = quotas
        else:
            del self.entities[entity]

    def _look_up(self, entity: Entity) -> None:
        def note() -> None:
            self._changed.add(entity)
            if not self._is_publishing_soon:  # a start looks thousands up, and each publication has all addresses
                self._is_publishing_soon = True
                asyncio.get_running_loop().call_later(SOON_S, publish)

        def publish() -> None:
            self._is_publishing_soon = False
            self.publish()

        if entity.ip:
            self._hosts.look_up(entity.ip, note)

    async def _tree(self, path: str) -> Iterable[tuple[str, bytes, int]]:
        try:
            return await self._store.get_tree(path)
        except NoNodeError:
            return ()

    def _publish(self, changed: Collection[Entity], *, is_whole: bool) -> None:
        if is_whole:
            self._request_limits.clear()
        of_clients = {entity: self.entities.get(entity, {}) for entity in changed if entity.ip is None}
        for entity, quotas in of_clients.items():
            if REQUEST_KEY in quotas:
                self._request_limits.add(entity)
            else:
                self._request_limits.discard(entity)
        if of_clients or is_whole:
            rows = [
                (entity.user, entity.client_id, key, quotas.get(key))
                for entity, quotas in of_clients.items()
                for key in DATA_PLANE_KEYS
            ]
            self._engine.quotas().publish(rows, is_whole=is_whole)
            limits = {entity: quotas.get(MUTATION_KEY) for entity, quotas in of_clients.items()}
            self.mutations.set_limits(limits, is_whole=is_whole)
        if is_whole or any(entity.ip is not None for entity in changed):
            self._publish_connection_rates()

    def _publish_connection_rates(self) -> None:
        of_ips = {entity.ip: quotas for entity, quotas in self.entities.items() if entity.ip is not None}
        rates: list[tuple[str | None, float]] = []
        for ip, quotas in of_ips.items():
            if CONNECTION_KEY in quotas:
                addresses = self._hosts.addresses(ip) if ip else [None]
                rates += [(address, quotas[CONNECTION_KEY]) for address in addresses]
        self._engine.quotas().publish_connection_rates(rates)
        self._hosts.keep(of_ips)


def _check(entity: Entity, changes: Mapping[str, float | None]) -> None:
    for key, value in changes.items():
        if value is not None:
            check_value(entity, key, value)


def _changed(changes: Mapping[str, float | None], configs: dict[str, str]) -> dict[str, str]:
    for key, value in changes.items():
        if value is None:
            configs.pop(key, None)
        else:
            configs[key] = value_text(key, value)
    return configs


def _quotas_at(path: str, entity: Entity, data: bytes) -> dict[str, float]:
    """The quotas of a node. An operator may write into the store by hand: a wrong node is logged, and has none."""
    try:
        return quotas_in(entity, decode_config(data))
    except InvalidNodeError:  # without the error, which has a part of the node, maybe of a credential
        logger.warning("%s is malformed: its quotas are not in force", path)
    except ValueError as error:
        logger.warning("The quotas in %s are wrong and not in force: %s", path, error)
    return {}
