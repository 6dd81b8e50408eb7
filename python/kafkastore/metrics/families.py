"""The metric families of one snapshot, by the names that Grafana boards for Kafka use.

The names are those which Prometheus' JMX exporter gives Kafka's MBeans: ``kafka_<domain>_<type>_<name>``, counters with
``_total``. Metrics that Kafka does not have begin with ``kafkastore_``. A figure that is not measured here has no
family. This module reads a :class:`Snapshot` and nothing else. It never uses prometheus-client's own instruments, so
neither their multiprocess mode nor their locks are ever on the path of a request.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import accumulate
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from kafkastore.metrics.clients import client_families

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from prometheus_client import Metric

    from kafkastore._core import PartitionFigures
    from kafkastore.metrics.clients import ClientSnapshot


class LoopFigures(NamedTuple):
    """How long the passes of the control plane's loop took, in seconds."""

    longest_s: float
    """The longest pass in the last one to two minutes."""
    bounds_s: Sequence[float]
    counts: Sequence[int]
    """Passes by bucket since the broker began to serve; there is one more bucket than there are bounds."""
    sum_s: float


class CleanerSnapshot(NamedTuple):
    """The log cleaner's figures."""

    gauges: Mapping[str, float]
    """By the names in :data:`_CLEANER`."""
    counts: Mapping[str, int]
    """By the names in :data:`_CLEANED`."""
    runs: Mapping[str, int]
    """Cleanings that have ended, by outcome."""
    uncleanable: Sequence[tuple[str, int, int]]
    """(log directory, logs, bytes)."""
    dirty_ratios: Sequence[tuple[str, int, float]]
    """(topic, partition, ratio)."""


@dataclass
class Snapshot:
    """The figures of one scrape."""

    engine: Mapping[str, int] = field(default_factory=dict)
    """Figures of the data plane, by the engine's names (``rust/broker/figures.rs``)."""
    requests: Mapping[str, int] = field(default_factory=dict)
    """How many requests came, by Kafka's name of the request."""
    topics: Sequence[tuple[str, Sequence[int]]] = ()
    """(topic, counts in the order of :data:`TOPIC_COUNTS`)."""
    partitions: Sequence[PartitionFigures] = ()
    cluster: Mapping[str, float] = field(default_factory=dict)
    """Figures of the control plane, by the names in :data:`_CLUSTER` and :data:`_COUNTED`."""
    holds: Mapping[str, float] = field(default_factory=dict)
    """By request the longest that one step of it held the loop in the last one to two minutes, in seconds."""
    loop: LoopFigures | None = None
    """None where the loop is not watched."""
    cleaner: CleanerSnapshot | None = None
    """None where no log is cleaned."""
    clients: ClientSnapshot | None = None
    certificate_ends: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """By (listener, "keystore" or "truststore") when the first certificate ends, in seconds since 1970."""


TOPIC_COUNTS: Final = (
    ("MessagesIn", "Records appended by this broker as the leader"),
    ("BytesIn", "Bytes of batches appended by this broker as the leader"),
    ("BytesOut", "Bytes of batches sent to consumers"),
    ("ReplicationBytesIn", "Bytes of batches appended by this broker as a follower"),
    ("ReplicationBytesOut", "Bytes of batches sent to followers"),
    ("TotalProduceRequests", "Partitions of Produce requests"),
    ("FailedProduceRequests", "Partitions of Produce requests that were refused"),
    ("TotalFetchRequests", "Partitions of Fetch requests that were answered"),
    ("FailedFetchRequests", "Partitions of Fetch requests that were refused"),
    ("ProduceMessageConversions", "Records of old clients that became a batch (magic 0 or 1 to 2)"),
    ("FetchMessageConversions", "Records that became messages for old clients (magic 2 to 0 or 1)"),
)
"""Kafka's BrokerTopicMetrics, in the engine's order."""

