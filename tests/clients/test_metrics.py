"""The page of the metrics beside real produces and fetches whose number is known."""

from __future__ import annotations

import re
import sys
import urllib.request
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from prometheus_client.parser import text_string_to_metric_families

from parity.raw_client import RawClient
from peer.broker_factory import BrokerFactory
from peer.broker_process import BrokerProcess, wait_until
from peer.topics import create_topic
from tidy.blocks import expanded, inline_code
from tidy.sources import pages

RECORDS = 500
OFFSETS_PARTITIONS = 4
"""Of `__consumer_offsets`, which the consumer brings about."""
Page = dict[tuple[str, frozenset[tuple[str, str]]], float]
BROKER_TOPICS = "kafka_server_brokertopicmetrics_"


LISTENER = "kafkastore.metrics.listener"
APP = frozenset({("user", ""), ("client_id", "app")})


@pytest.fixture
def measured(broker_factory: BrokerFactory) -> BrokerProcess:
    return broker_factory({LISTENER: "127.0.0.1:0"}, kind="kafkastore")


def text_of_page(broker: BrokerProcess) -> str:
    line = re.compile(r"Metrics are served at (http://\S+/metrics)")
    wait_until(lambda: line.search(broker.output()), 20, "the metrics are served, a moment after the broker listens")
    with urllib.request.urlopen(line.findall(broker.output())[-1], timeout=20) as answer:
        text: str = answer.read().decode()
    return text


def scrape(broker: BrokerProcess) -> Page:
    families = text_string_to_metric_families(text_of_page(broker))
    samples = [sample for family in families for sample in family.samples]
    page = {(sample.name, frozenset(sample.labels.items())): sample.value for sample in samples}
    assert len(page) == len(samples), "a sample stands twice"
    return page


def value(page: Page, name: str, **labels: str) -> float:
    return page[name, frozenset(labels.items())]


def test_metrics_that_the_documentation_names_are_served(measured: BrokerProcess) -> None:
    named = {
        one
        for page in pages()
        if page.name != "docs/testing.md"  # fixtures and keys of an ini file begin so, too
        for _, code in inline_code(page)
        if re.fullmatch(r"kafka(?:store)?_[a-z_{},]+", code)
        for one in expanded(code)
    }
    assert len(named) > 60
    served = set(re.findall(r"^# TYPE (\w+)", text_of_page(measured), re.MULTILINE))
    histograms = {f"{name}{end}" for name in served for end in ("_bucket", "_count", "_sum")}
    assert named - served - histograms == set()


