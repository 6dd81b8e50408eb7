"""The metrics of one broker: takes the figures, and serves the page of ``kafkastore.metrics.listener``.

The control plane's figures are read on its loop, in turns. The data plane's figures are read, and the page is made, on
a thread of the page. Without the key this module is not imported; ``isr_changes.py``, ``holds.py`` and ``loop_lag.py``
count in any case.
"""

from __future__ import annotations

import asyncio
import logging
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeVar

from kafkastore.dynamic_config.entity_names import sanitize
from kafkastore.errors import StartupError
from kafkastore.metadata.image import NO_LEADER
from kafkastore.purgatory.turns import Turn
from kafkastore.requests.registry import BY_KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from kafkastore._core import CleanerFigures, Engine
    from kafkastore.config import BrokerConfig
    from kafkastore.dynamic_config.mutation_quotas import MutationQuotas
    from kafkastore.log.cleaner import LogCleaner
    from kafkastore.log.manager import LogManager
    from kafkastore.metadata.image import MetadataImage
    from kafkastore.metrics.clients import ClientSnapshot
    from kafkastore.metrics.families import CleanerSnapshot, LoopFigures, Snapshot
    from kafkastore.metrics.page import MetricsPage
    from kafkastore.server.holds import LoopHolds
    from kafkastore.server.loop_lag import LoopLag

T = TypeVar("T")

logger = logging.getLogger("kafkastore.server.metrics")

LISTENER_KEY: Final = "kafkastore.metrics.listener"
MAX_PARTITIONS_KEY: Final = "kafkastore.metrics.max.partitions"

MAX_CLIENTS: Final = 1000
"""Rows of clients by kind of quota, and of addresses. A row is two or three samples."""

LOOP_LIMIT_S: Final = 8.0
"""How long a scrape waits for the loop; Prometheus gives up after ten seconds by default."""


class ControllerStatus(Protocol):
    """What the metrics read of the controller."""

    @property
    def is_active(self) -> bool: ...


class MetricsSources(NamedTuple):
    """The parts of a broker whose figures are taken."""

    node_id: int
    engine: Engine
    image: MetadataImage
    held: MetadataImage
    log_manager: LogManager
    controller: ControllerStatus
    isr_counts: Mapping[str, int]
    holds: LoopHolds
    lag: LoopLag | None
    """None on a loop that is no ControlLoop."""
    mutations: MutationQuotas
    certificate_ends: Callable[[], Mapping[tuple[str, str], int]]
    """By (listener, store), in seconds since 1970."""


