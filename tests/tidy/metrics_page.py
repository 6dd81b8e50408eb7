"""Writes ``docs/metrics.md`` out of the metric families of a snapshot (``make docs``)."""

from __future__ import annotations

from collections import defaultdict
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from tidy.sources import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from prometheus_client import Metric

PAGE = ROOT / "docs" / "metrics.md"

HEAD = """\
# Metrics

    kafkastore.metrics.listener=localhost:9404

serves the metrics to Prometheus at `/metrics`; this needs `pip install 'kafkastore[metrics]'` (prometheus-client). A
broker with the key and without the package does not start. The names are those that Prometheus' JMX exporter gives
Apache Kafka's metrics, so dashboards made for Kafka work; names that begin with `kafkastore_` are ours. The page has
only what is measured: there are no latencies of requests, for example.

A scrape reads the control plane in turns and makes the page on a thread of its own. Scrapes within one second share a
page. At most eight scrapers are connected; the connection of a further scraper is closed at once, and so is that of a
scraper that sends nothing for five seconds or does not take its page in ten. There is no authentication: let only
Prometheus reach the address.

The page is made by `make docs` from `python/kafkastore/metrics/`; a test fails when it is out of date.

"""

NOTES = """\
## Notes

- Counts of topics are there twice: without a label for all topics together, and with the label `topic` for each. Bytes
  are of batches; requests count partitions and conversions count records, as in Kafka.
- `request` names consumers' and followers' fetches apart: `FetchConsumer`, `FetchFollower`.
- Clients have rows where they have a [limit](quotas.md#metrics); a label that does not matter is empty. Controller
  mutations are on the controller alone.
- The rate of `kafkastore_event_loop_pass_seconds_sum` is the fraction of the time in which the control plane's loop is
  busy. A pass that takes more than 100 ms is logged, too, at most once in ten seconds, with the request or event that
  took longest in it.
- `kafkastore_budget_used_bytes` counts memory that clients make the broker hold, `kafkastore_descriptors_used` its
  [file descriptors](operations.md#file-descriptors).
- Alarms are worth it on `kafka_server_replicamanager_underreplicatedpartitions`,
  `kafka_controller_kafkacontroller_offlinepartitionscount`, `kafka_log_logmanager_offlinelogdirectorycount` and
  `kafka_log_logcleanermanager_uncleanable_partitions_count` above 0, and on
  `kafkastore_certificate_end_timestamp_seconds - time()` below a month.
"""

SECTIONS = (
    ("Topics", ("kafka_server_brokertopicmetrics_",)),
    ("Replicas and the cluster", ("kafka_server_replicamanager_", "kafka_controller_", "kafka_brokers")),
    ("Partitions and disks", ("kafka_log_log_", "kafka_log_logmanager_", "kafkastore_log_bytes",
                              "kafkastore_metrics_partitions_")),
    ("The log cleaner", ("kafka_log_logcleaner", "kafkastore_log_")),
    ("Clients with a limit", ("kafka_server_produce_", "kafka_server_fetch_", "kafka_server_request_",
                              "kafka_server_controllermutation_", "kafkastore_metrics_clients_")),
    ("Connections and requests", ("kafka_network_", "kafka_server_", "kafkastore_request_", "kafkastore_event_loop_",
                                  "kafkastore_certificate_")),
    ("Limits of the broker", ("kafkastore_",)),
)  # fmt: skip
"""A sample is in the first section that has the beginning of its name."""


def _families() -> Iterator[Metric]:
    """All families, each with a row: of one topic, one partition, one client, one listener."""
    from kafkastore.metrics.clients import ClientSnapshot, MutationFigures
    from kafkastore.metrics.families import TOPIC_COUNTS, CleanerSnapshot, LoopFigures, Snapshot, families

    numbers: Any = defaultdict(int, {"descriptors budget": 1})
    partition: Any = SimpleNamespace(
        topic="t", partition=0, size_bytes=0, log_start_offset=0, log_end_offset=0, segments=1
    )
    kinds = ("Produce", "Fetch", "Request")
    return families(
        Snapshot(
            engine=numbers,
            requests={"Produce": 1},
            topics=[("t", [0] * len(TOPIC_COUNTS))],
            partitions=[partition],
            cluster=numbers,
            holds={"Produce": 1.0},
            loop=LoopFigures(0.0, (), (0,), 0.0),
            cleaner=CleanerSnapshot(numbers, numbers, {}, [("d", 0, 0)], [("t", 0, 0.0)]),
            clients=ClientSnapshot(
                [(kind, "u", "c", 0.0, 0.0) for kind in kinds],
                [MutationFigures("u", "c", 0.0, 0.0, 0.0)],
                {"Produce": 1},
                [("", "", 0.0, 0.0, 0.0), ("listener", "l", 0.0, 0.0, 0.0), ("ip", "i", 0.0, 0.0, 0.0)],
            ),
            certificate_ends={("l", "keystore"): 0.0},
        )
    )


def _samples(families: Iterable[Metric]) -> dict[str, tuple[list[str], str]]:
    """Labels and text by name. A label that only some samples have is there, too."""
    found: dict[str, tuple[list[str], str]] = {}
    for family in families:
        for sample in family.samples:
            if sample.name.endswith("_created"):
                continue
            labels, text = found.setdefault(sample.name, ([], family.documentation))
            labels += [label for label in sample.labels if label not in labels]
            assert text == family.documentation
    return found


def page() -> str:
    rows: dict[str, list[str]] = {title: [] for title, _ in SECTIONS}
    for name, (labels, text) in _samples(_families()).items():
        title = next(title for title, beginnings in SECTIONS if name.startswith(beginnings))
        rows[title].append(f"| `{name}` | {', '.join(f'`{label}`' for label in labels)} | {text} |")
    head = "| name | labels | what it is |\n|---|---|---|\n"
    tables = (f"## {title}\n\n{head}" + "\n".join(lines) for title, lines in rows.items())
    return HEAD + "\n\n".join(tables) + "\n\n" + NOTES
