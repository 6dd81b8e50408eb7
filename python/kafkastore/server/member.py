"""A broker in its cluster: what joins it and takes it out again (docs/cluster.md; spec R0.2, R2.4).

Join, after the logs are open: register (``/brokers/ids/N``, whose ``created`` is the broker epoch) → campaign for the controller →
wait until the controller has told what this broker does. Leave: controlled shutdown (the leaderships go elsewhere first) → stop
campaigning. A session that expired is taken up again under a new broker epoch: the logs go on, and whatever happened meanwhile
the controller tells.

A broker that is alone is a cluster of one: it joins, becomes the controller and tells itself, before its listeners open. With
nobody to hand over to it leads, and is the controller, until its last request is answered.

It decides nothing about partitions; the controller does, which may run here.
"""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkastore.config import HELD
from kafkastore.controller import campaign
from kafkastore.controller.clients import client_opener
from kafkastore.controller.controller import Controller
from kafkastore.controller.settings import settings_of
from kafkastore.errors import ErrorCode, KafkastoreError, StartupError
from kafkastore.interbroker.client import BrokerClient
from kafkastore.interbroker.controller_connections import ControllerConnections
from kafkastore.interbroker.to_controller import ToController
from kafkastore.metadata.image import NO_LEADER, BrokerImage, PartitionState
from kafkastore.metadata.leadership import decode_leadership
from kafkastore.metadata.nodes import decode_cluster_id, encode_broker
from kafkastore.metadata.nonsense import NonsenseError
from kafkastore.metadata.store import DELETED, EXPIRED, NoNodeError, SessionExpiredError
from kafkastore.metadata.stored_topics import load_config, load_configs
from kafkastore.purgatory.turns import Turn
from kafkastore.replica.assigned import AssignedReplicas
from kafkastore.replica.isr_changes import IsrChanges
from kafkastore.replica.taken_orders import take
from kafkastore.server import registration
from kafkastore.server.context import RequestContext
from kafkastore.server.forwarding import Forwarding
from kafkastore.server.presence import Presence
from kafkastore.server.reconcile import Reconciled
from kafkastore.server.registry import BY_KEY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkastore.interbroker.orders import Answer, Order
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

SETTLE_LIMIT_S: Final = 0.5
"""How long a leaving broker waits for followers to fetch what it has appended; a fetch takes milliseconds."""

SETTLE_CHECK_S: Final = 0.005

REJOIN_RETRY_S: Final = 0.5

