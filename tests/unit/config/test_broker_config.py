"""The broker's configuration. Messages and defaults are Apache Kafka 4.3's, printed by its own classes."""

from __future__ import annotations

import logging
import socket
from pathlib import Path

import pytest

from kafkastore.config import (
    SOURCE_DEFAULT,
    SOURCE_DYNAMIC_BROKER,
    SOURCE_DYNAMIC_DEFAULT_BROKER,
    SOURCE_STATIC_BROKER,
    BrokerConfig,
    Listener,
    TopicConfig,
    broker_keys,
    engine_topic_config,
    topic_keys,
    validate_topic_configs,
)
from kafkastore.config.broker import REMOVED_KEYS
from kafkastore.config.broker_values import check_broker_value
from kafkastore.errors import ConfigError


def config(**properties: str) -> BrokerConfig:
    return BrokerConfig({name.replace("__", "."): value for name, value in properties.items()})


# ---- files
def test_file_and_overrides_are_read_and_the_last_override_wins(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text("node.id=4\nlog.dirs=/x/a, /x/b\nnum.partitions=2\n")
    loaded = BrokerConfig.load(str(path), ["num.partitions=3", "num.partitions = 5"])
    assert (loaded.node_id, loaded.log_dirs, loaded.get("num.partitions")) == (4, ["/x/a", "/x/b"], 5)
    assert loaded.get("offsets.topic.replication.factor") == 3  # with a file, Kafka's defaults hold
    assert loaded.get("group.initial.rebalance.delay.ms") == 3000


def test_unknown_key_is_named_without_its_value_and_ignored(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "server.properties"
    key = "MIGHAgEAMBMGByqGSM49AgEG" * 5
    # a plugin's key, or a typing error in ssl.key.password; a line of a PEM file
    path.write_text(f"num.partitions=1\nmetrics.reporter.api.key=hunter2\n{key}\n")
    with caplog.at_level(logging.WARNING):
        loaded = BrokerConfig.load(str(path))
    assert loaded.unknown == [key, "metrics.reporter.api.key"]
    assert "Unknown configuration metrics.reporter.api.key is ignored\n" in caplog.text
    assert "Unknown configuration MIGHAgEA… (120 characters) is ignored\n" in caplog.text
    assert "hunter2" not in caplog.text


def test_file_without_a_key_of_a_broker_is_another_file(tmp_path: Path) -> None:
    path = tmp_path / "broker.pem"
    path.write_text("-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEG\n-----END PRIVATE KEY-----\n")
    with pytest.raises(ConfigError, match=r"broker.pem has no key of a broker; give the path of a server.properties"):
        BrokerConfig.load(str(path))
    path.write_text("")
    assert BrokerConfig.load(str(path)).node_id == 1, "Kafka's defaults"


@pytest.mark.parametrize("path", ["~/data", "$HOME/data", "/data,~"])
def test_directory_that_only_a_shell_knows_is_refused(path: str) -> None:
    with pytest.raises(ConfigError, match=r"means nothing here; give an absolute path"):
        BrokerConfig({"log.dirs": path})


def test_unknown_key_with_a_typing_error_is_told_the_right_one(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        BrokerConfig.load(None, ["num.partition=3", "log.cleaner.thread=2", "Listeners=x"])
    assert [record.getMessage() for record in caplog.records] == [
        "Unknown configuration Listeners is ignored; did you mean listeners?",
        "Unknown configuration log.cleaner.thread is ignored; did you mean log.cleaner.threads?",
        "Unknown configuration num.partition is ignored; did you mean num.partitions?",
    ]


def test_key_that_kafka_has_removed_is_told_what_to_do_instead(caplog: pytest.LogCaptureFixture) -> None:
    BrokerConfig.load(None, ["port=9092", "advertised.host.name=x", "log.message.format.version=3.0"])
    assert caplog.messages == [
        "Configuration advertised.host.name was removed in Kafka 4 and is ignored; use advertised.listeners",
        "Configuration log.message.format.version was removed in Kafka 4 and is ignored; leave it out, new records "
        "have the format of Kafka 0.11 and later",
        "Configuration port was removed in Kafka 4 and is ignored; use listeners",
    ]
    assert not set(REMOVED_KEYS) & set(broker_keys())


@pytest.mark.parametrize(
    ("key", "reason"), [("listeners", "give at least one"), ("log.dirs", "give at least one directory")]
)
def test_empty_value_is_shown_in_quotes(key: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=f'^Invalid value "" for configuration {key}: {reason}'):
        BrokerConfig({key: ""})


@pytest.mark.parametrize(
    ("data", "directory"),
    [
        (b"\xef\xbb\xbflog.dirs=/x/a", "/x/a"),
        ("log.dirs=/x/dat\u00e9".encode(), "/x/dat\u00e9"),
        (b"# donn\xe9es\nlog.dirs=/x/a", "/x/a"),
    ],
    ids=["a mark of UTF-8", "UTF-8", "ISO-8859-1"],
)
def test_file_is_utf_8_or_what_java_reads(tmp_path: Path, data: bytes, directory: str) -> None:
    path = tmp_path / "server.properties"
    path.write_bytes(data)
    assert BrokerConfig.load(str(path), []).log_dirs == [directory]


def test_user_without_a_home_directory_is_asked_for_log_dirs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)  # HOME is unset, and passwd has no such user
    with pytest.raises(ConfigError, match=r"no home directory for it; set log\.dirs"):
        BrokerConfig.load(None, [])


def test_data_of_a_broker_without_a_file_are_in_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative XDG_DATA_HOME is none; a comma would separate two directories."""
    monkeypatch.setenv("XDG_DATA_HOME", "share")
    monkeypatch.setenv("HOME", "/home/me")
    assert BrokerConfig.load(None).log_dirs == ["/home/me/.local/share/kafkastore"]
    monkeypatch.setenv("HOME", "/home/x,y")
    with pytest.raises(ConfigError, match=r"in /home/x,y/.local/share a comma would separate two .*; set log.dirs"):
        BrokerConfig.load(None)
    assert BrokerConfig.load(None, ["log.dirs=/data"]).log_dirs == ["/data"]


def test_relative_log_dirs_in_a_directory_that_is_gone_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(ConfigError, match="the working directory is gone; give absolute paths"):
        config(log__dirs="data")


def test_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nothing\.properties: No such file"):
        BrokerConfig.load(str(tmp_path / "nothing.properties"))


def test_override_without_a_value_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"--override num\.partitions: give it as key=value"):
        BrokerConfig.load(None, ["num.partitions"])


def test_open_listener_advertises_this_host_and_says_when_others_cannot_reach_that(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(socket, "getfqdn", lambda: "me.example")
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, _: [host])
    config = BrokerConfig.load(None, ["listeners=PLAINTEXT://:9092"])
    assert [one.host for one in config.advertised_listeners] == ["me.example"]
    assert caplog.messages == []

    def fail(*_: object) -> None:
        raise OSError

    monkeypatch.setattr(socket, "getaddrinfo", fail)  # this host has no address under its name
    config = BrokerConfig.load(None, ["listeners=PLAINTEXT://:9092"])
    assert [one.host for one in config.advertised_listeners] == ["localhost"]
    assert caplog.messages == [
        "PLAINTEXT://:9092 is open to other hosts and advertises localhost, which is another place there; set "
        "advertised.listeners"
    ]
    caplog.clear()
    open_here = ["listeners=PLAINTEXT://:9092", "advertised.listeners=PLAINTEXT://localhost:9092"]
    BrokerConfig.load(None, open_here)
    assert caplog.messages == [
        "PLAINTEXT://:9092 is open to other hosts and advertised.listeners names localhost, which is another place "
        "there; name this host as others reach it"
    ]
    caplog.clear()
    BrokerConfig.load(None, [*open_here, "num.io.threads=3"], is_start=False)  # only a broker is told of them
    assert caplog.messages == []


@pytest.mark.parametrize("host", ["a b", "é", "a\x01b", "x" * 254, "under$core"])
def test_host_that_no_client_can_use_is_refused(host: str) -> None:
    for key in ("listeners", "advertised.listeners"):
        with pytest.raises(ConfigError, match="is no host"):
            BrokerConfig.load(None, [f"{key}=PLAINTEXT://{host}:9092"])


def test_without_a_file_one_broker_runs_that_needs_no_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "/home/me/data")
    embedded = BrokerConfig.load(None)
    assert embedded.log_dirs == ["/home/me/data/kafkastore"]
    assert embedded.metadata_path == "/home/me/data/kafkastore/kafkastore-metadata.sqlite"
    assert embedded.listeners == [Listener("PLAINTEXT", "localhost", 9092, "PLAINTEXT")]  # no other host reaches it
    assert embedded.advertised_listeners == [Listener("PLAINTEXT", "localhost", 9092, "PLAINTEXT")]
    assert embedded.get("offsets.topic.replication.factor") == 1
    assert embedded.get("group.initial.rebalance.delay.ms") == 0
    assert BrokerConfig.load(None, ["log.dirs=/y"]).log_dirs == ["/y"]


def test_kafkas_own_kraft_file_is_understood() -> None:
    kraft = config(
        process__roles="broker,controller",
        node__id="1",
        controller__quorum__voters="1@localhost:9093",
        listeners="PLAINTEXT://:9092,CONTROLLER://:9093",
        advertised__listeners="PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
        controller__listener__names="CONTROLLER",
        listener__security__protocol__map="CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL",
        inter__broker__listener__name="PLAINTEXT",
    )
    assert [listener.name for listener in kraft.listeners] == ["PLAINTEXT"]
    assert [listener.name for listener in kraft.advertised_listeners] == ["PLAINTEXT"]


def test_broker_is_a_member_when_its_metadata_is_shared() -> None:
    assert not BrokerConfig({"log.dirs": "/data"}).is_member
    assert BrokerConfig({"log.dirs": "/data", "zookeeper.connect": "zk:2181"}).is_member
    assert BrokerConfig({"log.dirs": "/data", "kafkastore.metadata.path": "/shared/metadata.sqlite"}).is_member


# ---- refusals
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("num.partitions", "x", "Invalid value x for configuration num.partitions: Not a number of type INT"),
        ("num.partitions", "0", "Invalid value 0 for configuration num.partitions: Value must be at least 1"),
        ("num.partitions", "1_0", "Not a number of type INT"),
        ("num.partitions", "3000000000", "Not a number of type INT"),
        ("log.cleaner.min.cleanable.ratio", "2", "Invalid value 2.0 .* Value must be no more than 1"),
        ("delete.topic.enable", "maybe", "Expected value to be either true or false"),
        ("compression.type", "foo", "String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer"),
        ("compression.gzip.level", "0", "Value must be between 1 and 9 or equal to -1"),
        ("log.cleanup.policy", "delete,foo", "Invalid value foo for configuration log.cleanup.policy"),
        ("log.retention.ms", "0", "log.retention.ms: it must be unlimited \\(-1\\) or, greater than or equal to 1"),
        ("log.retention.hours", "0", "log.retention.hours: it must be unlimited"),
        ("log.roll.ms", "0", "log.roll.ms: Value must be at least 1"),
        ("listeners", "PLAINTEXT:9092", "configuration listeners: PLAINTEXT:9092 is not NAME://host:port"),
        ("listeners", "PLAINTEXT://:x", "PLAINTEXT://:x is not NAME://host:port"),
        ("listeners", "PLAINTEXT://:99999", "port 99999 is not between 0 and 65535"),
        ("listeners", "FOO://:1", "No security protocol defined for listener FOO"),
        ("listeners", "PLAINTEXT://a:1,PLAINTEXT://b:2", "each listener must have a different name"),
        ("listeners", "PLAINTEXT://:1,SSL://:1", "each listener must have a different port"),
        ("listeners", "", "give at least one, as PLAINTEXT://:9092"),
        ("listener.security.protocol.map", "A:B", "A:B is not NAME:PROTOCOL"),
        ("advertised.listeners", "PLAINTEXT://0.0.0.0:1", "0.0.0.0 cannot be advertised"),
        ("advertised.listeners", "SSL://h:1", "SSL is not among listeners \\(PLAINTEXT\\)"),
        ("log.dirs", "", "give at least one directory"),
        ("log.dirs", "/a,/a", "each directory may be given only once"),
        ("node.id", "-1", "Value must be at least 0"),
    ],
)
def test_wrong_value_refuses_to_start_with_one_sentence_naming_the_key(name: str, value: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as raised:
        BrokerConfig({name: value})
    assert name in str(raised.value)
    assert "\n" not in str(raised.value)


def test_two_different_node_ids_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"node\.id=1 and broker\.id=2 differ"):
        config(node__id="1", broker__id="2")
    assert config(broker__id="2").node_id == 2


# ---- values
def test_every_default_passes_its_own_check() -> None:
    for key in [*broker_keys().values(), *topic_keys().values()]:
        if key.default:
            key.parse(key.default)


def test_advertised_listeners_default_to_the_listeners() -> None:
    given = config(listeners="PLAINTEXT://127.0.0.1:9092")
    assert given.advertised_listeners == given.listeners
    assert config(listeners="PLAINTEXT://[::1]:9092").listeners[0].host == "::1"


def test_value_changed_at_run_time_wins_over_the_file() -> None:
    given = config(log__retention__ms="1000")
    given.set_dynamic(default={"log.retention.ms": "2000"})
    assert given.get("log.retention.ms") == 2000
    given.set_dynamic(broker={"log.retention.ms": "3000"})
    assert given.layers("log.retention.ms") == [
        ("3000", SOURCE_DYNAMIC_BROKER),
        ("2000", SOURCE_DYNAMIC_DEFAULT_BROKER),
        ("1000", SOURCE_STATIC_BROKER),
    ]
    given.set_dynamic(default={}, broker={})
    assert given.get("log.retention.ms") == 1000


def test_engine_options_have_every_value_as_text() -> None:
    options = config(num__network__threads="2").engine_options()
    assert options["num.network.threads"] == "2"
    assert options["socket.request.max.bytes"] == "104857600"
    assert options["log.dirs"] == "/tmp/kafka-logs"
    assert "log.retention.ms" not in options  # null


def test_engine_gets_values_in_their_normal_form() -> None:
    given = config(
        num__partitions=" +3\t",
        auto__create__topics__enable="False ",
        log__segment__bytes="\uff11\u0660\u0660\u0660\u0660\u0660\u0660\u0660",
    )
    options = given.engine_options()
    assert (options["num.partitions"], options["auto.create.topics.enable"]) == ("3", "false")
    own = engine_topic_config(given, {"min.insync.replicas": "\u0662 ", "cleanup.policy": "compact , delete"})
    assert (own["segment.bytes"], own["min.insync.replicas"], own["cleanup.policy"]) == (
        "10000000",
        "2",
        "compact,delete",
    )


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("log.roll.ms", "0", "Value must be at least 1"),
        ("log.retention.ms", "-2", "greater than or equal to 1"),
        ("log.flush.interval.ms", "-1", "Value must be at least 0"),
        ("log.cleaner.dedupe.buffer.size", "1024", "each thread needs more than 1048576 bytes"),
    ],
)
def test_value_that_no_topic_or_thread_can_have_is_refused(name: str, value: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        check_broker_value(config(), name, value)


def test_value_that_the_file_hides_refuses_no_start() -> None:
    hidden = config(log__retention__ms="1000", log__retention__hours="0", log__retention__minutes="-2")
    assert engine_topic_config(hidden, {})["retention.ms"] == "1000"


def test_invalid_override_of_a_topic_has_no_effect_and_deletes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    given = config()
    for _ in range(2):
        own = engine_topic_config(given, {"segment.ms": "soon", "cleanup.policy": "compact", "foo": "1"}, "t")
    assert (own["segment.ms"], own["retention.ms"], own["cleanup.policy"]) == ("604800000", "-1", "compact")
    assert "foo" not in own
    assert len(caplog.records) == 1
    assert "/config/topics/t is invalid, segment.ms has no effect: Invalid value soon" in caplog.text


# ---- topics
@pytest.mark.parametrize(
    ("properties", "name", "expected"),
    [
        ({}, "retention.ms", "604800000"),
        ({"log__retention__hours": "1"}, "retention.ms", "3600000"),
        ({"log__retention__hours": "1", "log__retention__minutes": "2"}, "retention.ms", "120000"),
        ({"log__retention__minutes": "2", "log__retention__ms": "3"}, "retention.ms", "3"),
        ({"log__retention__hours": "-1"}, "retention.ms", "-1"),
        ({"log__roll__hours": "2"}, "segment.ms", "7200000"),
        ({"log__roll__hours": "2", "log__roll__ms": "5"}, "segment.ms", "5"),
        ({"log__roll__jitter__hours": "1"}, "segment.jitter.ms", "3600000"),
        ({"message__max__bytes": "9"}, "max.message.bytes", "9"),
        ({"log__flush__scheduler__interval__ms": "7"}, "flush.ms", "7"),
        ({"log__flush__scheduler__interval__ms": "7", "log__flush__interval__ms": "8"}, "flush.ms", "8"),
        ({}, "flush.ms", "9223372036854775807"),
        ({}, "leader.replication.throttled.replicas", ""),
        ({"min__insync__replicas": "2"}, "min.insync.replicas", "2"),
    ],
)
def test_topic_inherits_the_brokers_value_by_kafkas_precedence(
    properties: dict[str, str], name: str, expected: str
) -> None:
    broker = config(**properties)
    assert TopicConfig(broker, {}).text(name) == expected
    assert engine_topic_config(broker, {})[name] == expected
    assert TopicConfig(broker, {name: "11"}).text(name) == "11"


def test_topic_value_lists_where_it_could_come_from() -> None:
    broker = config(log__retention__hours="1", log__retention__ms="5")
    broker.set_dynamic(default={"log.retention.ms": "7"})
    assert TopicConfig(broker, {"retention.ms": "1"}).layers("retention.ms") == [
        ("retention.ms", "1", 1),
        ("log.retention.ms", "7", SOURCE_DYNAMIC_DEFAULT_BROKER),
        ("log.retention.ms", "5", SOURCE_STATIC_BROKER),
        ("log.retention.hours", "3600000", SOURCE_STATIC_BROKER),
        ("log.retention.hours", "604800000", SOURCE_DEFAULT),
    ]


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"foo": "1"}, "Unknown topic config name: foo"),
        ({"retention.ms": "-2"}, "Invalid value -2 for configuration retention.ms: Value must be at least -1"),
        (
            {"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"},
            "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)",
        ),
        (
            {"leader.replication.throttled.replicas": "a"},
            "Invalid value [a] for configuration leader.replication.throttled.replicas:"
            " leader.replication.throttled.replicas must be the literal '*' or a list of replicas in the following"
            " format: [partitionId]:[brokerId],[partitionId]:[brokerId],...",
        ),
    ],
)
def test_wrong_topic_configuration_has_kafkas_message(overrides: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        validate_topic_configs(overrides)
    assert raised.value.client_message == message


@pytest.mark.parametrize(
    "overrides",
    [
        {"retention.ms": " 5 "},
        {"retention.ms": "+5"},
        {"cleanup.policy": " compact , delete"},
        {"cleanup.policy": ""},
        {"leader.replication.throttled.replicas": "0:1,1:2"},
        {"follower.replication.throttled.replicas": "*"},
    ],
)
def test_what_kafka_accepts_is_accepted(overrides: dict[str, str]) -> None:
    assert validate_topic_configs(overrides) == overrides


@pytest.mark.parametrize(
    ("properties", "name"),
    [
        ({"inter__broker__listener__name": "B"}, "B"),
        ({"inter__broker__listener__name": "b"}, "B"),  # case does not matter in the names of listeners
        ({"security__inter__broker__protocol": "PLAINTEXT"}, "A"),  # the first listener of this protocol
        ({}, "A"),
    ],
)
def test_brokers_reach_each_other_on_one_listener(properties: dict[str, str], name: str) -> None:
    protocols = "A:PLAINTEXT,B:PLAINTEXT"
    found = config(listeners="A://:1,B://:2", listener__security__protocol__map=protocols, **properties)
    assert found.inter_broker_listener == name
    assert found.engine_options()["inter.broker.listener.name"] == name


def test_listener_for_brokers_that_there_is_not_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"inter\.broker\.listener\.name=X"):
        config(listeners="A://:1", listener__security__protocol__map="A:PLAINTEXT", inter__broker__listener__name="X")


# KIP-392
def test_replica_selectors_are_kafkas_own_two() -> None:
    kept = "org.apache.kafka.common.replica."
    assert config().get("replica.selector.class") is None
    for name in ("LeaderSelector", "RackAwareReplicaSelector"):
        assert config(replica__selector__class=kept + name).engine_options()["replica.selector.class"] == kept + name
    for name in ("RackAwareReplicaSelector", kept + "Nearest", ""):
        with pytest.raises(ConfigError, match=f"^Invalid value {name} for configuration replica.selector.class: give "):
            config(replica__selector__class=name)


@pytest.mark.parametrize(
    ("given", "spared"),
    [
        ({"ssl.client.auth": "required"}, "SASL_SSL"),
        ({"ssl.client.auth": "required", "listener.name.sasl_ssl.ssl.client.auth": "none"}, ""),
        ({"ssl.client.auth": "none"}, ""),
    ],
)
def test_certificates_that_no_client_of_a_listener_with_sasl_needs_are_told(
    tmp_path: Path, given: dict[str, str], spared: str, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "server.properties"
    listeners = {"listeners": "SSL://127.0.0.1:1,SASL_SSL://127.0.0.1:2", "sasl.enabled.mechanisms": "SCRAM-SHA-256"}
    keys = listeners | given
    file.write_text("".join(f"{key}={value}\n" for key, value in keys.items()))
    BrokerConfig.load(str(file))
    told = [text for text in caplog.messages if text.startswith("ssl.client.auth does not count")]
    sentence = (
        f"ssl.client.auth does not count for listeners with SASL: clients of {spared} need no certificate; set "
        "listener.name.sasl_ssl.ssl.client.auth"
    )
    assert told == ([sentence] if spared else [])
