"""One broker's life: what starts after what, and stops before what (spec R0.2).

Start: store and cluster id → data plane → log directories with recovery → topics and logs reconciled → housekeeping → into the
cluster (registration, controller, leases, coordinators) → listeners. Nothing is served before recovery ends; the listeners open
last. In a cluster with others they open before the broker joins, since another's controller has to reach it: until it has told,
every partition answers NOT_LEADER_OR_FOLLOWER. Stop is the reverse: the clean-shutdown markers come last.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from kafkastore import client_log
from kafkastore._core import Engine, EngineError, StartError, __version__
from kafkastore.config import HELD
from kafkastore.config.secret import FILE_KEY, REQUIRED_KEY
from kafkastore.config.topic import warn_of_compaction
from kafkastore.errors import StartupError
from kafkastore.log.manager import LogManager
from kafkastore.metadata.image import MetadataImage
from kafkastore.metadata.opening import open_store
from kafkastore.metadata.store import StoreUnavailableError
from kafkastore.metadata.stored_topics import StoredTopics
from kafkastore.replica.manager import ReplicaManager
from kafkastore.server import known_log_dirs, log_losses, registration
from kafkastore.server.context import BrokerServices
from kafkastore.server.dynamic_configs import DynamicConfigs
from kafkastore.server.event_loop import asyncio
from kafkastore.server.kafka_apis import KafkaApis
from kafkastore.server.metadata_marks import MetadataMarks, refuse_missing_store
from kafkastore.server.recovery_progress import show_progress
from kafkastore.server.registry import api_version_ranges
from kafkastore.server.topic_plans import is_internal

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from kafkastore._core import LogDirFailed, ThreadFailed
    from kafkastore.config import BrokerConfig
    from kafkastore.server.member import Member
    from kafkastore.server.metrics import Metrics
    from kafkastore.server.reconcile import Reconciled

logger = logging.getLogger("kafkastore.server.broker")

CLOSE_NETWORK_LIMIT_MS = 5000
"""How long a stop waits for requests in flight; Kafka's clients retry against the next start."""


DAMAGE_LIMIT_S = 15
"""How long a start that could not read the store looks for the reason."""


STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""What asks a broker to stop; SIGHUP comes when its terminal is closed, unless ``nohup`` has it ignored."""


COLLECTIONS_APART = 1000
"""Of middle-aged objects, until all are looked through."""

FAILED = 1
"""The exit status of a broker that a bug ended."""


class StopRequested(Exception):  # noqa: N818 - nothing went wrong
    """The broker was asked to stop before it had started."""


class Broker:
    """See the module. ``start`` and ``stop`` run once each, on one loop."""

    def __init__(self, config: BrokerConfig) -> None:
        self.config = config
        self.services = BrokerServices()
        self.ports: list[int] = []
        self._apis: KafkaApis | None = None
        self._stopping: asyncio.Event = asyncio.Event()
        self._failure: str | None = None
        self._has_logs = False
        self._member: Member | None = None
        self._is_settled = False
        self._marks: MetadataMarks | None = None
        self._metrics: Metrics | None = None

    # ---- start
    async def start(self) -> None:
        """Returns when the listeners are open. Raises StartupError, or StopRequested when that came first, with everything
        closed again; a recovery that was under way may still run in its thread."""
        services = self.services
        known_log_dirs.refuse_missing(self.config)
        refuse_missing_store(self.config)
        self.config.load_secret()
        services.loop = asyncio.get_running_loop()
        services.config = self.config
        services.node_id = self.config.node_id
        if self.config.metrics_listener is not None:
            from kafkastore.server.metrics import Metrics

            self._metrics = Metrics(services)
        services.store = open_store(self.config)
        try:
            self._marks = services.metadata_marks = MetadataMarks(self.config, services.store)
            await self._marks.judge()
            self._marks.begin_check()
            await self._unless_stopped(services.store.connect())
            await self._marks.judge()
            await self._open_logs()
            await self._marks.finish_check()
            self._check_stop()
            lost = await self._meet_cluster()
            await self._marks.start(services.log_manager)
            self._check_stop()
            self._start_serving()
            await self._unless_stopped(self._join(lost))
            if self._metrics is not None:
                assert self._apis is not None
                self._metrics.start(self._apis.holds)
        except (StartError, EngineError) as error:
            await self._abandon()
            raise StartupError(str(error)) from None
        except StoreUnavailableError as unavailable:
            try:
                if self._marks is not None:  # damage may be the cause, and then it is what there is to say
                    await asyncio.wait_for(self._marks.finish_check(), DAMAGE_LIMIT_S)
                raise
            except TimeoutError:  # the disk has not answered at all
                raise unavailable from None
            finally:
                await self._abandon()
        except BaseException:
            await self._abandon()
            raise

    async def _open_logs(self) -> None:
        services, config = self.services, self.config
        services.cluster_id = await registration.agree_on_cluster_id(services.store, config)
        services.dynamic_configs = DynamicConfigs(services)
        await services.dynamic_configs.load()
        services.image = MetadataImage()
        services.stored_topics = StoredTopics(services.store, is_kept=True)
        services.stored_topics.known = services.image.topic
        loaded = await services.stored_topics.load()
        topics = loaded.topics
        for topic in topics.values():
            if topic.topic_id is not None:
                services.image.put_topic(topic.image())
        for name in loaded.misconfigured & services.image.topics.keys():
            services.image.topics[name].configs = dict(HELD)
        services.engine = Engine(config.node_id, services.cluster_id, config.log_dirs, config.engine_options())
        services.log_manager = LogManager(config, services.engine)
        services.engine.set_loss_policy(log_losses.accepted(config), log_losses.replicated(config, topics))
        missing = await known_log_dirs.missing(services.store, config)
        opening = services.loop.run_in_executor(
            None, services.engine.open_log_dirs, services.dynamic_configs.log_configs(), missing
        )
        import kafkastore.server.member  # noqa: F401 - the controller's code, while the data plane reads the disk

        try:
            await show_progress(opening, self._stopping.wait(), services.engine.recovery_progress)
        finally:
            log_losses.tell(services.engine)
        if not opening.done():
            raise StopRequested  # what is on the disk is as after a crash: the next start recovers it
        log_losses.refuse_missing(config, services.engine, topics)
        self._has_logs = True
        for directory, failure in opening.result():
            if failure is not None:
                logger.error("Log directory %s is offline: %s", directory, failure)
                services.log_manager.fail(directory, failure)
        await services.kept_configs.load()
        await known_log_dirs.remember(services.store, config, services.log_manager.online)
        if not services.log_manager.online:
            reasons = "; ".join(f"{directory}: {why}" for directory, why in services.log_manager.failed.items())
            raise StartupError(
                f"log.dirs={','.join(config.log_dirs)}: none can be used ({reasons}); repair or replace one"
            )

    def _check_stop(self) -> None:
        if self._stopping.is_set():
            raise StopRequested

    async def _unless_stopped(self, step: Coroutine[Any, Any, None]) -> None:
        """Waits for a step that others may hold up, a store or a controller. Raises StopRequested, with the step cancelled."""
        doing = asyncio.ensure_future(step)
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait((doing, stopping), return_when=asyncio.FIRST_COMPLETED)
            if not doing.done():
                raise StopRequested
            await doing
        finally:
            doing.cancel()
            stopping.cancel()
            await asyncio.gather(doing, stopping, return_exceptions=True)

    async def _meet_cluster(self) -> Reconciled:
        """What this broker lost, as it is to register."""
        from kafkastore.server.config_changes import ConfigChanges
        from kafkastore.server.member import Member
        from kafkastore.server.reconcile import reconcile
        from kafkastore.server.topics import Topics

        services = self.services
        held = MetadataImage()
        services.topics = Topics(services)
        services.replica_manager = ReplicaManager(
            services.node_id, services.image, held, services.engine, services.loop
        )
        services.config_changes = ConfigChanges(services)
        services.member = self._member = Member(services)
        return await reconcile(services)

    def _start_serving(self) -> None:
        services = self.services
        services.engine.publish_api_versions(api_version_ranges())
        if services.image.topic("__consumer_offsets") is not None:
            _ = services.group_coordinator  # it loads what it finds there
        services.log_manager.start_housekeeping(services.loop)
        client_log.install()
        self._apis = KafkaApis(services, self._on_log_dir_failed, _on_thread_failed)
        self._apis.start()

    async def _join(self, lost: Reconciled) -> None:
        services, member = self.services, self._member
        assert member is not None
        is_among_others = self.config.is_member
        if is_among_others:
            self._listen()
        await member.join(self.ports or None, lost)
        services.stored_topics.forget()
        clients = (topic for topic in services.image.topics.values() if not is_internal(topic.name))
        warn_of_compaction((topic.name, topic.configs) for topic in clients)
        self._is_settled = True
        await services.config_changes.start(may_have_missed=is_among_others)
        if not is_among_others:
            self._listen()
            if any(listener.port == 0 for listener in self.config.listeners):
                await member.announce(self.ports)

    def _listen(self) -> None:
        wanted = [(listener.name, listener.host, listener.port) for listener in self.config.listeners]
        self.ports = self.services.engine.listen(wanted)
        self.services.loop.call_soon(_warm_up)

    async def _abandon(self) -> None:
        """After a start that failed: what is open is closed; no listener was open."""
        services = self.services
        if self._metrics is not None:
            await self._metrics.stop()
        if self._member is not None:
            await self._member.close()
        if self._apis is not None:
            self._apis.stop()
            await services.log_manager.stop_housekeeping()
        if self.ports:
            await services.run_blocking(services.engine.close_network, CLOSE_NETWORK_LIMIT_MS)
        if self._may_close_logs():
            await self._close_logs()
        if self._marks is not None:
            await self._marks.stop()
        await services.store.close()

    def _may_close_logs(self) -> bool:
        """Whether clean-shutdown markers may be written: not in directories that may be another broker's, and not before
        the leader epochs are raised after an unclean stop, or the next start would not raise them."""
        return self._has_logs and (self._is_settled or not self.services.engine.unclean_log_dirs())

    # ---- run and stop
    def request_stop(self) -> None:
        """Ends :meth:`start` between two of its steps, or :meth:`run_until_stopped`. May be called again."""
        self._stopping.set()

    async def run_until_stopped(self) -> None:
        """Waits for a request to stop, then stops. Raises StartupError when the broker had to stop by itself."""
        await self._stopping.wait()
        await self.stop()
        if self._failure is not None:
            raise StartupError(self._failure)

    async def stop(self) -> None:
        """Answers what is in flight, closes the logs with their clean-shutdown markers, ends the session."""
        services = self.services
        assert self._apis is not None
        assert self._member is not None
        logger.info("Stopping")
        self._apis.abandon()
        if self._metrics is not None:
            await self._metrics.stop()
        await services.config_changes.stop()
        await self._member.leave()
        services.stop_group_coordinator()  # answers the joins that wait, so that the network can close
        await services.run_blocking(services.engine.close_network, CLOSE_NETWORK_LIMIT_MS)
        self._apis.cancel()
        services.replica_manager.fail_appends()
        await self._apis.drain()
        await services.log_manager.stop_housekeeping()
        self._apis.stop()
        await self._member.close()
        await self._close_logs()
        await services.kept_configs.stop()
        if self._marks is not None:
            await self._marks.stop()
        await services.store.close()
        logger.info("Stopped")

    async def _close_logs(self) -> None:
        """Where it fails there is no clean-shutdown marker; that is the outcome of the broker, and no reason to stop halfway."""
        try:
            await self.services.run_blocking(self.services.engine.close_logs)
        except EngineError as error:
            if self._failure is None:
                self._failure = (
                    f"the logs could not all be closed ({error}); the next start recovers those that were not"
                )

    def _on_log_dir_failed(self, event: LogDirFailed) -> None:
        """The directory's partitions go offline, the others serve; without any directory left the broker stops."""
        services = self.services
        if event.log_dir in services.log_manager.failed:
            return
        logger.error("Log directory %s failed: %s", event.log_dir, event.reason)
        lost = services.log_manager.fail(event.log_dir, event.reason)
        services.replica_manager.take_offline(lost)
        if self._member is not None:
            self._member.report_log_dir_failure()
        if not services.log_manager.online:
            self._failure = (
                f"All log directories have failed, the last was {event.log_dir}: {event.reason}; repair or replace it and"
                " start again"
            )
            self.request_stop()


