"""One broker's life: the order in which its parts start and stop.

Start: store and cluster id → data plane → log directories with recovery → topics and logs reconciled → housekeeping →
into the cluster (registration, controller, leases, coordinators) → listeners. Nothing is served before recovery ends;
the listeners open last. In a cluster with other brokers the listeners open before the broker joins, since the
controller on another broker has to reach it: until the controller has sent LeaderAndIsr, every partition answers
NOT_LEADER_OR_FOLLOWER. Stop is the reverse: the clean-shutdown markers come last.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from kafkastore import client_log
from kafkastore._core import EngineError, StartError
from kafkastore.config import HELD
from kafkastore.dynamic_config.broker_configs import DynamicBrokerConfigs
from kafkastore.errors import StartupError
from kafkastore.internal_topics import OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from kafkastore.log.manager import LogManager
from kafkastore.membership import registration
from kafkastore.membership.metadata_marks import MetadataMarks
from kafkastore.metadata.image import MetadataImage
from kafkastore.metadata.store import SessionExpiredError, StoreUnavailableError
from kafkastore.metadata.stored_topics import StoredTopics
from kafkastore.requests.registry import api_version_ranges
from kafkastore.server import known_log_dirs, log_losses
from kafkastore.server.certificates import Certificates
from kafkastore.server.event_loop import asyncio
from kafkastore.server.kafka_apis import KafkaApis
from kafkastore.server.listener_users import let_users_in
from kafkastore.server.loop_lag import lag_of
from kafkastore.server.recovery_progress import show_progress
from kafkastore.server.surroundings import REAL
from kafkastore.server.token_keys import TokenKeys

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from kafkastore._core import Engine, LogDirFailed, ThreadFailed
    from kafkastore.config import BrokerConfig
    from kafkastore.dynamic_config.kept_configs import KeptConfigs
    from kafkastore.membership.member import Member
    from kafkastore.membership.reconcile import ReconciliationResult
    from kafkastore.messages import OutgoingRequest
    from kafkastore.metadata.store import MetadataStore
    from kafkastore.requests.services import BrokerServices
    from kafkastore.server.assembly import BrokerParts
    from kafkastore.server.metrics import Metrics, MetricsSources
    from kafkastore.server.surroundings import Surroundings
    from kafkastore.server.watcher import Watcher

logger = logging.getLogger("kafkastore.server.broker")

CLOSE_NETWORK_LIMIT_MS = 5000
"""How long a stop waits for requests in flight; Kafka's clients retry against the next start."""


DAMAGE_LIMIT_S = 15
"""How long a start that could not read the store looks for the reason."""


FAILED = 1
"""The exit status of a broker that a bug ended."""


class StopRequested(Exception):  # noqa: N818 - nothing went wrong
    """The broker was asked to stop before it had started."""