_REPLICA_MANAGER: Final = (
    ("PartitionCount", "Replicas on this broker"),
    ("LeaderCount", "Partitions that this broker leads"),
    ("UnderReplicatedPartitions", "Led partitions with fewer replicas in sync than assigned"),
    ("UnderMinIsrPartitionCount", "Led partitions with fewer replicas in sync than acks=all needs"),
    ("AtMinIsrPartitionCount", "Led partitions with just as many replicas in sync as acks=all needs"),
)

_HELD: Final = (
    ("kafka_network_requestchannel_requestqueuesize", "events", "Requests and events that wait for the control plane"),
    ("kafka_server_socket_server_metrics_connection_count", "connections", "Connections of clients and brokers"),
    ("kafka_server_fetchsessioncache_numincrementalfetchsessions", "sessions", "Fetch sessions"),
    ("kafkastore_log_bytes", "log bytes", "Bytes of all segments on this broker"),
)

_BUDGETS: Final = (
    ("unsent", "unsent bytes"),
    ("queued", "queued bytes"),
    ("fetch_sessions", "session bytes"),
)

_CLUSTER: Final = {
    "ActiveControllerCount": ("kafka_controller_kafkacontroller_activecontrollercount", "1 on the active controller"),
    "OfflinePartitionsCount": (
        "kafka_controller_kafkacontroller_offlinepartitionscount",
        "Partitions without a leader, on the active controller",
    ),
    "PreferredReplicaImbalanceCount": (
        "kafka_controller_kafkacontroller_preferredreplicaimbalancecount",
        "Partitions that their preferred replica does not lead, on the active controller",
    ),
    "GlobalTopicCount": ("kafka_controller_kafkacontroller_globaltopiccount", "Topics, on the active controller"),
    "GlobalPartitionCount": (
        "kafka_controller_kafkacontroller_globalpartitioncount",
        "Partitions, on the active controller",
    ),
    "OfflineReplicaCount": (
        "kafka_server_replicamanager_offlinereplicacount",
        "Replicas of this broker in a log directory that is offline",
    ),
    "OfflineLogDirectoryCount": ("kafka_log_logmanager_offlinelogdirectorycount", "Log directories that are offline"),
    "brokers": ("kafka_brokers", "Brokers that are alive, as this broker was told"),
}

_COUNTED: Final = {
    "IsrShrinks": "In-sync sets that this broker, as the leader, has had made smaller",
    "IsrExpands": "In-sync sets that this broker, as the leader, has had made larger",
    "FailedIsrUpdates": "Changes of in-sync sets that the controller refused",
}


_CLEANER: Final = {
    "max-buffer-utilization-percent": (
        "kafka_log_logcleaner_max_buffer_utilization_percent",
        "How full the last cleaning's map of keys was",
    ),
    "cleaner-recopy-percent": (
        "kafka_log_logcleaner_cleaner_recopy_percent",
        "Bytes that the last cleaning wrote, of those that it read",
    ),
    "max-clean-time-secs": ("kafka_log_logcleaner_max_clean_time_secs", "How long the last cleaning took"),
    "max-compaction-delay-secs": (
        "kafka_log_logcleaner_max_compaction_delay_secs",
        "For how long the oldest dirty record is older than max.compaction.lag.ms",
    ),
    "DeadThreadCount": (
        "kafka_log_logcleaner_deadthreadcount",
        "Cleaner threads that an error has ended and that are not started again yet",
    ),
    "max-dirty-percent": ("kafka_log_logcleanermanager_max_dirty_percent", "The greatest dirty ratio of a log"),
    "time-since-last-run-ms": (
        "kafka_log_logcleanermanager_time_since_last_run_ms",
        "Time since the cleaner looked for a log to clean",
    ),
}
"""Kafka's gauges of LogCleaner and LogCleanerManager."""

_CLEANED: Final = {
    "read_bytes": ("kafkastore_log_cleaner_read_bytes", "Bytes of batches that cleanings have read"),
    "written_bytes": ("kafkastore_log_cleaner_written_bytes", "Bytes of batches that cleanings have written"),
    "read_records": ("kafkastore_log_cleaner_read_records", "Records that cleanings have read"),
    "kept_records": ("kafkastore_log_cleaner_kept_records", "Records that cleanings have kept"),
}