def test_counts_are_what_was_produced_and_fetched(measured: BrokerProcess) -> None:
    broker = measured
    create_topic(broker.bootstrap, "counted", partitions=2)
    before = scrape(broker)
    assert value(before, f"{BROKER_TOPICS}messagesin_total") == 0
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 50})
    for number in range(RECORDS):
        producer.produce("counted", b"x" * 100, partition=number % 2)
    assert producer.flush(20) == 0
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "g", "enable.auto.commit": False})
    consumer.assign([TopicPartition("counted", number, 0) for number in range(2)])
    taken = 0
    while taken < RECORDS:
        taken += len(consumer.consume(RECORDS, 10))
    page: Page = {}

    def is_counted() -> bool:  # a page is as old as a second
        page.update(scrape(broker))
        return value(page, f"{BROKER_TOPICS}bytesout_total") > 0

    wait_until(is_counted, 20, "the fetches are counted")
    assert value(page, f"{BROKER_TOPICS}messagesin_total", topic="counted") == RECORDS
    assert value(page, f"{BROKER_TOPICS}messagesin_total") == RECORDS
    size = sum(value(page, "kafka_log_log_size", topic="counted", partition=str(number)) for number in range(2))
    assert size > RECORDS * 100
    assert value(page, f"{BROKER_TOPICS}bytesin_total", topic="counted") == size
    assert value(page, f"{BROKER_TOPICS}bytesout_total", topic="counted") >= size
    assert value(page, f"{BROKER_TOPICS}failedproducerequests_total") == 0
    for number in range(2):
        of_partition = {"topic": "counted", "partition": str(number)}
        assert value(page, "kafka_log_log_logendoffset", **of_partition) == RECORDS / 2
        assert value(page, "kafka_log_log_numlogsegments", **of_partition) == 1
    produced = value(page, "kafka_network_requestmetrics_requests_total", request="Produce")
    assert 1 <= produced <= value(page, f"{BROKER_TOPICS}totalproducerequests_total", topic="counted") <= RECORDS
    assert value(page, "kafka_network_requestmetrics_requests_total", request="CreateTopics") == 1
    fetches = value(page, "kafka_network_requestmetrics_requests_total", request="Fetch")
    assert fetches == value(page, "kafka_network_requestmetrics_requests_total", request="FetchConsumer") >= 1
    assert value(page, "kafka_server_replicamanager_leadercount") == 2 + OFFSETS_PARTITIONS
    assert value(page, "kafka_server_replicamanager_underreplicatedpartitions") == 0
    assert value(page, "kafka_controller_kafkacontroller_activecontrollercount") == 1
    assert value(page, "kafka_controller_kafkacontroller_globalpartitioncount") == 2 + OFFSETS_PARTITIONS
    assert value(page, "kafka_server_socket_server_metrics_connection_count") >= 1
    assert value(page, "kafkastore_descriptors_used", use="connections") >= 1
    assert 0 < value(page, "kafkastore_event_loop_longest_delay_seconds") < 60
    passes = value(page, "kafkastore_event_loop_pass_seconds_count")
    assert 0 < value(page, "kafkastore_event_loop_pass_seconds_bucket", le="0.001") <= passes
    assert passes == value(page, "kafkastore_event_loop_pass_seconds_bucket", le="+Inf")
    consumer.close()


def test_refused_produces_are_counted_and_no_counter_falls_when_a_topic_is_deleted(measured: BrokerProcess) -> None:
    broker = measured
    from confluent_kafka.admin import AdminClient

    create_topic(broker.bootstrap, "small", config={"max.message.bytes": "100"})
    create_topic(broker.bootstrap, "other")
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    producer.produce("small", b"x" * 1000)
    producer.produce("other", b"x")
    assert producer.flush(20) == 0
    before = scrape(broker)
    assert value(before, f"{BROKER_TOPICS}failedproducerequests_total", topic="small") == 1
    assert value(before, f"{BROKER_TOPICS}failedproducerequests_total", topic="other") == 0
    assert value(before, f"{BROKER_TOPICS}failedproducerequests_total") == 1
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for future in admin.delete_topics(["other", "small"]).values():
        future.result(20)
    key = (f"{BROKER_TOPICS}messagesin_total", frozenset({("topic", "other")}))
    after: Page = {}

    def is_gone() -> bool:
        after.update(page := scrape(broker))
        return key not in page

    wait_until(is_gone, 20, "the topic has no samples any more")
    assert value(after, f"{BROKER_TOPICS}messagesin_total") == 1
    assert value(after, f"{BROKER_TOPICS}failedproducerequests_total") == 1


def test_partitions_beyond_the_limit_have_no_samples_and_are_counted(broker_factory: BrokerFactory) -> None:
    broker = broker_factory({LISTENER: "127.0.0.1:0", "kafkastore.metrics.max.partitions": "3"}, kind="kafkastore")
    create_topic(broker.bootstrap, "wide", partitions=4)
    page = scrape(broker)
    assert value(page, "kafkastore_metrics_partitions_left_out") == 4
    assert value(page, "kafka_server_replicamanager_partitioncount") == 4
    assert not [name for name, _ in page if name.startswith("kafka_log_log_")]
    assert value(page, f"{BROKER_TOPICS}messagesin_total", topic="wide") == 0


