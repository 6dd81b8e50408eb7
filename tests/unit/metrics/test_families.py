"""The content of the metrics page, read by Prometheus' own parser."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from kafkastore.metrics.clients import ClientSnapshot, MutationFigures
from kafkastore.metrics.families import TOPIC_COUNTS, CleanerSnapshot, LoopFigures, Snapshot, SnapshotCollector

ENGINE = {name: at for at, (name, _) in enumerate(TOPIC_COUNTS, start=100)} | {
    "PartitionCount": 3,
    "LeaderCount": 2,
    "UnderReplicatedPartitions": 1,
    "UnderMinIsrPartitionCount": 0,
    "AtMinIsrPartitionCount": 1,
    "OfflineReplicaCount": 0,
    "log bytes": 4096,
    "waiting Produce": 5,
    "waiting Fetch": 6,
    "waiting DeleteRecords": 7,
    "FollowerFetches": 8,
    "connections": 9,
    "events": 10,
    "sessions": 11,
    "session bytes": 12,
    "session bytes limit": 13,
    "unsent bytes": 14,
    "unsent bytes limit": 15,
    "queued bytes": 16,
    "queued bytes limit": 17,
    "parked partitions": 18,
    "parked partitions limit": 19,
    "descriptors of connections": 20,
    "descriptors of files": 21,
    "descriptors budget": 22,
    "descriptors limit": 23,
}
CLUSTER: dict[str, float] = {
    "ActiveControllerCount": 1,
    "OfflinePartitionsCount": 2,
    "PreferredReplicaImbalanceCount": 3,
    "GlobalTopicCount": 4,
    "GlobalPartitionCount": 5,
    "OfflineReplicaCount": 6,
    "OfflineLogDirectoryCount": 7,
    "brokers": 8,
    "IsrShrinks": 9,
    "IsrExpands": 10,
    "FailedIsrUpdates": 11,
}


def partition_figures(number: int, size: int, log_start: int, log_end: int, segments: int) -> Any:
    return SimpleNamespace(
        topic="a",
        partition=number,
        size_bytes=size,
        log_start_offset=log_start,
        log_end_offset=log_end,
        segments=segments,
    )


def scraped(**more: Any) -> dict[tuple[str, ...], float]:
    """(name, label values...) -> value of each sample on the page."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(SnapshotCollector(lambda: Snapshot(ENGINE, cluster=CLUSTER, **more)))
    found: dict[tuple[str, ...], float] = {}
    for family in text_string_to_metric_families(generate_latest(registry).decode()):
        for sample in family.samples:
            key = (sample.name, *(value for _, value in sorted(sample.labels.items(), reverse=True)))
            assert key not in found, f"{key} twice"
            found[key] = sample.value
    return found


def test_every_figure_has_its_name_and_counters_end_in_total() -> None:
    loop = LoopFigures(0.25, (0.01, 0.1), (5, 2, 1), 0.75)
    ends = {("SSL", "keystore"): 1_800_000_000}
    page = scraped(
        requests={"Produce": 2, "Heartbeat": 1}, holds={"Heartbeat": 0.001}, loop=loop, certificate_ends=ends
    )
    assert page["kafkastore_certificate_end_timestamp_seconds", "keystore", "SSL"] == 1_800_000_000
    assert page["kafka_server_brokertopicmetrics_messagesin_total",] == 100
    assert page["kafka_server_brokertopicmetrics_failedfetchrequests_total",] == 108
    assert page["kafka_server_replicamanager_underreplicatedpartitions",] == 1
    assert page["kafka_server_replicamanager_isrshrinks_total",] == 9
    assert page["kafka_server_replicamanager_offlinereplicacount",] == 6
    assert page["kafka_controller_kafkacontroller_activecontrollercount",] == 1
    assert page["kafka_network_requestmetrics_requests_total", "Produce"] == 2
    assert page["kafka_server_delayedoperationpurgatory_purgatorysize", "Fetch"] == 6
    assert page["kafka_server_socket_server_metrics_connection_count",] == 9
    assert page["kafkastore_event_loop_longest_delay_seconds",] == 0.25
    passes = "kafkastore_event_loop_pass_seconds"
    assert [page[f"{passes}_bucket", bound] for bound in ("0.01", "0.1", "+Inf")] == [5, 7, 8]
    assert (page[f"{passes}_count",], page[f"{passes}_sum",]) == (8, 0.75)
    assert page["kafkastore_request_longest_hold_seconds", "Heartbeat"] == 0.001
    assert page["kafkastore_budget_used_bytes", "unsent"] == 14
    assert page["kafkastore_budget_limit_bytes", "queued"] == 17
    assert page["kafkastore_descriptors_used", "files"] == 21
    assert page["kafkastore_descriptors_budget",] == 22
    shown = set(page.values())
    assert shown >= set(range(100, 100 + len(TOPIC_COUNTS))) | set(range(9, 24)), "a figure of the engine is on no line"


