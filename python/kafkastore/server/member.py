"""A broker among others: what joins it to the cluster and takes it out again (docs/cluster.md; spec R0.2, R2.4).

Join, after the logs are open and the listeners too: claim the logs that are here → register (``/brokers/ids/N``, whose ``created`` is
the broker epoch) → campaign for the controller → wait until the controller has told what this broker does. Leave:
controlled shutdown (the leaderships go elsewhere first) → stop campaigning. A session that expired is taken up again
under a new broker epoch: the logs go on, and whatever happened meanwhile the controller tells.

It decides nothing about partitions; the controller does, which may run here.
"""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkastore.controller import campaign
from kafkastore.controller.clients import client_opener
from kafkastore.controller.controller import Controller
from kafkastore.controller.settings import settings_of
from kafkastore.errors import ErrorCode, KafkastoreError, StartupError
from kafkastore.interbroker.to_controller import ToController
from kafkastore.metadata.assignment import decode_assigned
from kafkastore.metadata.image import BrokerImage, PartitionState
from kafkastore.metadata.leadership import decode_leadership
from kafkastore.metadata.loader import load_topics
from kafkastore.metadata.nodes import decode_config, encode_broker, topic_id_text
from kafkastore.metadata.store import DELETED, EXPIRED, NoNodeError
from kafkastore.replica.assigned import AssignedReplicas
from kafkastore.replica.isr_changes import IsrChanges
from kafkastore.server import registration
from kafkastore.server.context import RequestContext
from kafkastore.server.presence import Presence
from kafkastore.server.registry import BY_KEY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkastore.metadata.store import WatchEvent
    from kafkastore.server.context import BrokerServices

logger = logging.getLogger("kafkastore.server.member")

TOLD_LIMIT_S: Final = 60.0
"""How long a start waits to be told by a controller; longer than one takes to die and be replaced."""

SHUTDOWN_ATTEMPTS: Final = 3
SHUTDOWN_RETRY_S: Final = 0.5
"""Kafka's controlled.shutdown.max.retries, and less than its backoff of five seconds: moving leaders takes milliseconds."""

RESIGN_LIMIT_S: Final = 1.0
"""How long a leaving broker waits to be told of what the controller has moved."""

SHUTDOWN_TIMEOUT_MS: Final = 10_000

REJOIN_RETRY_S: Final = 0.5

_FEW_TOPICS: Final = 10
"""Above it, all configurations are read at once."""

_OTHERS_TOPICS: Final = frozenset(("__cluster_metadata",))


class _LocalRequest(NamedTuple):
    """What a handler looks at of a request that came from within."""

    api_version: int
    listener: str
    client_host: str = "/127.0.0.1"
    client_id: str = "controller"