class Metrics:
    """See the module. Made before the logs are opened, so that an address in use refuses the start at once."""

    def __init__(self, config: BrokerConfig, loop: asyncio.AbstractEventLoop) -> None:
        self._config = config
        self._loop = loop
        self._observed: MetricsSources | None = None
        self._page = self._make_page()
        host, _ = config.metrics_listener or ("", 0)
        self.address = f"{host or '*'}:{self._page.port}"

    def start(self, observed: MetricsSources) -> None:
        self._observed = observed
        self._page.start()
        logger.info("Metrics are served at http://%s/metrics, to whoever reaches it", self.address)

    async def stop(self) -> None:
        await self._loop.run_in_executor(None, self._page.stop)

    def _make_page(self) -> MetricsPage:
        address = self._config.metrics_listener
        assert address is not None
        try:
            from prometheus_client import CollectorRegistry, generate_latest

            from kafkastore.metrics.families import SnapshotCollector
        except ImportError as error:
            raise StartupError(
                f"{LISTENER_KEY}={self._config.text(LISTENER_KEY)} needs the package prometheus-client ({error}):"
                " pip install 'kafkastore[metrics]', or remove the key"
            ) from None
        from kafkastore.metrics.page import MetricsPage

        registry = CollectorRegistry(auto_describe=False)
        registry.register(SnapshotCollector(self._take))
        return MetricsPage(*address, partial(generate_latest, registry))

    # ---- on the page's thread
    def _take(self) -> Snapshot:
        from kafkastore.metrics.families import Snapshot

        observed = self._observed
        assert observed is not None  # the page is served from start on
        cluster = self._ask(cluster_figures(observed))
        clients = self._client_snapshot(observed)
        figures = observed.engine.metrics(self._config.get_int(MAX_PARTITIONS_KEY))
        engine = figures.totals
        requests = {api.name: count for key, count in figures.requests.items() if (api := BY_KEY.get(key)) is not None}
        fetches, of_followers = requests.get("Fetch", 0), engine["FollowerFetches"]
        requests["FetchConsumer"], requests["FetchFollower"] = max(fetches - of_followers, 0), of_followers
        return Snapshot(
            engine,
            requests,
            figures.topics,
            figures.partitions,
            cluster,
            observed.holds.recent(),
            None if observed.lag is None else loop_figures(observed.lag),
            cleaner_snapshot(
                observed.engine.cleaner_figures(),
                observed.log_manager.cleaner,
                self._config.get_int(MAX_PARTITIONS_KEY),
            ),
            clients,
            observed.certificate_ends(),
        )

    def _client_snapshot(self, observed: MetricsSources) -> ClientSnapshot:
        from kafkastore.metrics.clients import ClientSnapshot, MutationFigures

        mutations, left_out = self._ask(observed.mutations.figures(MAX_CLIENTS))
        quotas = observed.engine.quotas()
        clients, of_kinds = quotas.client_figures(MAX_CLIENTS)
        connections, of_ips = quotas.connection_figures(MAX_CLIENTS)
        return ClientSnapshot(
            [(row[0], sanitize(row[1]), *row[2:]) for row in clients],
            [MutationFigures(sanitize(row[0]), *row[1:]) for row in mutations],
            {**dict(of_kinds), "ControllerMutation": left_out, "ip": of_ips},
            connections,
        )

    def _ask(self, figures: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine of the loop."""
        future = asyncio.run_coroutine_threadsafe(figures, self._loop)
        try:
            return future.result(LOOP_LIMIT_S)
        except TimeoutError:
            future.cancel()
            raise


async def cluster_figures(observed: MetricsSources) -> dict[str, float]:
    """The control plane's figures, by the names of ``metrics/families.py``. Runs on the loop, in turns."""
    image, logs, controller = observed.image, observed.log_manager, observed.controller
    found: dict[str, float] = {
        "ActiveControllerCount": int(controller.is_active),
        "OfflineLogDirectoryCount": len(logs.failed),
        "OfflineReplicaCount": 0,
        "brokers": len(image.brokers),
        **observed.isr_counts,
    }
    turn = Turn()
    if logs.failed:
        for topic in list(observed.held.topics.values()):
            await turn.give_way()
            for number, state in enumerate(topic.partitions):
                directory = logs.directory_of(topic.name, number)
                is_offline = directory is None or directory in logs.failed
                found["OfflineReplicaCount"] += observed.node_id in state.replicas and is_offline
    topics = partitions = offline = imbalanced = 0
    if controller.is_active:
        for topic in list(image.topics.values()):
            await turn.give_way()
            topics += 1
            partitions += len(topic.partitions)
            for state in topic.partitions:
                offline += state.leader == NO_LEADER
                imbalanced += bool(state.replicas) and state.leader != state.replicas[0]
    return found | {
        "GlobalTopicCount": topics,
        "GlobalPartitionCount": partitions,
        "OfflinePartitionsCount": offline,
        "PreferredReplicaImbalanceCount": imbalanced,
    }


def cleaner_snapshot(figures: CleanerFigures, cleaner: LogCleaner, max_rows: int) -> CleanerSnapshot:
    """No dirty ratios of single logs when there are more than ``max_rows``."""
    from kafkastore.metrics.families import CleanerSnapshot

    totals = cleaner.totals
    since_last_run_ms = time.time() * 1000 - figures.last_run_ms if figures.last_run_ms else 0.0
    return CleanerSnapshot(
        {
            "max-buffer-utilization-percent": 100 * totals.max_buffer_utilization,
            "cleaner-recopy-percent": 100 * totals.recopy_ratio,
            "max-clean-time-secs": totals.max_clean_time_s,
            "max-compaction-delay-secs": figures.max_compaction_delay_ms / 1000,
            "DeadThreadCount": cleaner.dead_threads,
            "max-dirty-percent": 100 * figures.max_dirty_ratio,
            "time-since-last-run-ms": since_last_run_ms,
        },
        {
            "read_bytes": totals.read_bytes,
            "written_bytes": totals.written_bytes,
            "read_records": totals.read_records,
            "kept_records": totals.kept_records,
        },
        totals.runs,
        figures.uncleanable,
        figures.dirty_ratios if len(figures.dirty_ratios) <= max_rows else [],
    )


def loop_figures(lag: LoopLag) -> LoopFigures:
    from kafkastore.metrics.families import LoopFigures
    from kafkastore.server.loop_lag import BOUNDS_S

    counts, sum_s = lag.passes()
    return LoopFigures(lag.longest_s(), BOUNDS_S, counts, sum_s)