class Broker:
    """See the module. ``start`` and ``stop`` run once each, on one loop. Several brokers may run in one process.

    ``end(status)`` ends the process at once, after a bug that forbids an orderly stop. Without it
    :meth:`run_until_stopped` raises, and closes nothing.
    """

    store: MetadataStore
    stored_topics: StoredTopics
    engine: Engine
    log_manager: LogManager
    dynamic_configs: DynamicBrokerConfigs
    kept_configs: KeptConfigs
    cluster_id: str

    def __init__(
        self, config: BrokerConfig, surroundings: Surroundings = REAL, end: Callable[[int], None] | None = None
    ) -> None:
        self.config = config
        self.surroundings = surroundings
        self.image = MetadataImage()
        self.ports: list[int] = []
        self.parts: BrokerParts | None = None
        """Made when the logs are open."""
        self._end = end
        self._apis: KafkaApis | None = None
        self._certificate_ends: Callable[[], Mapping[tuple[str, str], int]] = dict
        self._stopping: asyncio.Event = asyncio.Event()
        self._failure: str | None = None
        self._has_died = False
        self._has_logs = False
        self._is_settled = False
        self._marks: MetadataMarks | None = None
        self._metrics: Metrics | None = None
        self._watched: tuple[Watcher, ...] = ()

    @property
    def services(self) -> BrokerServices:
        """The services that handlers get. Available once the logs are open, like :attr:`member` and :meth:`serve`."""
        assert self.parts is not None
        return self.parts.services

    @property
    def member(self) -> Member:
        assert self.parts is not None
        return self.parts.member

    async def serve(self, request: OutgoingRequest) -> Any:
        """Answers a request of this broker itself as if it had come over the inter-broker listener."""
        assert self.parts is not None
        return await self.parts.dispatch.serve(request)

    # ---- start
    async def start(self) -> None:
        """Returns when the listeners are open. Raises StartupError, or StopRequested when a stop was requested first;
        everything is closed again then, but a recovery that was under way may still run in its thread."""
        known_log_dirs.refuse_missing(self.config)
        self.surroundings.refuse_missing_store(self.config)
        self.config.load_secret()
        if self.config.metrics_listener is not None:
            from kafkastore.server.metrics import Metrics

            self._metrics = Metrics(self.config, asyncio.get_running_loop())
        self.store = self.surroundings.open_store(self.config)
        try:
            self._marks = MetadataMarks(self.config, self.store)
            await self._marks.judge()
            await self._unless_stopped(self.store.connect())
            await self._marks.judge()
            await self._open_logs()
            await self._marks.finish_check()
            self._check_stop()
            lost = await self._meet_cluster()
            await self._marks.start(self.log_manager)
            self._check_stop()
            self._start_serving()
            await self._unless_stopped(self._join(lost))
            lag = lag_of(self.services.loop)
            if lag is not None:
                lag.begin()
            if self._metrics is not None:
                self._metrics.start(self.observed())
        except (StartError, EngineError) as error:
            await self.abandon()
            raise StartupError(str(error)) from None
        except SessionExpiredError:
            await self.abandon()
            limit = self.config.text("zookeeper.session.timeout.ms")
            raise StartupError(
                "the session with the metadata store ended during the start, which was not heard there for "
                f"zookeeper.session.timeout.ms={limit}; start again, with a higher value if it ends again"
            ) from None
        except StoreUnavailableError as unavailable:
            try:
                if self._marks is not None:  # damage may be the cause; then the check raises the error to report
                    async with asyncio.timeout(DAMAGE_LIMIT_S):
                        await self._marks.finish_check()
                raise
            except TimeoutError:  # the disk has not answered at all
                raise unavailable from None
            finally:
                await self.abandon()
        except BaseException:
            await self.abandon()
            raise

    async def _open_logs(self) -> None:
        config, store = self.config, self.store
        self.cluster_id = await registration.agree_on_cluster_id(store, config, self.surroundings.make_id)
        self.dynamic_configs = DynamicBrokerConfigs(config, store, self.image)
        await self.dynamic_configs.load()
        self.stored_topics = StoredTopics(store, is_kept=True)
        self.stored_topics.known = self.image.topic
        loaded = await self.stored_topics.load()
        topics = loaded.topics
        for topic in topics.values():
            if topic.topic_id is not None:
                self.image.put_topic(topic.image())
        for name in loaded.misconfigured & self.image.topics.keys():
            self.image.topics[name].configs = dict(HELD)
        make_engine = self.surroundings.make_engine
        options = self.dynamic_configs.engine_options()
        self.engine = make_engine(config.node_id, self.cluster_id, config.log_dirs, options)
        self.dynamic_configs.look_up_hosts(self.engine)
        self.log_manager = LogManager(config, self.engine)
        self.engine.recovery().set_loss_policy(log_losses.accepted(config), log_losses.replicated(config, topics))
        missing = await known_log_dirs.missing(store, config)
        assert self._marks is not None
        self._marks.begin_check()
        opening = asyncio.get_running_loop().run_in_executor(
            None, self.engine.open_log_dirs, self.dynamic_configs.log_configs(), missing
        )
        import kafkastore.server.assembly  # noqa: F401 - the controller's code, while the data plane reads the disk

        try:
            await show_progress(opening, self._stopping.wait(), self.engine.recovery().progress)
        finally:
            log_losses.tell(self.engine.recovery())
        if not opening.done():
            raise StopRequested  # the logs are as after a crash: the next start recovers them
        log_losses.refuse_missing(config, self.engine.recovery(), topics)
        self._has_logs = True
        for directory, failure in opening.result():
            if failure is not None:
                logger.error("Log directory %s is offline: %s", directory, failure)
                self.log_manager.fail(directory, failure)
        await self._read_kept_configs()
        await known_log_dirs.remember(store, config, self.log_manager.online)
        if not self.log_manager.online:
            reasons = "; ".join(f"{directory}: {why}" for directory, why in self.log_manager.failed.items())
            raise StartupError(
                f"log.dirs={','.join(config.log_dirs)}: none can be used ({reasons}); repair or replace one"
            )

    async def _read_kept_configs(self) -> None:
        from kafkastore.dynamic_config.kept_configs import KeptConfigs

        self.kept_configs = KeptConfigs(self.log_manager, self.store)
        self.log_manager.before_made = self.kept_configs.keep
        await self.kept_configs.load()

    def _check_stop(self) -> None:
        if self._stopping.is_set():
            raise StopRequested

    async def _unless_stopped(self, step: Coroutine[Any, Any, None]) -> None:
        """Waits for a step that a store or a controller may delay. Raises StopRequested, with the step cancelled, when
        a stop is requested first."""
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

    async def _meet_cluster(self) -> ReconciliationResult:
        """Makes the parts and reconciles topics and logs. Returns what this broker lost, for its registration."""
        from kafkastore.membership.reconcile import OpenBroker, reconcile
        from kafkastore.server.assembly import BrokerParts

        self.parts = BrokerParts(
            config=self.config,
            surroundings=self.surroundings,
            cluster_id=self.cluster_id,
            store=self.store,
            stored_topics=self.stored_topics,
            image=self.image,
            engine=self.engine,
            log_manager=self.log_manager,
            dynamic_configs=self.dynamic_configs,
            kept_configs=self.kept_configs,
            metadata_marks=self._marks,
        )
        return await reconcile(
            OpenBroker(
                self.config,
                self.engine,
                self.store,
                self.stored_topics,
                self.image,
                self.log_manager,
                self.kept_configs,
                self.parts.services.config_changes,
            )
        )

    def _start_serving(self) -> None:
        assert self.parts is not None
        services = self.parts.services
        has_sasl = any(listener.has_sasl for listener in self.config.listeners)
        serves_legacy = bool(self.config.get("log.message.format.legacy.enable"))
        self.engine.publish_api_versions(api_version_ranges(serves_legacy=serves_legacy, has_sasl=has_sasl))
        # a coordinator loads the partitions that this broker leads even before its first request: the sessions of
        # groups go on, and prepared transactions are finished
        services.replica_manager.start_when_led(OFFSETS_TOPIC, services.groups.get)
        services.replica_manager.start_when_led(TRANSACTION_STATE_TOPIC, services.transactions.get)
        self.log_manager.start_housekeeping(services.loop)
        client_log.install()
        self._apis = KafkaApis(
            services,
            self.parts.dispatch,
            self.parts.isr_changes,
            self._on_log_dir_failed,
            self._on_thread_failed,
        )
        self._apis.start()

    def observed(self) -> MetricsSources:
        """The parts whose figures the metrics show."""
        from kafkastore.server.metrics import MetricsSources

        assert self.parts is not None
        assert self._apis is not None
        services, counts = self.parts.services, self.parts.isr_changes.counts
        return MetricsSources(
            self.config.node_id,
            self.engine,
            self.image,
            services.replica_manager.held,
            self.log_manager,
            services.controller,
            counts,
            self._apis.holds,
            lag_of(services.loop),
            services.quotas.mutations,
            self._certificate_ends,
        )

    async def _join(self, lost: ReconciliationResult) -> None:
        member = self.member
        await self.services.features.start()
        if self.services.acls is not None:
            await self.services.acls.start()
        is_among_others = self.config.is_member
        await self.services.config_changes.load_followed()
        self.services.delegation_tokens.begin()
        if is_among_others:
            await self._listen()
        await member.join(self.ports or None, lost)
        self.stored_topics.forget()
        self._is_settled = True
        await self.services.config_changes.start(may_have_missed=is_among_others)
        if not is_among_others:
            await self._listen()
            if any(listener.port == 0 for listener in self.config.listeners):
                await member.announce(self.ports)

    async def _listen(self) -> None:
        security = self.engine.security()
        assert self.parts is not None
        certificates = Certificates(self.config, security, self.parts.dialer.tls)
        certificates.read()
        self._certificate_ends = certificates.warnings.earliest
        let_users_in(self.config, security)
        token_keys = TokenKeys(self.config, security)
        await token_keys.read()
        wanted = [(listener.name, listener.host, listener.port) for listener in self.config.listeners]
        self.ports = self.engine.listen(wanted)
        self._watched = certificates, token_keys
        for one in self._watched:
            one.watch()

    async def abandon(self) -> None:
        """Closes what a failed start has opened, without a word to the other brokers. A test that ends a started
        broker as a crash would does the same (``testing/running.py``)."""
        for one in self._watched:
            await one.stop()
        if self._metrics is not None:
            await self._metrics.stop()
        if self.parts is not None:
            await self.member.close()
        if self._apis is not None:
            self._apis.stop()
            await self.log_manager.stop_housekeeping()
        if self.ports:
            await _run_blocking(self.engine.close_network, CLOSE_NETWORK_LIMIT_MS)
        if self._may_close_logs():
            await self._close_logs()
        if self._marks is not None:
            await self._marks.stop()
        await self.store.close()

    def _may_close_logs(self) -> bool:
        """Whether clean-shutdown markers may be written. They must not be written in directories that may belong to
        another broker, nor before the leader epochs are raised after an unclean stop: the next start would not raise
        them."""
        return self._has_logs and (self._is_settled or not self.engine.recovery().unclean_logs())

    # ---- run and stop
    def request_stop(self) -> None:
        """Ends :meth:`start` between two of its steps, or :meth:`run_until_stopped`. May be called again."""
        self._stopping.set()

    async def run_until_stopped(self) -> None:
        """Waits for a request to stop, then stops. Raises StartupError when the broker had to stop by itself."""
        await self._stopping.wait()
        if not self._has_died:
            await self.stop()
        if self._failure is not None:
            raise StartupError(self._failure)

    async def stop(self) -> None:
        """Answers the requests in flight, closes the logs with their clean-shutdown markers, ends the session."""
        services = self.services
        assert self._apis is not None
        logger.info("Stopping")
        self._apis.abandon()
        for one in self._watched:
            await one.stop()
        if self._metrics is not None:
            await self._metrics.stop()
        await services.config_changes.stop()
        await services.delegation_tokens.stop()
        await services.features.stop()
        if services.acls is not None:
            await services.acls.stop()
        await self.member.leave()
        if services.groups.made is not None:
            services.groups.made.shutdown()  # answers pending JoinGroup requests, so that the network can close
        if services.transactions.made is not None:
            services.transactions.made.shutdown()
        await _run_blocking(self.engine.close_network, CLOSE_NETWORK_LIMIT_MS)
        self._apis.cancel()
        services.replica_manager.fail_appends()
        await self._apis.drain()
        await services.topics.stop()
        await self.log_manager.stop_housekeeping()
        self._apis.stop()
        await self.member.close()
        await self._close_logs()
        await self.kept_configs.stop()
        if self._marks is not None:
            await self._marks.stop()
        await self.store.close()
        logger.info("Stopped")

    async def _close_logs(self) -> None:
        """Closes the logs. A log directory that could not be closed gets no clean-shutdown marker: the error becomes
        the broker's failure, and the stop goes on. After a failed thread nothing is closed."""
        if self._has_died:
            return
        try:
            await _run_blocking(self.engine.close_logs)
        except EngineError as error:
            if self._failure is None:
                self._failure = (
                    f"the logs could not all be closed ({error}); the next start recovers those that were not"
                )

    # ---- events of the data plane
    def _on_log_dir_failed(self, event: LogDirFailed) -> None:
        """Takes the directory's partitions offline; other partitions are served on. Stops the broker when no directory
        is left."""
        if event.log_dir in self.log_manager.failed:
            return
        logger.error("Log directory %s failed: %s", event.log_dir, event.reason)
        lost = self.log_manager.fail(event.log_dir, event.reason)
        self.services.replica_manager.take_offline(lost)
        self.member.report_log_dir_failure()
        if not self.log_manager.online:
            self._failure = (
                f"All log directories have failed, the last was {event.log_dir}: {event.reason}; repair or replace it "
                "and start again"
            )
            self.request_stop()

    def _on_thread_failed(self, event: ThreadFailed) -> None:
        """Ends the broker as a crash would: a supervisor starts it again, and recovery checks the logs. An orderly stop
        would wait for the failed thread, and would write clean-shutdown markers for logs that are not clean."""
        logger.critical("Thread %s of the data plane failed (%s); the broker ends at once", event.thread, event.reason)
        if self._end is not None:
            self._end(FAILED)
        self._has_died = True
        self._failure = f"thread {event.thread} of the data plane failed: {event.reason}; start again"
        self.request_stop()


async def _run_blocking(function: Callable[..., Any], *arguments: Any) -> Any:
    return await asyncio.get_running_loop().run_in_executor(None, function, *arguments)