class Member:
    """See the module. Runs on the loop."""

    def __init__(self, broker: BrokerServices) -> None:
        self.broker = broker
        self._is_clean = True
        self._log_ends: dict[str, dict[str, int]] = {}
        """Of a life that began uncleanly: what the logs had at its start."""
        self._ports: Sequence[int] = ()
        self._leaving = False
        self._rejoining: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None
        config = broker.config
        listener = config.inter_broker_listener
        self.to_controller = ToController(broker.node_id, broker.image, listener, self.serve)
        broker.assigned = AssignedReplicas(
            broker.node_id,
            broker.image,
            broker.replica_manager.held,
            broker.engine,
            broker.replica_manager,
            broker.log_manager,
            broker.topics.make_logs,
            self._load_configs,
        )
        broker.assigned.on_deleted = self._tell_deleted
        broker.isr_changes = IsrChanges(
            broker.node_id,
            broker.replica_manager.held,
            broker.engine,
            broker.replica_manager,
            self.to_controller.ask,
            self._read_state,
        )
        open_client = client_opener(broker.node_id, listener, self.serve)
        settings = settings_of(config)._replace(listener=listener)
        broker.controller = Controller(broker.node_id, broker.store, open_client, settings, broker.loop)
        self._presence = Presence(broker.node_id, listener, self._on_absent)
        broker.assigned.on_brokers = self._presence.update

    def _tell_deleted(self, names: Sequence[str]) -> None:
        """On every broker: whoever coordinates groups forgets their offsets of these topics."""
        for listener in self.broker.topics.on_deleted:
            listener(names)

    # ---- joining
    async def claim_logs(self) -> None:
        """Notes the logs that are here; those that the store does not place here are set aside, never deleted. One that this broker
        owes the deletion of stays: the controller tells it what to delete."""
        broker = self.broker
        topics = {topic.name: topic for topic in await load_topics(broker.store)}
        self._is_clean = not broker.engine.unclean_log_dirs() and not broker.log_manager.failed
        for name, number, topic_id, log_dir, _, log_end in broker.engine.logs():
            topic = topics.get(name)
            is_known = topic is not None and topic_id in (None, topic.topic_id) and number < len(topic.partitions)
            is_ours = topic is not None and is_known and broker.node_id in topic.partitions[number].replicas
            if is_ours or (is_known and await self._owes(name, number)):
                broker.log_manager.record(name, number, log_dir)
                if is_ours and log_end > 0:
                    self._log_ends.setdefault(name, {})[str(number)] = log_end
            elif name not in _OTHERS_TOPICS:
                there = "is not in the metadata" if topic is None else f"is {topic_id_text(topic.topic_id)} there"
                logger.warning("%s-%d in %s: the topic %s; set aside as -stray", name, number, log_dir, there)
                broker.engine.mark_stray(name, number)
        for topic in topics.values():
            for number, state in enumerate(topic.partitions):
                is_here = broker.log_manager.directory_of(topic.name, number) is not None
                if is_here or broker.node_id not in state.replicas or not self._is_clean:
                    continue
                if broker.node_id in state.isr or await self._is_eligible(topic.name, number):
                    self._is_clean = False  # what this broker has acknowledged is not here: a disk was replaced

    async def _owes(self, name: str, number: int) -> bool:
        """Whether a reassignment has taken the replica away while this broker could not be told."""
        try:
            node = await self.broker.store.get(f"/brokers/topics/{name}")
        except NoNodeError:
            return False
        return self.broker.node_id in decode_assigned(node.data)[1][number].owed

    async def _is_eligible(self, name: str, number: int) -> bool:
        """Whether this broker may lead when nobody in sync is alive."""
        try:
            node = await self.broker.store.get(f"/brokers/topics/{name}/partitions/{number}/state")
        except NoNodeError:
            return False
        return self.broker.node_id in decode_leadership(node.data, node.version).elr

    async def join(self, ports: Sequence[int]) -> None:
        """Returns when the controller has told what this broker does. Raises StartupError."""
        self._ports = ports
        broker = self.broker
        broker.store.listen(self._on_session)
        await self._register()
        await broker.controller.start()
        if not await broker.assigned.wait_told(TOLD_LIMIT_S):
            raise StartupError(
                f"node.id={broker.node_id}: no controller of the cluster has answered for {TOLD_LIMIT_S:.0f} s; look at"
                " the logs of the other brokers and at the metadata store"
            )
        # of the next life of this process: its logs go on, and a controller has drawn the consequences of this one
        self._is_clean = True
        self._log_ends = {}

    async def _register(self) -> None:
        broker, config = self.broker, self.broker.config
        me = BrokerImage(broker.node_id, config.rack, registration.advertised(config, self._ports))
        protocols = {listener.name: listener.protocol for listener in config.listeners}
        data = encode_broker(me, protocols, broker.now_ms(), is_clean=self._is_clean, log_ends=self._log_ends)
        path = f"/brokers/ids/{broker.node_id}"
        if not await self._is_registered(path):
            refusal = f"node.id={broker.node_id} is in use by another running broker of this cluster"
            await registration.take(broker, path, data, refusal)
        epoch = (await broker.store.get(path, self._on_own_node)).created
        broker.assigned.broker_epoch = broker.isr_changes.broker_epoch = epoch
        broker.engine.set_broker_epoch(epoch)

    async def _is_registered(self, path: str) -> bool:
        """Whether a registration whose answer was lost is in force."""
        with suppress(NoNodeError):
            return (await self.broker.store.get(path)).ephemeral_owner == self.broker.store.session_id
        return False

    def _on_own_node(self, event: WatchEvent) -> None:
        """A registration that somebody else ended, in a session that lives."""
        if self._leaving or not self.broker.store.session_id:
            return
        if event.kind == DELETED:
            logger.warning("The registration was ended by the controller; registering again")
            self._start_rejoining()
        else:
            self._watching = asyncio.get_running_loop().create_task(self._watch_own_node())

    async def _watch_own_node(self) -> None:
        path = f"/brokers/ids/{self.broker.node_id}"
        with suppress(KafkastoreError):  # with the store away the session decides
            if await self.broker.store.exists(path, self._on_own_node) is None and not self._leaving:
                self._start_rejoining()

    def _on_session(self, state: str) -> None:
        if state != EXPIRED or self._leaving:
            logger.info("The session with the metadata store is %s", state)
            return
        logger.warning("The session with the metadata store expired; registering again")
        self._start_rejoining()

    def _start_rejoining(self) -> None:
        if self._rejoining is None:
            self._rejoining = asyncio.get_running_loop().create_task(self._rejoin())

    async def _rejoin(self) -> None:
        try:
            while True:
                try:
                    if not self.broker.store.session_id:
                        await self.broker.store.connect()
                    await self._register()
                    await self.broker.config_changes.start()  # the watch went with the session
                except (KafkastoreError, StartupError) as error:
                    logger.warning("Not registered yet: %s", error)
                    await asyncio.sleep(REJOIN_RETRY_S)
                else:
                    return
        finally:
            self._rejoining = None

    async def _on_absent(self, node_id: int) -> None:
        """The controller ends the registration of a broker that is gone; of the controller itself, whoever sees it first."""
        controller = self.broker.controller
        with suppress(KafkastoreError):  # asked again while it is absent
            if controller.is_active:
                await controller.fence_broker(node_id)
            elif controller.controller_id == node_id:
                logger.warning("The controller, broker %d, is absent: nobody listens at its address any more", node_id)
                await campaign.depose(self.broker.store, node_id)

    # ---- leaving
    async def leave(self) -> None:
        """Has the leaderships moved, then stops taking part. What is not moved in time is elected when the session ends."""
        self._leaving = True
        if self._rejoining is not None:
            self._rejoining.cancel()
        await self._shut_down_controlled()
        assigned = self.broker.assigned
        await assigned.wait_until(lambda: not assigned.leads_anything(), RESIGN_LIMIT_S)
        assigned.resign()
        await self._presence.stop()
        await self.broker.isr_changes.stop()
        await self.broker.controller.stop()
        await self.to_controller.close()

    async def abandon(self) -> None:
        """After a start that failed: as :meth:`leave`, but nothing is led here."""
        self._leaving = True
        await self._presence.stop()
        await self.broker.isr_changes.stop()
        await self.broker.controller.stop()
        await self.to_controller.close()

    def report_log_dir_failure(self) -> None:
        """Asks the controller to look at what this broker holds: its answers to LeaderAndIsr name what is offline."""
        self._reporting = self.broker.loop.create_task(self._report())

    async def _report(self) -> None:
        notice = json.dumps({"version": 1, "broker": self.broker.node_id, "event": 1}, separators=(",", ":")).encode()
        path = "/log_dir_event_notification/log_dir_event_"
        while True:
            try:
                await self.broker.store.ensure_path("/log_dir_event_notification")
                await self.broker.store.create(path, notice, is_sequential=True)
            except KafkastoreError as error:
                logger.warning("The failed log directory is not reported yet: %s", error)
                await asyncio.sleep(REJOIN_RETRY_S)
            else:
                return

    async def _shut_down_controlled(self) -> None:
        schema: Any = import_module("kafkastore.interbroker.schema.controlled_shutdown.v3.request")
        request = schema.ControlledShutdownRequest(
            broker_id=self.broker.node_id, broker_epoch=self.broker.assigned.broker_epoch
        )
        for attempt in range(SHUTDOWN_ATTEMPTS):
            if attempt:
                await asyncio.sleep(SHUTDOWN_RETRY_S)
            try:
                answer = await self.to_controller.ask(request, SHUTDOWN_TIMEOUT_MS)
            except KafkastoreError as error:
                logger.info("The controller did not answer the shutdown: %s", error)
                continue
            if answer.error_code == ErrorCode.NONE and not answer.remaining_partitions:
                return
        logger.warning("Leaving although partitions still have their leader here")

    # ---- between brokers
    async def serve(self, request: Any) -> Any:
        """Answers a request of kio's style as if it had come over the inter-broker listener."""
        api = BY_KEY[request.__api_key__]
        asked: Any = _LocalRequest(request.__version__, self.broker.config.inter_broker_listener)
        handler = import_module(f"kafkastore.handlers.{api.module}").handle
        context = RequestContext(asked, api, self.broker)
        try:
            return await handler(context, request)
        except KafkastoreError as error:
            from kafkastore.server.error_response import error_response

            return error_response(api, request.__version__, request, error.code, error.client_message)

    async def _load_configs(self, names: Sequence[str]) -> dict[str, dict[str, str]]:
        """The topics' own configuration, as it stands in the store."""
        store, found = self.broker.store, {}
        if len(names) > _FEW_TOPICS:
            tree = {path.rpartition("/")[2]: data for path, data, _ in await store.get_tree("/config/topics")}
            return {name: decode_config(tree[name]) for name in names if name in tree}
        for name in names:
            with suppress(NoNodeError):
                found[name] = decode_config((await store.get(f"/config/topics/{name}")).data)
        return found

    async def _read_state(self, name: str, number: int) -> PartitionState | None:
        """As it stands in the store."""
        try:
            node = await self.broker.store.get(f"/brokers/topics/{name}/partitions/{number}/state")
        except NoNodeError:
            return None
        state = decode_leadership(node.data, node.version)
        known = self.broker.replica_manager.held.partition(name, number)
        replicas = () if known is None else known.replicas
        return PartitionState(state.leader, state.leader_epoch, state.partition_epoch, replicas, state.isr)
