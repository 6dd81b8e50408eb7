"""``kafka-configs`` and ``kafka-client-metrics`` print what Kafka's print, on the same broker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from peer.broker_process import BrokerProcess
from peer.java_tools import JavaTools
from tools.comparison import ours, same

CHANGES = [
    "--topic kc-a --add-config retention.ms=5,cleanup.policy=[compact,delete],compression.type=lz4",
    "--entity-type topics --entity-name kc-b --add-config-file {file}",
    "--broker 1 --add-config log.cleaner.threads=2",
    "--broker-defaults --add-config log.retention.ms=86400000",
    "--client-metrics kc-m --add-config interval.ms=1000,metrics=[a,b]",
    "--group kc-g --add-config consumer.session.timeout.ms=46000",
    "--user kc-u --add-config producer_byte_rate=1024,consumer_byte_rate=20971520,request_percentage=0.5",
    "--user kc-u --client app --add-config producer_byte_rate=12345678.0",
    "--entity-type users --entity-name kc-u --entity-type clients --entity-default --add-config consumer_byte_rate=7",
    "--user-defaults --add-config request_percentage=200",
    "--client app --add-config controller_mutation_rate=0.0001",
    "--client-defaults --add-config controller_mutation_rate=1.5",
    "--ip 127.0.0.9 --add-config connection_creation_rate=100000",
    "--ip-defaults --add-config connection_creation_rate=100001",
    "--user kc-s --add-config SCRAM-SHA-256=[iterations=8192,password=secret]",
    "--user kc-s --add-config SCRAM-SHA-512=[password=secret]",
]
"""Are made again by Kafka's tool, which changes nothing and must print the same."""
REMOVALS = [
    "--broker 1 --delete-config log.cleaner.threads",
    "--entity-type brokers --entity-default --delete-config log.retention.ms",
    "--client-metrics kc-m --delete-config interval.ms --delete-config metrics",
    "--group kc-g --delete-config consumer.session.timeout.ms",
    "--user kc-u --delete-config producer_byte_rate,consumer_byte_rate,request_percentage",
    "--user kc-u --client app --delete-config producer_byte_rate",
    "--entity-type clients --entity-default --entity-type users --entity-name kc-u --delete-config consumer_byte_rate",
    "--user-defaults --delete-config request_percentage",
    "--client app --delete-config controller_mutation_rate",
    "--client-defaults --delete-config controller_mutation_rate",
    "--ip 127.0.0.9 --delete-config connection_creation_rate",
    "--ip-defaults --delete-config connection_creation_rate",
    "--user kc-s --delete-config SCRAM-SHA-256,SCRAM-SHA-512",
]


