"""The quotas of clients: read from the metadata store, in force on this broker, changed by AlterClientQuotas (KIP-546).

Each node of ``quota_entities.py`` may have other keys beside its quotas (a user's node has credentials): a change keeps
them, since it is made from the node's content and written with the node's version. A change and its notice to all
brokers are one ``multi``; the broker that was asked takes the change over before it answers, the others when their
watch of the notices fires (``changes.py``).

The data plane gets the limits of bytes, request time and connections; ``mutation_quotas.py`` has those of the
controller. A host's name is resolved when its quota is read; nothing else waits for that, and what a name server does
not answer keeps the addresses that it had. Runs on the loop.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from kafkastore.configuration.quota_entities import (
    CONNECTION_KEY,
    DATA_PLANE_KEYS,
    REQUEST_KEY,
    Entity,
    check_value,
    entity_at,
    quotas_in,
    value_text,
)
from kafkastore.errors import InvalidRequestError, RequestTimedOutError
from kafkastore.metadata.node_content import InvalidNodeError
from kafkastore.metadata.nodes import config_notice, decode_config, encode_config
from kafkastore.metadata.store import BadVersionError, NoNodeError, SetData
from kafkastore.purgatory.may_hang import MayHang
from kafkastore.purgatory.turns import Turn

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kafkastore._core import Engine
    from kafkastore.configuration.changes import ConfigChanges
    from kafkastore.configuration.mutation_quotas import MutationQuotas
    from kafkastore.metadata.store import MetadataStore

logger = logging.getLogger("kafkastore.configuration.quotas")

KINDS: Final = ("users", "clients", "ips")

LOOKUP_LIMIT_S: Final = 5.0
"""How long a change waits for the addresses of a host, as long as a resolver waits for its first name server."""

ATTEMPTS: Final = 10
"""How often a change is made from a node's newest content before it is given up: other writers change the node."""