def test_topics_and_partitions_have_samples_of_their_own_beside_the_totals() -> None:
    counts = list(range(len(TOPIC_COUNTS)))
    partitions = [partition_figures(0, 10, 11, 12, 13), partition_figures(1, 20, 21, 22, 23)]
    page = scraped(topics=[('a"\\\n', counts)], partitions=partitions)
    for at, (name, _) in enumerate(TOPIC_COUNTS):
        family = f"kafka_server_brokertopicmetrics_{name.lower()}_total"
        assert (page[family,], page[family, 'a"\\\n']) == (100 + at, at)
    assert page["kafka_log_log_size", "a", "1"] == 20
    assert page["kafka_log_log_logstartoffset", "a", "0"] == 11
    assert page["kafka_log_log_logendoffset", "a", "1"] == 22
    assert page["kafka_log_log_numlogsegments", "a", "0"] == 13
    assert page["kafkastore_metrics_partitions_left_out",] == 0


def test_partitions_without_figures_of_their_own_are_counted() -> None:
    page = scraped()
    assert page["kafkastore_metrics_partitions_left_out",] == 3
    assert not [key for key in page if key[0].startswith("kafkastore_event_loop")], "the loop is not watched"
    assert not [key for key in page if key[0].startswith("kafka_log_log_")]


def test_cleaner_has_kafkas_gauges_and_counts_of_its_own() -> None:
    gauges = {
        "max-buffer-utilization-percent": 1.5,
        "cleaner-recopy-percent": 2.5,
        "max-clean-time-secs": 3.5,
        "max-compaction-delay-secs": 4.5,
        "DeadThreadCount": 5,
        "max-dirty-percent": 6.5,
        "time-since-last-run-ms": 7.5,
    }
    counts = {"read_bytes": 10, "written_bytes": 11, "read_records": 12, "kept_records": 13}
    ratios = [("t", 3, 0.25)]
    page = scraped(cleaner=CleanerSnapshot(gauges, counts, {"cleaned": 2}, [("/data", 1, 99)], ratios))
    assert page["kafka_log_logcleaner_cleaner_recopy_percent",] == 2.5
    assert page["kafka_log_logcleaner_deadthreadcount",] == 5
    assert page["kafka_log_logcleanermanager_time_since_last_run_ms",] == 7.5
    assert page["kafka_log_logcleanermanager_uncleanable_partitions_count", "/data"] == 1
    assert page["kafka_log_logcleanermanager_uncleanable_bytes", "/data"] == 99
    assert page["kafkastore_log_cleaner_kept_records_total",] == 13
    assert (
        page["kafkastore_log_cleaner_runs_total", "cleaned"],
        page["kafkastore_log_cleaner_runs_total", "failed"],
    ) == (2, 0)
    assert page["kafkastore_log_dirty_ratio", "t", "3"] == 0.25
    assert set(page.values()) >= {*gauges.values(), *counts.values()}


def test_clients_and_connections_have_the_names_that_jmx_exporter_gives_kafka_s() -> None:
    page = scraped(
        clients=ClientSnapshot(
            clients=[
                ("Produce", "", "app", 5.0, 6.0),
                ("Fetch", "a%20b", "", 7.0, 0.0),
                ("Request", "alice", "app", 8.5, 9.0),
            ],
            mutations=[MutationFigures("alice", "", 1.5, -2.0, 300.0)],
            left_out={"Produce": 3, "ip": 0},
            connections=[
                ("", "", 1.0, 0.0, 0.0),
                ("listener", "PLAINTEXT", 2.0, 3.0, 4.0),
                ("ip", "10.0.0.1", 5.0, 0.0, 0.0),
            ],
        )
    )
    assert page["kafka_server_produce_byte_rate", "", "app"] == 5
    assert page["kafka_server_produce_throttle_time", "", "app"] == 6
    assert page["kafka_server_fetch_byte_rate", "a%20b", ""] == 7
    assert page["kafka_server_request_request_time", "alice", "app"] == 8.5
    assert page["kafka_server_controllermutation_mutation_rate", "alice", ""] == 1.5
    assert page["kafka_server_controllermutation_tokens", "alice", ""] == -2
    assert page["kafka_server_controllermutation_throttle_time", "alice", ""] == 300
    assert page["kafkastore_metrics_clients_left_out", "Produce"] == 3
    accepted = "kafka_server_socket_server_metrics_"
    assert page[f"{accepted}broker_connection_accept_rate",] == 1
    assert page[f"{accepted}connection_accept_rate", "PLAINTEXT"] == 2
    assert page[f"{accepted}connection_accept_rate", "10.0.0.1"] == 5
    assert page[f"{accepted}connection_accept_throttle_time", "PLAINTEXT"] == 3
    assert page[f"{accepted}ip_connection_accept_throttle_time", "PLAINTEXT"] == 4
