"""A broker in its cluster: how it joins and leaves (docs/internals/cluster.md).

Join, after the logs are open: register (``/brokers/ids/N``, whose ``created`` is the broker epoch) → campaign for the
controller → wait until the controller has sent this broker's partitions and all topics. Leave: controlled shutdown (the
leaderships go elsewhere first) → stop campaigning. After its session has expired the broker registers again under a new
broker epoch: the logs stay open, and the controller sends what has changed meanwhile.

A broker that is alone is a cluster of one: it joins, becomes the controller and sends itself its partitions, before its
listeners open. Without another broker to take over, it stays the leader and the controller until its last request is
answered.

This module decides nothing about partitions; the controller does, which may run in this broker.
"""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from kafkastore.controller import campaign
from kafkastore.errors import ErrorCode, KafkastoreError, StartupError
from kafkastore.interbroker.dialer import PLAIN
from kafkastore.membership import registration
from kafkastore.membership.presence import Presence
from kafkastore.membership.reconcile import ReconciliationResult
from kafkastore.messages import OutgoingRequest
from kafkastore.metadata.image import NO_LEADER, BrokerImage
from kafkastore.metadata.nodes import decode_cluster_id, encode_broker
from kafkastore.metadata.store import DELETED, EXPIRED, NoNodeError, SessionExpiredError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kafkastore._core import Engine
    from kafkastore.authorization.acls import Acls
    from kafkastore.config import BrokerConfig
    from kafkastore.controller.controller import Controller
    from kafkastore.dynamic_config.changes import ConfigChanges
    from kafkastore.dynamic_config.features import Features
    from kafkastore.interbroker.to_controller import ToController
    from kafkastore.log.manager import LogManager
    from kafkastore.membership.metadata_marks import MetadataMarks
    from kafkastore.membership.presence import Watch
    from kafkastore.metadata.image import MetadataImage
    from kafkastore.metadata.store import MetadataStore, WatchEvent
    from kafkastore.replica.assigned import AssignedReplicas
    from kafkastore.replica.isr_changes import IsrChanges
    from kafkastore.requests.forwarding import Forwarding

logger = logging.getLogger("kafkastore.membership.member")

METADATA_LIMIT_S: Final = 60.0
"""How long a start waits for a controller's requests; longer than a dead controller takes to be replaced."""

SHUTDOWN_ATTEMPTS: Final = 3
SHUTDOWN_RETRY_S: Final = 0.5
"""Kafka's controlled.shutdown.max.retries, and less than its backoff of five seconds: moving leaders takes
milliseconds."""

RESIGN_LIMIT_S: Final = 1.0
"""How long a leaving broker waits for the requests by which the controller takes its leaderships."""

SHUTDOWN_TIMEOUT_MS: Final = 10_000
"""Of all attempts: a broker whose cluster does not answer closes its logs well before whoever stops it loses
patience."""

SETTLE_LIMIT_S: Final = 0.5
"""How long a leaving broker waits for followers to fetch the records it has appended; a fetch takes milliseconds."""

SETTLE_CHECK_S: Final = 0.005

REJOIN_RETRY_S: Final = 0.5