class ClientQuotas:
    """See the module. ``entities`` are the entities that have quotas, with their quotas by key."""

    def __init__(
        self, store: MetadataStore, engine: Engine, config_changes: ConfigChanges, mutations: MutationQuotas
    ) -> None:
        self._store = store
        self._engine = engine
        self.mutations = mutations
        self.entities: dict[Entity, dict[str, float]] = {}
        self._name_servers = MayHang()
        self._lookups: set[asyncio.Task[None]] = set()
        self._addresses: dict[str, list[str]] = {}
        """Of the hosts that have quotas by name."""
        self._is_changed = False
        self.has_request_limits = False
        """Whether any client's request time is limited."""
        for kind in KINDS:
            config_changes.follow(kind, partial(self.reload, kind), partial(self.reload_all, kind))

    async def reload_all(self, kind: str) -> None:
        """Reads the quotas of all nodes of a kind."""
        root = f"/config/{kind}"
        found = {entity: quotas for entity, quotas in self.entities.items() if entity.kind != kind}
        async for path, data, _ in Turn().each(await self._tree(root)):
            entity = entity_at(kind, path[len(root) + 1 :])
            if entity is not None and (quotas := _quotas_of(path, entity, data)):
                found[entity] = quotas
                self._look_up(entity.ip)
        if found != self.entities:
            self.entities, self._is_changed = found, True
        self.publish()

    async def reload(self, kind: str, name: str) -> None:
        """Reads the quotas of one node."""
        entity = entity_at(kind, name)
        if entity is None:
            return
        path = f"/config/{kind}/{name}"
        try:
            quotas = _quotas_of(path, entity, (await self._store.get(path)).data)
        except NoNodeError:
            quotas = {}
        else:
            self._look_up(entity.ip)
        self._note(entity, quotas)
        self.publish()

    async def alter(self, entity: Entity, changes: Mapping[str, float | None], *, validate_only: bool = False) -> None:
        """Sets or, for None, removes quotas of an entity; all of them or none. They are in force here after the next
        :meth:`publish`. Raises InvalidRequestError, and StoreError."""
        for key, value in changes.items():
            if value is not None:
                check_value(entity, key, value)
        if entity.ip and not _address(entity.ip):
            await self._check_host(entity.ip)
        if validate_only:
            return
        path = f"/config/{entity.kind}/{entity.name}"
        for _ in range(ATTEMPTS):
            written = await self._write(path, entity, changes)
            if written is not None:
                self._note(entity, _quotas_of(path, entity, written))
                return
        raise RequestTimedOutError(f"{path} is changed by others all the time")

    def publish(self) -> None:
        """Puts what was read and altered into force on this broker."""
        if self._is_changed:
            self._is_changed = False
            self._publish()

    def _note(self, entity: Entity, quotas: dict[str, float]) -> None:
        if quotas == self.entities.get(entity, {}):
            return
        self._is_changed = True
        if quotas:
            self.entities[entity] = quotas
        else:
            del self.entities[entity]

    async def _write(self, path: str, entity: Entity, changes: Mapping[str, float | None]) -> bytes | None:
        """The node's content now; None when another writer has changed the node meanwhile."""
        store = self._store
        try:
            node = await store.get(path)
        except NoNodeError:
            if all(value is None for value in changes.values()):
                return b""  # nothing to remove
            await store.ensure_path(path)
            node = await store.get(path)
        configs = decode_config(node.data)
        changed = dict(configs)
        for key, value in changes.items():
            if value is None:
                changed.pop(key, None)
            else:
                changed[key] = value_text(key, value)
        if changed == configs:
            return node.data
        content = encode_config(changed)
        notice = config_notice(entity.kind, entity.name)
        try:
            await store.multi([SetData(path, content, node.version), notice])
        except BadVersionError:
            return None
        return content

    def _look_up(self, ip: str | None) -> None:
        """Has the addresses of a host in force soon: what else was read does not wait for a name server."""
        if not ip or _address(ip):
            return

        async def note() -> None:
            self._note_addresses(ip, await self._name_servers.call(_resolved, ip))
            self.publish()

        looking = asyncio.get_running_loop().create_task(note())
        self._lookups.add(looking)
        looking.add_done_callback(self._lookups.discard)

    async def _check_host(self, ip: str) -> None:
        """Raises InvalidRequestError for a name without an address."""
        try:
            found = await asyncio.wait_for(self._name_servers.call(_resolved, ip), LOOKUP_LIMIT_S)
        except TimeoutError:
            found = []
        if not self._note_addresses(ip, found):
            raise InvalidRequestError(f"{ip} is not a valid IP or resolvable host.")

    def _note_addresses(self, ip: str, found: list[str]) -> list[str]:
        """Returns the addresses of the host from now on; what was not found is as it was."""
        known = self._addresses.get(ip, [])
        if found and found != known:
            self._addresses[ip], self._is_changed = found, True
        return found or known

    def _addresses_of(self, ip: str | None) -> list[str | None]:
        """The addresses of an entity, for the data plane; None is the default."""
        if not ip:
            return [None]
        address = _address(ip)
        return [address] if address else [*self._addresses.get(ip, [])]

    async def _tree(self, path: str) -> Iterable[tuple[str, bytes, int]]:
        try:
            return await self._store.get_tree(path)
        except NoNodeError:
            return ()

    def _publish(self) -> None:
        clients, ips = [], []
        for entity, quotas in self.entities.items():
            for key, value in quotas.items():
                if key in DATA_PLANE_KEYS:
                    clients.append((entity.user, entity.client_id, key, value))
                elif key == CONNECTION_KEY:
                    ips += [(address, value) for address in self._addresses_of(entity.ip)]
        self.has_request_limits = any(REQUEST_KEY in quotas for quotas in self.entities.values())
        engine = self._engine.quotas()
        engine.publish(clients)
        engine.publish_connection_rates(ips)
        self.mutations.set_limits(self.entities)
        self._addresses = {ip: found for ip, found in self._addresses.items() if Entity(ip=ip) in self.entities}


def _address(ip: str) -> str | None:
    """None for the name of a host."""
    try:
        return str(ip_address(ip))
    except ValueError:
        return None


def _resolved(ip: str) -> list[str]:
    """The addresses of a host's name; none for a name without any. Blocking."""
    from socket import getaddrinfo

    try:
        return sorted({str(found[4][0]) for found in getaddrinfo(ip, None)})
    except (OSError, UnicodeError):
        return []


def _quotas_of(path: str, entity: Entity, data: bytes) -> dict[str, float]:
    """The quotas of a node. An operator may write into the store by hand: a wrong node is logged, and has none."""
    try:
        return quotas_in(entity, decode_config(data))
    except (InvalidNodeError, ValueError) as error:
        logger.warning("The quotas in %s are wrong and not in force: %s", path, error)
        return {}