_FEW_TOPICS: Final = 10
"""Above it, all configurations are read at once."""


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
        self._lost = Reconciled({}, {})
        """Of a life that began uncleanly, until a controller has drawn the consequences."""
        self._ports: Sequence[int] | None = None
        self._leaving = False
        self._must_register = False
        self._rejoining: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None
        config = broker.config
        listener = config.inter_broker_listener
        connect = partial(BrokerClient, secret=config.inter_broker_secret)
        self.to_controller = ToController(broker.node_id, broker.image, listener, self.serve, connect)
        broker.assigned = AssignedReplicas(
            broker.node_id,
            broker.image,
            broker.replica_manager.held,
            broker.engine,
            broker.replica_manager,
            broker.log_manager,
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
        open_client = client_opener(broker.node_id, listener, self._take, connect)
        settings = settings_of(config)._replace(listener=listener)
        broker.controller = Controller(
            broker.node_id, broker.store, open_client, settings, broker.loop, stored=broker.stored_topics
        )
        broker.forwarding = Forwarding(broker, ControllerConnections(f"broker-{broker.node_id}", connect))
        self._presence = Presence(broker.node_id, listener, self._on_absent)
        broker.assigned.on_brokers = self._presence.update

    def _tell_deleted(self, names: Sequence[str]) -> None:
        """On every broker: whoever coordinates groups forgets their offsets of these topics."""
        for listener in self.broker.topics.on_deleted:
            listener(names)

    # ---- joining
    async def join(self, ports: Sequence[int] | None, lost: Reconciled) -> None:
        """Returns when the controller has told what this broker does. ``ports`` are those that were bound, None before that.
        Raises StartupError."""
        self._ports, self._lost = ports, lost
        broker = self.broker
        broker.store.listen(self._on_session)
        try:
            await self._register()
        except SessionExpiredError:  # on a busy machine: the next session begins as in the middle of a life
            self._start_rejoining()
        await broker.controller.start()
        if not await broker.assigned.wait_told(TOLD_LIMIT_S):
            raise StartupError(
                f"node.id={broker.node_id}: no controller of the cluster has answered for {TOLD_LIMIT_S:.0f} s; look at"
                " the logs of the other brokers and at the metadata store"
            )
        if broker.log_manager.failed:  # no client is to look for what is offline here
            await broker.assigned.wait_until(self._is_offline_known, TOLD_LIMIT_S)
        # of the next life of this process: its logs go on, and a controller has drawn the consequences of this one
        self._lost = Reconciled({}, {})

    def _is_offline_known(self) -> bool:
        """Whether the controller has drawn the consequences of logs that this broker could not open."""
        me, image = self.broker.node_id, self.broker.image
        return not any(
            state.leader == NO_LEADER
            and (told := image.partition(topic.name, number)) is not None
            and told.leader == me
            for topic in self.broker.replica_manager.held.topics.values()
            for number, state in enumerate(topic.partitions)
        )

    async def announce(self, ports: Sequence[int]) -> None:
        """Registers the ports that the system chose; returns when all are told."""
        self._ports = ports
        broker, me = self.broker, self._me()
        await broker.store.set(f"/brokers/ids/{broker.node_id}", self._registration())
        await broker.assigned.wait_until(lambda: broker.image.brokers.get(broker.node_id) == me, TOLD_LIMIT_S)

    def _me(self) -> BrokerImage:
        config = self.broker.config
        return BrokerImage(self.broker.node_id, config.rack, registration.advertised(config, self._ports))

    def _registration(self) -> bytes:
        protocols = {listener.name: listener.protocol for listener in self.broker.config.listeners}
        lost = self._lost
        return encode_broker(
            self._me(),
            protocols,
            self.broker.now_ms(),
            unclean=lost.unclean,
            log_ends=lost.log_ends,
            topic_ids=lost.topic_ids,
        )

    async def _register(self) -> None:
        broker, data = self.broker, self._registration()
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
        self._must_register = True  # also while a registration that has just been ended again is being finished
        if self._rejoining is None:
            self._rejoining = asyncio.get_running_loop().create_task(self._rejoin())

    async def _rejoin(self) -> None:
        try:
            while self._must_register:
                self._must_register = False
                try:
                    if not self.broker.store.session_id:
                        await self.broker.store.connect()
                    await self._check_cluster()
                    await self._register()
                    await self.broker.config_changes.start()  # the watch went with the session
                except (KafkastoreError, StartupError) as error:
                    logger.warning("Not registered yet: %s", error)
                    self._must_register = True
                    await asyncio.sleep(REJOIN_RETRY_S)
                except Exception:  # a bug must not leave the broker out of its cluster for good
                    logger.exception("Registering failed")
                    self._must_register = True
                    await asyncio.sleep(REJOIN_RETRY_S)
        finally:
            self._rejoining = None

    async def _check_cluster(self) -> None:
        """A store that was put in the place of ours knows nothing of what is served here."""
        with suppress(NoNodeError):
            if decode_cluster_id((await self.broker.store.get("/cluster/id")).data) == self.broker.cluster_id:
                if self.broker.metadata_marks is not None:
                    await self.broker.metadata_marks.check_again()
                return
        raise StartupError(f"the metadata store is not that of cluster {self.broker.cluster_id}; put that back")

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
        """Answers what it has appended, has the leaderships moved, then stops taking part. What is not moved in time is elected when the
        session ends. With nobody to move them to nothing changes until :meth:`close`."""
        if not self.broker.image.brokers.keys() - {self.broker.node_id}:
            return
        self._leaving = True
        await self._settle_produces()
        await self._shut_down_controlled()
        assigned = self.broker.assigned
        await assigned.wait_until(lambda: not assigned.leads_anything(), RESIGN_LIMIT_S)
        assigned.resign()
        await self.close()

    async def _settle_produces(self) -> None:
        """What has been appended here is acknowledged while the followers still fetch from here: afterwards its producers would be told
        to ask the next leader, and would not know that it is there. Nothing more is appended meanwhile."""
        engine, loop = self.broker.engine, self.broker.loop
        engine.refuse_produces()
        deadline = loop.time() + SETTLE_LIMIT_S
        while loop.time() < deadline:
            await asyncio.sleep(SETTLE_CHECK_S)  # before the first look, too: a produce is appended before it waits
            if not await self.broker.run_blocking(engine.waiting_produces):
                return
        logger.info("Some produces are not acknowledged by all in-sync replicas after %.1f s", SETTLE_LIMIT_S)

    async def close(self) -> None:
        """Takes part in nothing any more; may come twice."""
        self._leaving = True
        if self._rejoining is not None:
            self._rejoining.cancel()
        await self._presence.stop()
        await self.broker.isr_changes.stop()
        await self.broker.controller.stop()
        await self.to_controller.close()
        await self.broker.forwarding.close()

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
    async def _take(self, order: Order) -> Answer:
        """Of the controller that runs here."""
        return await take(self.broker.assigned, self.broker.config.inter_broker_listener, order)

    async def serve(self, request: Any) -> Any:
        """Answers a request of kio's style as if it had come over the inter-broker listener."""
        api = BY_KEY[request.__api_key__]
        asked: Any = _LocalRequest(request.__version__, self.broker.config.inter_broker_listener)
        handler = import_module(f"kafkastore.handlers.{api.module}").handle
        context = RequestContext(asked, api, self.broker)
        try:
            return context.as_entity(await handler(context, request))
        except KafkastoreError as error:
            from kafkastore.server.error_response import error_response

            return error_response(api, request.__version__, request, error.code, error.client_message)

    async def _load_configs(self, names: Sequence[str]) -> dict[str, dict[str, str]]:
        """The topics' own configuration, as it stands in the store."""
        store = self.broker.store
        if len(names) > _FEW_TOPICS:
            found = await load_configs(store, Turn().give_way)
        else:
            found = {name: await load_config(store, name) for name in names}
        wanted = found.keys() & names
        return {name: dict(HELD) if (configs := found[name]) is None else configs for name in wanted}

    async def _read_state(self, name: str, number: int) -> PartitionState | None:
        """As it stands in the store."""
        try:
            node = await self.broker.store.get(f"/brokers/topics/{name}/partitions/{number}/state")
            state = decode_leadership(node.data, node.version)
        except (NoNodeError, NonsenseError):  # the controller names it
            return None
        known = self.broker.replica_manager.held.partition(name, number)
        replicas = () if known is None else known.replicas
        return PartitionState(state.leader, state.leader_epoch, state.partition_epoch, replicas, state.isr)