def _say_who_may_give_orders(config: BrokerConfig) -> None:
    """One line, where anybody who reaches the listener of the brokers may act as one."""
    secret = config.inter_broker_secret
    if config.is_member and (secret is None or not secret.is_required):
        key = FILE_KEY if secret is None else f"{REQUIRED_KEY}=true"
        logger.warning(
            "Whoever reaches listener %s may act as a broker of this cluster: set %s (docs/operations.md)",
            config.inter_broker_listener,
            key,
        )


def _on_thread_failed(event: ThreadFailed) -> None:
    """Ends the process as after a crash: a supervisor starts it again, and recovery checks what was written. An orderly
    stop would wait for the thread, and mark logs as clean that are not."""
    logger.critical("Thread %s of the data plane failed (%s); the broker ends at once", event.thread, event.reason)
    logging.shutdown()
    os._exit(FAILED)


def _warm_up() -> None:
    """Imports the codec while the first client connects: the first request would wait for it (some 40 ms)."""
    import kafkastore.server.codec  # noqa: F401


def run_until_stopped(config: BrokerConfig) -> None:
    """Runs a broker in this process until one of STOP_SIGNALS. Raises StartupError."""
    asyncio.run(_run(config))


async def _run(config: BrokerConfig) -> None:
    broker = Broker(config)
    loop = asyncio.get_running_loop()
    handled = [number for number in STOP_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    for number in handled:
        loop.add_signal_handler(number, broker.request_stop)
    try:
        gc.disable()  # what a start makes stays, and looking through it again and again takes a tenth of the start
        await broker.start()
        gc.freeze()
        collect_seldom()
        gc.enable()
        _say_how_to_connect(broker)
        _say_who_may_give_orders(broker.config)
        await broker.run_until_stopped()
    except StopRequested:
        _leave()
    finally:
        for number in handled:  # one that comes while the process ends has been obeyed already
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_IGN)