class SnapshotCollector(Collector):
    """Takes a snapshot with ``take`` at each collection."""

    def __init__(self, take: Callable[[], Snapshot]) -> None:
        self._take = take

    def collect(self) -> Iterator[Metric]:
        yield from families(self._take())


def families(snapshot: Snapshot) -> Iterator[Metric]:
    """See the module."""
    yield from _broker_topics(snapshot)
    engine, cluster = snapshot.engine, snapshot.cluster
    for name, text in _REPLICA_MANAGER:
        yield GaugeMetricFamily(f"kafka_server_replicamanager_{name.lower()}", text, engine[name])
    for name, text in _COUNTED.items():
        yield CounterMetricFamily(f"kafka_server_replicamanager_{name.lower()}", text, cluster[name])
    for key, (name, text) in _CLUSTER.items():
        yield GaugeMetricFamily(name, text, cluster[key])
    yield _requests(snapshot)
    for name, key, text in _HELD:
        yield GaugeMetricFamily(name, text, engine[key])
    yield from _purgatories(engine)
    yield from _limits(engine)
    holds = GaugeMetricFamily(
        "kafkastore_request_longest_hold_seconds",
        "The longest that one step of a request held the control plane's loop, in the last one to two minutes",
        labels=["request"],
    )
    for request, seconds in snapshot.holds.items():
        holds.add_metric([request], seconds)
    yield holds
    if snapshot.loop is not None:
        yield from _loop(snapshot.loop)
    if snapshot.cleaner is not None:
        yield from _cleaner(snapshot.cleaner)
    if snapshot.clients is not None:
        yield from client_families(snapshot.clients)
    ends = GaugeMetricFamily(
        "kafkastore_certificate_end_timestamp_seconds",
        "When the first certificate of a listener ends, of its own and of the authorities that it trusts",
        labels=["listener", "store"],
    )
    for labels, seconds in snapshot.certificate_ends.items():
        ends.add_metric(labels, seconds)
    yield ends
    yield from _partitions(snapshot)


def _broker_topics(snapshot: Snapshot) -> Iterator[Metric]:
    """Each count twice, as Kafka's two MBeans give it: without a label for all topics together, and with the label
    ``topic`` for each topic."""
    for at, (name, text) in enumerate(TOPIC_COUNTS):
        family = CounterMetricFamily(f"kafka_server_brokertopicmetrics_{name.lower()}", text)
        family.add_metric([], snapshot.engine[name])
        for topic, counts in snapshot.topics:
            family.add_sample(f"{family.name}_total", {"topic": topic}, counts[at])
        yield family


def _requests(snapshot: Snapshot) -> Metric:
    family = CounterMetricFamily("kafka_network_requestmetrics_requests", "Requests that came", labels=["request"])
    for request, count in sorted(snapshot.requests.items()):
        family.add_metric([request], count)
    return family


def _purgatories(engine: Mapping[str, int]) -> Iterator[Metric]:
    family = GaugeMetricFamily(
        "kafka_server_delayedoperationpurgatory_purgatorysize",
        "Requests that wait, once for each partition that they watch",
        labels=["delayedoperation"],
    )
    for operation in ("Produce", "Fetch", "DeleteRecords"):
        family.add_metric([operation], engine[f"waiting {operation}"])
    yield family