@pytest.fixture(scope="module")
def words(broker: BrokerProcess, java: JavaTools, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """--bootstrap-server of a broker on which something is set of every kind."""
    given = ["--bootstrap-server", broker.bootstrap]
    for name in ("kc-a", "kc-b"):
        ours("kafka-topics", *given, "--create", "--topic", name)
    file = tmp_path_factory.mktemp("configs") / "add.properties"
    file.write_text("# of a file\nretention.ms=7777\nsegment.bytes = 2000000\n")
    for line in CHANGES:
        change = ["--alter", *line.format(file=file).split()]
        assert ours("kafka-configs", *given, *change).exit == 0, line
        same(java, "kafka-configs", *given, *change)
    yield given
    for line in REMOVALS:
        assert ours("kafka-configs", *given, "--alter", *line.split()).out.startswith("Completed updating"), line
    ours("kafka-topics", *given, "--delete", "--topic", "kc-.*")


DESCRIBED = [
    "--topic kc-a",
    "--topic kc-a --all",
    "--entity-type topics --entity-name kc-b",
    "--topic kc-none",
    "--topic kc/a",
    "--broker 1",
    "--broker 1 --all",
    "--broker 7",
    "--broker-defaults",
    "--entity-type brokers --entity-default --all",
    "--entity-type brokers",
    "--broker-logger 1",
    "--client-metrics kc-m",
    "--client-metrics kc-none",
    "--entity-type client-metrics",
    "--group kc-g",
    "--group kc-g --all",
    "--group kc-none",
    "--user kc-u",
    "--user kc-s",
    "--user kc-none",
    "--user kc-u --client app",
    "--user-defaults",
    "--client-defaults",
    "--entity-type users",
    "--entity-type clients",
    "--entity-type ips",
    "--entity-type users --entity-type clients",
    "--entity-type users --entity-name kc-u --entity-type clients",
    "--ip 127.0.0.9",
    "--ip-defaults",
]
REFUSED = [
    "--topic kc-none --add-config retention.ms=5",
    "--topic kc-a --add-config foo=b",
    "--topic kc-a --add-config retention.ms=abc",
    "--topic kc-a --add-config retention.ms",
    "--topic kc-a --add-config a/b=c",
    "--topic kc-a",
    "--topic kc-a --add-config a=b --add-config-file x",
    "--topic kc-a --add-config-file /nowhere",
    "--broker x --add-config a=b",
    "--broker-logger 1 --add-config nowhere=INFO",
    "--user kc-s --add-config SCRAM-SHA-256=[iterations=10,password=x]",
    "--user kc-s --add-config SCRAM-SHA-256=[password=]",
    "--user kc-s --add-config SCRAM-SHA-256=[pass=x]",
    "--user kc-s --add-config SCRAM-SHA-256=[password=x],producer_byte_rate=4",
    "--user-defaults --add-config SCRAM-SHA-256=[password=x]",
    "--user kc-s --client x --add-config SCRAM-SHA-256=[password=x]",
    "--user kc-s --delete-config producer_byte_rate",
    "--user kc-s --add-config foo=1",
    "--user kc-s --add-config producer_byte_rate=abc",
    "--ip 127.0.0.9 --add-config producer_byte_rate=100",
    "--entity-type users --add-config producer_byte_rate=1",
    "--entity-type topics --add-config a=b",
]
WRONG = [
    "",
    "--help",
    "--version",
    "--describe",
    "--describe --alter",
    "--describe --entity-type foo",
    "--describe --topic a --topic b",
    "--describe --topic a --add-config a=b",
    "--describe --topic a --user b",
    "--describe --entity-type topics --topic a",
    "--describe --entity-type topics --entity-default",
    "--describe --entity-type broker-loggers",
]


@pytest.mark.parametrize("line", [f"--describe {line}" for line in DESCRIBED])
def test_describes_as_kafkas(words: list[str], java: JavaTools, line: str) -> None:
    same(java, "kafka-configs", *words, *line.split())


@pytest.mark.parametrize("line", [f"--alter {line}" for line in REFUSED] + WRONG)
def test_refuses_what_kafkas_refuses(words: list[str], java: JavaTools, line: str) -> None:
    same(java, "kafka-configs", *words, *line.split())


METRICS = [
    "--list",
    "--describe",
    "--describe --name kc-m",
    "--describe --name kc-none",
    "--alter --name kc-m --interval 2000 --match client_id=x,client_software_name=y",
    "--alter --name kc-m --interval abc",
    "--alter --name kc-m --match foo=x",
    "--alter",
    "--delete",
    "--delete --name kc-none",
    "--list --name x",
    "--version",
]


@pytest.mark.parametrize("line", METRICS)
def test_client_metrics_are_shown_and_changed_as_kafkas(words: list[str], java: JavaTools, line: str) -> None:
    same(java, "kafka-client-metrics", *words, *line.split())


def test_client_metrics_come_and_go(words: list[str]) -> None:
    made = ours("kafka-client-metrics", *words, "--alter", "--generate-name", "--metrics", "a", "--metrics", "b")
    name = made.out.split()[-1].rstrip(".")
    assert "  metrics=a,b\n" in ours("kafka-client-metrics", *words, "--describe", "--name", name).out
    assert ours("kafka-client-metrics", *words, "--delete", "--name", name).exit == 0
    assert name not in ours("kafka-client-metrics", *words, "--list").out


@pytest.mark.parametrize("given", ["pass=hushed", "iterations=99999,password=hushed"])
def test_no_error_shows_a_password(words: list[str], given: str) -> None:
    for rest in ("", ",hushed", " hushed", "]hushed"):
        added = f"SCRAM-SHA-256=[{given}{rest}]"
        refused = ours("kafka-configs", *words, "--alter", "--user", "x", "--add-config", added)
        assert (refused.exit, "hushed" in refused.err) == (1, False), added