class Member:
    """See the module. Runs on the loop."""

    def __init__(
        self,
        *,
        config: BrokerConfig,
        cluster_id: str,
        store: MetadataStore,
        engine: Engine,
        image: MetadataImage,
        held: MetadataImage,
        log_manager: LogManager,
        assigned: AssignedReplicas,
        isr_changes: IsrChanges,
        controller: Controller,
        to_controller: ToController,
        forwarding: Forwarding,
        config_changes: ConfigChanges,
        features: Features,
        acls: Acls | None,
        metadata_marks: MetadataMarks | None,
        now_ms: Callable[[], int],
        watch: Watch = PLAIN.watch,
    ) -> None:
        """``watch`` opens the connections by which the presence of other brokers is watched."""
        self._config = config
        self._cluster_id = cluster_id
        self._store = store
        self._engine = engine
        self._image = image
        self._held = held
        self._log_manager = log_manager
        self._assigned = assigned
        self._isr_changes = isr_changes
        self._controller = controller
        self.to_controller = to_controller
        self._forwarding = forwarding
        self._config_changes = config_changes
        self._features = features
        self._acls = acls
        self._metadata_marks = metadata_marks
        self._now_ms = now_ms
        self._lost = ReconciliationResult({}, {})
        """What the logs may have lost in an unclean shutdown; empty when a controller has drawn the consequences."""
        self._ports: Sequence[int] | None = None
        self._leaving = False
        self._must_register = False
        self._rejoining: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._presence = Presence(config.node_id, config.inter_broker_listener, self._on_absent, watch)
        assigned.on_brokers = self._presence.update

    # ---- joining
    async def join(self, ports: Sequence[int] | None, lost: ReconciliationResult) -> None:
        """Returns when the controller has sent this broker's partitions and all topics. ``ports`` are the ports of the
        listeners, None before they are bound. Raises StartupError."""
        self._ports, self._lost = ports, lost
        assigned, log_manager = self._assigned, self._log_manager
        self._store.listen(self._on_session)
        try:
            await self._register()
        except SessionExpiredError:  # on a busy machine: registers in the next session
            self._start_rejoining()
        await self._controller.start()
        if not await assigned.wait_for_metadata(METADATA_LIMIT_S):
            raise StartupError(
                f"node.id={self._config.node_id}: no controller of the cluster has answered for {METADATA_LIMIT_S:.0f}"
                " s; look at the logs of the other brokers and at the metadata store"
            )
        if log_manager.failed:  # no client must look here for offline partitions
            await assigned.wait_until(self._is_offline_known, METADATA_LIMIT_S)
        # when this process registers again its logs have lost nothing: they stay open, and a controller has drawn the
        # consequences of the unclean shutdown
        self._lost = ReconciliationResult({}, {})

    def _is_offline_known(self) -> bool:
        """Whether the controller has published that this broker does not lead the partitions whose logs it could not
        open."""
        me, image = self._config.node_id, self._image
        return not any(
            state.leader == NO_LEADER
            and (published := image.partition(topic.name, number)) is not None
            and published.leader == me
            for topic in self._held.topics.values()
            for number, state in enumerate(topic.partitions)
        )

    async def announce(self, ports: Sequence[int]) -> None:
        """Registers the ports that the system chose; returns when an UpdateMetadata has them."""
        self._ports = ports
        node_id, image, me = self._config.node_id, self._image, self._me()
        await self._store.set(f"/brokers/ids/{node_id}", self._registration())
        await self._assigned.wait_until(lambda: image.brokers.get(node_id) == me, METADATA_LIMIT_S)

    def _me(self) -> BrokerImage:
        config = self._config
        return BrokerImage(config.node_id, config.rack, registration.advertised(config, self._ports))

    def _registration(self) -> bytes:
        protocols = {listener.name: listener.protocol for listener in self._config.listeners}
        lost = self._lost
        return encode_broker(
            self._me(),
            protocols,
            self._now_ms(),
            unclean=lost.unclean,
            log_ends=lost.log_ends,
            topic_ids=lost.topic_ids,
        )

    async def _register(self) -> None:
        node_id, data = self._config.node_id, self._registration()
        path = f"/brokers/ids/{node_id}"
        refusal = f"node.id={node_id} is in use by another running broker of this cluster"
        epoch = (await registration.take(self._store, path, data, refusal, self._on_own_node)).created
        self._assigned.broker_epoch = self._isr_changes.broker_epoch = epoch
        self._engine.set_broker_epoch(epoch)

    def _on_own_node(self, event: WatchEvent) -> None:
        """This broker's node was changed or deleted; registers again when the controller has deleted it while the
        session lives."""
        if self._leaving or not self._store.session_id:
            return
        if event.kind == DELETED:
            logger.warning("The registration was ended by the controller; registering again")
            self._start_rejoining()
        else:
            self._watching = asyncio.get_running_loop().create_task(self._watch_own_node())

    async def _watch_own_node(self) -> None:
        path = f"/brokers/ids/{self._config.node_id}"
        with suppress(KafkastoreError):  # the store is unavailable: the session decides
            if await self._store.exists(path, self._on_own_node) is None and not self._leaving:
                self._start_rejoining()

    def _on_session(self, state: str) -> None:
        if state != EXPIRED or self._leaving:
            logger.info("The session with the metadata store is %s", state)
            return
        logger.warning("The session with the metadata store expired; registering again")
        self._start_rejoining()

    def _start_rejoining(self) -> None:
        self._must_register = True  # also while a rejoin finishes whose registration has just ended again
        if self._rejoining is None:
            self._rejoining = asyncio.get_running_loop().create_task(self._rejoin())

    async def _rejoin(self) -> None:
        try:
            while self._must_register:
                self._must_register = False
                try:
                    if not self._store.session_id:
                        await self._store.connect()
                    await self._check_cluster()
                    await self._register()
                    await self._config_changes.start()  # the watches went with the session
                    await self._features.start()
                    if self._acls is not None:
                        await self._acls.start()
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
        """Raises StartupError for another cluster's store in the place of this one's: it does not know the topics
        served here."""
        with suppress(NoNodeError):
            if decode_cluster_id((await self._store.get("/cluster/id")).data) == self._cluster_id:
                if self._metadata_marks is not None:
                    await self._metadata_marks.check_again()
                return
        raise StartupError(f"the metadata store is not that of cluster {self._cluster_id}; put that back")

    async def _on_absent(self, node_id: int) -> None:
        """The controller ends the registration of an absent broker; an absent controller is deposed by the first broker
        that notices."""
        controller = self._controller
        with suppress(KafkastoreError):  # called again while the broker is absent
            if controller.is_active:
                await controller.fence_broker(node_id)
            elif controller.controller_id == node_id:
                logger.warning("The controller, broker %d, is absent: nobody listens at its address any more", node_id)
                await campaign.depose(self._store, node_id)

    # ---- leaving
    async def leave(self) -> None:
        """Waits until appended records are acknowledged, has the controller move the leaderships, then leaves the
        cluster. Partitions that are not moved in time get a leader when the session ends. Without another broker
        nothing changes until :meth:`close`."""
        if not self._image.brokers.keys() - {self._config.node_id}:
            return
        self._leaving = True
        await self._settle_produces()
        await self._shut_down_controlled()
        assigned = self._assigned
        await assigned.wait_until(lambda: not assigned.leads_anything(), RESIGN_LIMIT_S)
        assigned.resign()
        await self.close()

    async def _settle_produces(self) -> None:
        """Refuses new records, and waits until the appended ones are acknowledged while the followers still fetch from
        this broker. After that the producers would be sent to the next leader, and would not know that their records
        are there."""
        engine, loop = self._engine, asyncio.get_running_loop()
        engine.refuse_produces()
        deadline = loop.time() + SETTLE_LIMIT_S
        while loop.time() < deadline:
            await asyncio.sleep(SETTLE_CHECK_S)  # before the first look, too: a produce is appended before it waits
            if not await loop.run_in_executor(None, engine.waiting_produces):
                return
        logger.info("Some produces are not acknowledged by all in-sync replicas after %.1f s", SETTLE_LIMIT_S)

    async def close(self) -> None:
        """Stops taking part in the cluster; may be called twice."""
        self._leaving = True
        if self._rejoining is not None:
            self._rejoining.cancel()
        await self._presence.stop()
        await self._isr_changes.stop()
        await self._controller.stop()
        await self.to_controller.close()
        await self._forwarding.close()

    def report_log_dir_failure(self) -> None:
        """Notifies the controller, through the store, of a failed log directory; this broker's answers to LeaderAndIsr
        name the offline partitions."""
        self._reporting = asyncio.get_running_loop().create_task(self._report())

    async def _report(self) -> None:
        notice = json.dumps({"version": 1, "broker": self._config.node_id, "event": 1}, separators=(",", ":")).encode()
        path = "/log_dir_event_notification/log_dir_event_"
        while True:
            try:
                await self._store.ensure_path("/log_dir_event_notification")
                await self._store.create(path, notice, is_sequential=True)
            except KafkastoreError as error:
                logger.warning("The failed log directory is not reported yet: %s", error)
                await asyncio.sleep(REJOIN_RETRY_S)
            else:
                return

    async def _shut_down_controlled(self) -> None:
        fields = {"broker_id": self._config.node_id, "broker_epoch": self._assigned.broker_epoch}
        request = OutgoingRequest("ControlledShutdown", 3, fields)
        # a controller, which this broker may be, does not answer while it waits for a store that is away
        with suppress(TimeoutError):
            async with asyncio.timeout(SHUTDOWN_TIMEOUT_MS / 1000):
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