def collect_seldom() -> None:
    """A look for cycles through all objects holds the loop for half a microsecond each, and a large request makes 100,000s. Cycles
    of requests die young and are found among young objects."""
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, COLLECTIONS_APART)


def _leave() -> NoReturn:
    """Ends the process although the thread of a recovery may run for minutes; nothing of it is to be kept."""
    logger.info("Stopped before the start was complete")
    logging.shutdown()
    os._exit(0)


def _tell(line: str) -> None:
    """On stderr. Where that is full or gone the broker serves all the same."""
    with suppress(OSError):
        sys.stderr.write(line)
        sys.stderr.flush()


def _say_how_to_connect(broker: Broker) -> None:
    services = broker.services
    advertised = registration.advertised(broker.config, broker.ports)
    own = broker.config.inter_broker_listener if broker.config.get("inter.broker.listener.name") else None
    of_clients = [one for one in advertised if one[0] != own] or advertised
    addresses = ",".join(f"{host}:{port}" for _, host, port in of_clients)
    reachable = ", ".join(map(repr, broker.config.open_listeners))
    warning = f"; NO AUTHENTICATION: whoever reaches {reachable} may do everything" if reachable else ""
    _tell(
        f"kafkastore {__version__} is ready: bootstrap.servers={addresses}"
        f" (node {services.node_id}, cluster {services.cluster_id}, {len(services.image.topics)} topics,"
        f" data in {', '.join(broker.config.log_dirs)}){warning}\n"
    )