def test_client_with_a_limit_has_its_rate_and_throttle_time(measured: BrokerProcess) -> None:
    broker = measured
    create_topic(broker.bootstrap, "t")
    raw = RawClient("127.0.0.1", broker.port)
    entity = [{"entity_type": "client-id", "entity_name": "app"}]
    entry = {"entity": entity, "ops": [{"key": "producer_byte_rate", "value": 1000.0, "remove": False}]}
    (answer,) = raw.ask("alter_client_quotas", 1, {"entries": [entry], "validate_only": False}).entries
    raw.close()
    assert answer.error_code == 0
    for client_id in ("app", "other"):
        producer = Producer({"bootstrap.servers": broker.bootstrap, "client.id": client_id})
        producer.produce("t", b"x" * 11_000)
        assert producer.flush(20) == 0
    page: Page = {}

    def is_there() -> bool:
        page.update(scrape(broker))
        return page.get(("kafka_server_produce_throttle_time", APP), 0) > 0

    wait_until(is_there, 20, "the client was held back")
    assert page["kafka_server_produce_byte_rate", APP] > 1000
    assert len([name for name, _ in page if name == "kafka_server_produce_byte_rate"]) == 1
    assert value(page, "kafkastore_metrics_clients_left_out", quota="Produce") == 0
    assert value(page, "kafka_server_socket_server_metrics_connection_accept_rate", listener="PLAINTEXT") > 0


@pytest.mark.parametrize(
    ("listener", "sentence"),
    [
        ("localhost", "it is not host:port, as in localhost:9404"),
        ("localhost:70000", "port 70000 is not between 0 and 65535"),
        ("::1:9404", "it is not host:port"),
    ],
)
def test_listener_that_is_none_refuses_the_start(broker_factory: BrokerFactory, listener: str, sentence: str) -> None:
    broker = broker_factory({LISTENER: listener}, kind="kafkastore", start=False)
    broker.launch()
    assert broker.wait_until_ended() == 1
    assert f"configuration {LISTENER}: {sentence}" in broker.output().strip().splitlines()[-1]


def test_broker_without_prometheus_client_and_with_the_key_refuses_the_start(
    broker_factory: BrokerFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "prometheus_client.py").write_text("raise ImportError('not here')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    broker = broker_factory({LISTENER: "localhost:0"}, kind="kafkastore", start=False)
    broker.launch()
    assert broker.wait_until_ended() == 1
    sentence = "needs the package prometheus-client (not here): pip install 'kafkastore[metrics]'"
    assert sentence in broker.output().strip().splitlines()[-1]


def test_broker_without_the_key_imports_nothing_of_the_metrics() -> None:
    """Start-up time and memory of the default broker stay."""
    import subprocess

    code = (
        "import sys, kafkastore.server.broker;"
        " print([one for one in sys.modules if 'metrics' in one or 'prometheus' in one])"
    )
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout.strip() == "[]"


def test_cleanings_show_on_the_page(broker_factory: BrokerFactory) -> None:
    soon = {"log.cleaner.backoff.ms": "100", "log.cleaner.min.cleanable.ratio": "0.01"}
    broker = broker_factory({LISTENER: "127.0.0.1:0", **soon}, kind="kafkastore")
    create_topic(
        broker.bootstrap, "kept", partitions=1, config={"cleanup.policy": "compact", "segment.bytes": "1048576"}
    )
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 20})
    for number in range(3 * RECORDS):
        producer.produce("kept", b"x" * 2000, key=f"key {number % 5}")
    producer.flush(30)

    def has_cleaned() -> bool:
        return value(scrape(broker), "kafkastore_log_cleaner_runs_total", outcome="cleaned") >= 1

    wait_until(has_cleaned, 20, "the cleaner has compacted the sealed segments")
    page = scrape(broker)
    read, kept = (value(page, f"kafkastore_log_cleaner_{name}_records_total") for name in ("read", "kept"))
    assert read > kept >= 5
    assert value(page, "kafka_log_logcleaner_deadthreadcount") == 0
    assert value(page, "kafkastore_log_cleaner_runs_total", outcome="uncleanable") == 0