def _limits(engine: Mapping[str, int]) -> Iterator[Metric]:
    used = GaugeMetricFamily(
        "kafkastore_budget_used_bytes", "Bytes that clients make the broker hold", labels=["budget"]
    )
    limit = GaugeMetricFamily("kafkastore_budget_limit_bytes", "The most that they may", labels=["budget"])
    for budget, key in _BUDGETS:
        used.add_metric([budget], engine[key])
        limit.add_metric([budget], engine[f"{key} limit"])
    yield used
    yield limit
    text = "Partitions that waiting fetches watch; a fetch beyond the limit is answered with what there is"
    yield GaugeMetricFamily("kafkastore_parked_partitions", text, engine["parked partitions"])
    yield GaugeMetricFamily("kafkastore_parked_partitions_limit", text, engine["parked partitions limit"])
    if "descriptors budget" not in engine:
        return
    used = GaugeMetricFamily(
        "kafkastore_descriptors_used", "Descriptors that are counted against the budget", labels=["use"]
    )
    for use in ("connections", "files"):
        used.add_metric([use], engine[f"descriptors of {use}"])
    yield used
    yield GaugeMetricFamily(
        "kafkastore_descriptors_budget", "Descriptors for connections and segments", engine["descriptors budget"]
    )
    yield GaugeMetricFamily(
        "kafkastore_descriptors_limit", "The process's limit of open files", engine["descriptors limit"]
    )


def _loop(loop: LoopFigures) -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "kafkastore_event_loop_longest_delay_seconds",
        "The longest that the control plane's loop let a timer or an event wait, in the last one to two minutes",
        loop.longest_s,
    )
    family = HistogramMetricFamily(
        "kafkastore_event_loop_pass_seconds",
        "Passes of the control plane's loop: whatever is due within one waits for the rest of it",
    )
    bounds = [*map(str, loop.bounds_s), "+Inf"]
    family.add_metric([], list(zip(bounds, accumulate(loop.counts), strict=True)), loop.sum_s)
    yield family


def _cleaner(cleaner: CleanerSnapshot) -> Iterator[Metric]:
    for key, (name, text) in _CLEANER.items():
        yield GaugeMetricFamily(name, text, cleaner.gauges[key])
    for key, (name, text) in _CLEANED.items():
        yield CounterMetricFamily(name, text, cleaner.counts[key])
    runs = CounterMetricFamily("kafkastore_log_cleaner_runs", "Cleanings that have ended", labels=["outcome"])
    for outcome in ("cleaned", "stopped", "uncleanable", "resting", "failed"):
        runs.add_metric([outcome], cleaner.runs.get(outcome, 0))
    yield runs
    logs = GaugeMetricFamily(
        "kafka_log_logcleanermanager_uncleanable_partitions_count",
        "Compacted logs that are not cleaned since a batch is corrupt",
        labels=["logdirectory"],
    )
    size = GaugeMetricFamily(
        "kafka_log_logcleanermanager_uncleanable_bytes", "Their bytes that should be cleaned", labels=["logdirectory"]
    )
    for directory, count, size_bytes in cleaner.uncleanable:
        logs.add_metric([directory], count)
        size.add_metric([directory], size_bytes)
    yield logs
    yield size
    ratios = GaugeMetricFamily(
        "kafkastore_log_dirty_ratio", "Dirty bytes of a compacted log, of all its bytes", labels=["topic", "partition"]
    )
    for topic, partition, ratio in cleaner.dirty_ratios:
        ratios.add_metric([topic, str(partition)], ratio)
    yield ratios


def _partitions(snapshot: Snapshot) -> Iterator[Metric]:
    shown = len(snapshot.partitions)
    yield GaugeMetricFamily(
        "kafkastore_metrics_partitions_left_out",
        "Partitions on this broker without figures of their own, since there are more than "
        "kafkastore.metrics.max.partitions",
        0 if shown else snapshot.engine["PartitionCount"],
    )
    named = (
        ("size", "size_bytes", "Bytes of the partition's segments"),
        ("logstartoffset", "log_start_offset", "First offset"),
        ("logendoffset", "log_end_offset", "Offset of the next record"),
        ("numlogsegments", "segments", "Segments"),
    )
    labels: dict[int, dict[str, str]] = defaultdict(dict)
    for name, field_name, text in named:
        figure = attrgetter(field_name)
        family = GaugeMetricFamily(f"kafka_log_log_{name}", text)
        for number, row in enumerate(snapshot.partitions):
            label = labels[number]
            if not label:
                label["topic"], label["partition"] = row.topic, str(row.partition)
            family.add_sample(family.name, label, figure(row))
        yield family
