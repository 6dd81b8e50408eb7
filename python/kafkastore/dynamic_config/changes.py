"""Configuration that changes while brokers run: written once, taken over by every broker (Kafka's
``/config/changes``).

A change is the new content of ``/config/topics/T``, of ``/config/brokers/N`` or of a node of another kind that a part
of this broker follows (:meth:`ConfigChanges.follow`), and, in the same ``multi``, a sequential
node ``/config/changes/config_change_NNNNNNNNNN`` that names it. Every broker hears of these nodes
(``metadata/notices.py``) and reads the configurations that they name, so a change that comes twice does no harm. It
reads all configurations when it begins to watch: at its start, and after its session expired, which ends the watch.

New overrides are made from the overrides in the store: code that does so must hold :attr:`ConfigChanges.lock`.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from kafkastore._core import EngineError
from kafkastore.config import engine_topic_config
from kafkastore.dynamic_config.config_nodes import ATTEMPTS, read_nodes
from kafkastore.errors import KafkastoreError, RequestTimedOutError
from kafkastore.metadata.node_content import InvalidNodeError
from kafkastore.metadata.nodes import (
    CONFIG_CHANGES,
    config_notice,
    decode_config,
    decode_config_notice,
    encode_config,
)
from kafkastore.metadata.notices import Notices
from kafkastore.metadata.store import (
    BadVersionError,
    Create,
    NodeExistsError,
    NoNodeError,
    SetData,
    StoreError,
    child_in,
)
from kafkastore.metadata.stored_topics import CONFIGS
from kafkastore.purgatory.turns import Turn

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence

    from kafkastore._core import Engine
    from kafkastore.config import BrokerConfig
    from kafkastore.dynamic_config.broker_configs import DynamicBrokerConfigs
    from kafkastore.dynamic_config.kept_configs import KeptConfigs
    from kafkastore.metadata.image import MetadataImage
    from kafkastore.metadata.store import MetadataStore

    Take = Callable[[Mapping[str, bytes | None]], None]
    ReloadAll = Callable[[], Awaitable[None]]

logger = logging.getLogger("kafkastore.dynamic_config.changes")


class ConfigChanges:
    """See the module. Runs on the loop. ``image`` is the cluster's metadata, ``held`` the replicas that this broker
    holds. ``is_own_change(node)``: whether the controller in this process wrote a node below ``/config/changes``; its
    topics get their configurations from :meth:`apply_topics` and are not read again. ``tell_waiting`` is called when
    topic configurations have changed here."""

    def __init__(
        self,
        config: BrokerConfig,
        store: MetadataStore,
        engine: Engine,
        image: MetadataImage,
        held: MetadataImage,
        dynamic_configs: DynamicBrokerConfigs,
        kept_configs: KeptConfigs,
        is_controller: Callable[[], bool],
        is_own_change: Callable[[str], bool],
        tell_waiting: Callable[[], None],
    ) -> None:
        self._config = config
        self._store = store
        self._engine = engine
        self._image = image
        self._held = held
        self._dynamic_configs = dynamic_configs
        self._kept_configs = kept_configs
        self._tell_waiting = tell_waiting
        self.lock = asyncio.Lock()
        """One change of configurations at a time: the new overrides are made from the current overrides in the store.
        For a topic only the controller makes them, whichever broker the client asked: two brokers would each undo the
        other's change."""
        self._notices = Notices(
            store, CONFIG_CHANGES, self._take_over, self._apply_everything, is_controller, is_own_change
        )
        self._followers: dict[str, list[tuple[Take, ReloadAll]]] = {}
        self._roots: dict[str, str] = {}

    def follow(self, kind: str, root: str, take: Take, reload_all: ReloadAll) -> None:
        """From now on notices of a kind, whose nodes are below ``root``, call ``take`` with what the nodes have now,
        None for one that is gone, by their names, which may have further parts (``alice/clients/app``); ``reload_all``,
        which may raise StoreError, is called when changes may have been missed. Both log what they cannot use."""
        self._roots[kind] = root
        self._followers.setdefault(kind, []).append((take, reload_all))

    async def load_followed(self) -> None:
        """Has every follower read what the store has. Called before the listeners open."""
        for followers in self._followers.values():
            for _, reload_all in followers:
                await reload_all()

    async def start(self, *, may_have_missed: bool = True) -> None:
        """Watches from now on, and takes over what other brokers changed before: recovery may take minutes, and the
        configurations that this broker read at its start are that old. May be called again, for another session."""
        await self._notices.start()
        if may_have_missed:
            await self._apply_everything()

    async def stop(self) -> None:
        await self._notices.stop()

    async def write(self, kind: str, name: str, overrides: Mapping[str, str]) -> None:
        """Replaces the overrides of ``name`` (for kind "topics" a topic, for "brokers" a node id or ``<default>``). The
        change is in effect here when this returns."""
        path = f"/config/{kind}/{name}"
        store = self._store
        await store.ensure_path(path)
        await store.multi([SetData(path, encode_config(overrides)), config_notice(kind, name)])
        await self.apply(kind, name)

    async def change_broker(self, broker: str, change: Callable[[dict[str, str]], dict[str, str]]) -> None:
        """Makes the overrides of ``broker`` (node id as text, or DEFAULT_BROKER) of those that the store has, and
        applies them. ``change`` raises KafkastoreError to refuse, and then nothing has changed; it is called again when
        somebody else was faster."""
        path, store = f"/config/brokers/{broker}", self._store
        for _ in range(ATTEMPTS):
            (node,) = await store.get_many([path])
            await self._dynamic_configs.load()
            content = encode_config(change(self._dynamic_configs.overrides(broker)))
            await store.ensure_path("/config/brokers")
            write = Create(path, content) if node is None else SetData(path, content, node.version)
            try:
                await store.multi([write, config_notice("brokers", broker)])
            except (BadVersionError, NodeExistsError, NoNodeError):
                continue
            await self.apply("brokers", broker)
            return
        raise RequestTimedOutError(f"{path} is changed by others all the time")

    async def _take_over(self, notices: Sequence[bytes]) -> None:
        named: dict[str, dict[str, None]] = {}
        for notice in notices:
            try:
                kind, names = decode_config_notice(notice)
            except InvalidNodeError:
                logger.warning("A node below %s names nothing and is skipped: %r", CONFIG_CHANGES, notice[:100])
            else:
                named.setdefault(kind, {}).update(dict.fromkeys(names))
        for kind, names_of_kind in named.items():
            await self._reload(kind, list(names_of_kind))

    async def _reload(self, kind: str, names: Sequence[str]) -> None:
        if kind in self._roots:
            try:
                await self._have_taken(kind, names)
            except StoreError:
                raise
            except WRONG:  # at one of them: each for itself
                for name in names:
                    with _wrong_ones_skipped(kind, name):
                        await self._have_taken(kind, [name])
            return
        async for name in Turn().each(names):
            with _wrong_ones_skipped(kind, name):
                await self.apply(kind, name)

    async def _have_taken(self, kind: str, names: Sequence[str]) -> None:
        async for found in read_nodes(self._store, self._roots[kind], names):
            for take, _ in self._followers[kind]:
                take(found)

    async def _apply_everything(self) -> None:
        tree = await self._store.get_tree(CONFIGS)
        found = {name: data for path, data, _ in tree if (name := child_in(CONFIGS, path))}
        async for name in Turn().each(self._image.topics.keys() | self._held.topics.keys()):
            if name in found:
                with _wrong_ones_skipped("topics", name):
                    self._apply_topic(name, decode_config(found[name]))
        self._tell_waiting()
        await self._keep(found)
        with _wrong_ones_skipped("brokers", ""):
            await self.apply("brokers", "")
        await self.load_followed()

    async def catch_up(self, names: Iterable[str]) -> None:
        """Takes over the configurations of these topics that the controller has written; the watch may not have fired
        yet."""
        turn = Turn()
        await self._store.poll()
        async for name in turn.each(names):
            with _wrong_ones_skipped("topics", name):
                await self.apply("topics", name)

    async def apply(self, kind: str, name: str) -> None:
        """Takes over the configuration in the store. It is in effect when this returns."""
        if kind == "brokers":
            await self._dynamic_configs.load()
            self._dynamic_configs.apply(self._engine)
        elif kind == "topics":
            try:
                data = (await self._store.get(f"/config/topics/{name}")).data
            except NoNodeError:
                return
            self._apply_topic(name, decode_config(data))
            await self._keep([name])
            self._tell_waiting()

    async def _keep(self, names: Iterable[str]) -> None:
        """Writes the topics' configurations beside their logs. Called before the change is answered."""
        held = self._held.topics
        await self._kept_configs.keep([held[name] for name in names if name in held])

    async def apply_topics(self, written: Mapping[str, Mapping[str, str]]) -> None:
        """Takes over the topic configurations that this broker has just written."""
        async for name, configs in Turn().each(written.items()):
            self._apply_topic(name, dict(configs))
        await self._keep(written)
        self._tell_waiting()

    def _apply_topic(self, name: str, configs: dict[str, str]) -> None:
        topics = [image.topic(name) for image in (self._image, self._held)]
        if all(topic is None or topic.configs == configs for topic in topics):
            return  # the change is in effect already, as when this broker wrote it
        for topic in topics:
            if topic is not None:
                topic.configs = configs
        self._engine.set_topic_config(name, engine_topic_config(self._config, configs, name))


WRONG: Final = (KafkastoreError, EngineError, ValueError, AttributeError)
"""What a configuration that is wrong raises; a StoreError, which is one of these, is none."""


@contextmanager
def _wrong_ones_skipped(kind: str, name: str) -> Iterator[None]:
    """Logs and skips an invalid configuration, as an operator may write into the store by hand: later changes must not
    be held up."""
    try:
        yield
    except WRONG as error:
        if isinstance(error, StoreError):
            raise
        logger.warning("The configuration /config/%s/%s is wrong and is not taken over: %s", kind, name, error)
