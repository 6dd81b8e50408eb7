"""IncrementalAlterConfigs: the result of each operation, in effect at once and kept in the store; a refusal changes
nothing. Each refusal is tested in ``tests/parity``."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest

from kafkastore.messages import OutgoingRequest
from kafkastore.metadata.nodes import encode_config
from kafkastore.topic import topics

from .one_broker import OneBroker

TOPIC, BROKER, METRICS, GROUP = 2, 4, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)
UNKNOWN_TOPIC, INVALID_REQUEST, INVALID_CONFIG, REQUEST_TIMED_OUT = 3, 42, 40, 7

Op = tuple[str, int, str | None]


def alter(broker: OneBroker, kind: int, name: str, *ops: Op, version: int = 1, validate_only: bool = False) -> int:
    configs = [{"name": key, "config_operation": operation, "value": value} for key, operation, value in ops]
    resource = {"resource_type": kind, "resource_name": name, "configs": configs}
    asked = {"resources": [resource], "validate_only": validate_only}
    (result,) = broker.ask("incremental_alter_configs", version, asked).responses
    assert (result.resource_type, result.resource_name) == (kind, name)
    return int(result.error_code)


def stored(broker: OneBroker, path: str) -> Any:
    return json.loads(broker.run(broker.store.get(path)).data)["config"]


@pytest.mark.parametrize("version", [0, 1])
def test_a_topics_config_takes_effect_at_once_and_is_kept(broker: OneBroker, version: int) -> None:
    broker.create_topic("t", configs={"segment.bytes": "2097152"})
    assert alter(broker, TOPIC, "t", ("retention.ms", SET, "60000"), version=version) == 0
    assert broker.engine.topic_configs["t"]["retention.ms"] == "60000"
    assert stored(broker, "/config/topics/t") == {"segment.bytes": "2097152", "retention.ms": "60000"}


@pytest.mark.parametrize(
    ("before", "operation", "value", "after"),
    [("compact", APPEND, "delete,delete", "compact,delete"), ("compact", SUBTRACT, "compact,delete", "")],
)
def test_operations(
    broker: OneBroker, before: str | None, operation: int, value: str | None, after: str | None
) -> None:
    broker.create_topic("t", configs=None if before is None else {"cleanup.policy": before})
    assert alter(broker, TOPIC, "t", ("cleanup.policy", operation, value)) == 0
    assert broker.services.image.topics["t"].configs.get("cleanup.policy") == after


@pytest.mark.parametrize(
    "ops",
    [
        [("retention.ms", SET, "1"), ("segment.bytes", SET, "soon")],
        [("retention.ms", SET, "1"), ("no.such.config", SET, "1")],
        [("retention.ms", SET, "1"), ("retention.ms", DELETE, None)],
        [("retention.ms", SET, None)],
        [("retention.ms", APPEND, "1")],
        [("retention.ms", 9, "1")],
    ],
)
def test_a_refusal_changes_nothing(broker: OneBroker, ops: list[Op]) -> None:
    broker.create_topic("t", configs={"retention.ms": "7"})
    assert alter(broker, TOPIC, "t", *ops) in (INVALID_REQUEST, INVALID_CONFIG)
    assert broker.services.image.topics["t"].configs == {"retention.ms": "7"}
    assert broker.engine.topic_configs["t"]["retention.ms"] == "7"


def test_recreated_topic_does_not_get_the_configuration_of_the_topic_before_it(
    broker: OneBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.create_topic("t", configs={"retention.ms": "1000"})
    made_by = broker.services.topics
    set_all_configs = made_by.set_all_configs

    async def after_others(*arguments: Any) -> Any:
        await made_by.delete("t")
        await made_by.create("t")
        return await set_all_configs(*arguments)

    monkeypatch.setattr(made_by, "set_all_configs", after_others)
    assert alter(broker, TOPIC, "t", ("segment.bytes", SET, "2097152")) == UNKNOWN_TOPIC
    assert stored(broker, "/config/topics/t") == {}


def test_changes_at_the_same_time_lose_nothing(broker: OneBroker) -> None:
    broker.create_topic("t")
    asked = [
        broker.handling(
            "incremental_alter_configs",
            1,
            {
                "resources": [
                    {
                        "resource_type": TOPIC,
                        "resource_name": "t",
                        "configs": [{"name": name, "config_operation": SET, "value": "1048576"}],
                    }
                ]
            },
        )
        for name in ("retention.ms", "segment.bytes", "segment.ms")
    ]

    async def at_once() -> None:
        await asyncio.gather(*asked)

    broker.run(at_once())
    assert set(broker.services.image.topics["t"].configs) == {"retention.ms", "segment.bytes", "segment.ms"}


def test_validate_only_changes_nothing(broker: OneBroker) -> None:
    broker.create_topic("t")
    assert alter(broker, TOPIC, "t", ("retention.ms", SET, "7"), validate_only=True) == 0
    assert alter(broker, BROKER, "", ("log.retention.ms", SET, "7"), validate_only=True) == 0
    assert broker.services.image.topics["t"].configs == {}
    assert broker.services.config.dynamic_default == {}


@pytest.mark.parametrize(("name", "node"), [("", "<default>"), ("1", "1")])
def test_a_brokers_config_takes_effect_at_once_and_is_kept(broker: OneBroker, name: str, node: str) -> None:
    broker.create_topic("t")
    assert alter(broker, BROKER, name, ("log.retention.ms", SET, "60000")) == 0
    assert broker.engine.options["log.retention.ms"] == "60000"
    assert broker.engine.topic_configs["t"]["retention.ms"] == "60000"
    assert stored(broker, f"/config/brokers/{node}") == {"log.retention.ms": "60000"}
    assert alter(broker, BROKER, name, ("log.retention.ms", DELETE, None)) == 0
    assert broker.engine.topic_configs["t"]["retention.ms"] == "604800000"


@pytest.mark.parametrize(
    ("name", "op"),
    [
        ("", ("node.id", SET, "7")),
        ("1", ("auto.create.topics.enable", SET, "false")),
        ("", ("log.retention.ms", SET, "soon")),
        ("", ("num.io.threads", SET, "0")),
        ("1", ("ssl.keystore.location", SET, "/tmp/k")),
        ("", ("principal.builder.class", SET, "x")),
        ("1", ("num.io.threads", SET, "3")),
        ("1", ("num.io.threads", SET, "17")),
        ("1", ("log.cleaner.threads", SET, "0")),
        ("1", ("log.cleaner.threads", SET, "3")),
        ("", ("my.plugin.key", SET, "x")),
        ("", ("max.connections.per.ip.overrides", SET, "127.0.0.1:5,no.such.host.invalid:1")),
        ("9", ("log.retention.ms", SET, "1")),
        ("x", ("log.retention.ms", SET, "1")),
    ],
)
def test_a_brokers_refusal_changes_nothing(broker: OneBroker, name: str, op: Op) -> None:
    assert alter(broker, BROKER, name, op) == INVALID_REQUEST
    assert broker.services.config.dynamic_default == broker.services.config.dynamic_broker == {}


@pytest.mark.parametrize("threads", ["4", "16"])
def test_thread_counts_may_halve_and_double(broker: OneBroker, threads: str) -> None:
    assert alter(broker, BROKER, "1", ("num.io.threads", SET, threads)) == 0
    assert broker.services.config.get("num.io.threads") == int(threads)


def test_values_that_bound_each_other_are_checked_as_they_will_be(broker: OneBroker) -> None:
    for name in ("", "1"):
        threads, size = ("log.cleaner.threads", SET, "2"), "log.cleaner.dedupe.buffer.size"
        assert alter(broker, BROKER, name, threads, (size, SET, str(2 << 20))) == INVALID_REQUEST
        assert broker.services.config.dynamic_default == broker.services.config.dynamic_broker == {}
        assert alter(broker, BROKER, name, threads, (size, SET, str(3 << 20))) == 0
        assert alter(broker, BROKER, name, threads, (size, DELETE, None)) == 0
        assert alter(broker, BROKER, name, ("log.cleaner.threads", DELETE, None)) == 0


@pytest.mark.parametrize(("kind", "name"), [(0, "x"), (3, "x"), (METRICS, ""), (METRICS, "m"), (GROUP, "")])
def test_resources_that_cannot_be_changed_are_refused(broker: OneBroker, kind: int, name: str) -> None:
    assert alter(broker, kind, name, ("key", SET, "1")) == INVALID_REQUEST


def test_change_that_another_broker_has_just_made_is_kept(broker: OneBroker) -> None:
    """This broker does not know the other broker's change yet."""
    broker.create_topic("t")
    store = broker.store
    broker.run(store.set("/config/topics/t", encode_config({"min.insync.replicas": "2"})))
    assert alter(broker, TOPIC, "t", ("retention.ms", SET, "60000")) == 0
    assert stored(broker, "/config/topics/t") == {"min.insync.replicas": "2", "retention.ms": "60000"}
    broker.run(store.ensure_path("/config/brokers/<default>"))
    broker.run(store.set("/config/brokers/<default>", encode_config({"log.retention.ms": "78"})))
    assert alter(broker, BROKER, "", ("log.segment.bytes", SET, "2097152")) == 0
    assert stored(broker, "/config/brokers/<default>") == {"log.retention.ms": "78", "log.segment.bytes": "2097152"}


def test_controller_is_asked_for_the_change_alone(broker: OneBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the controller knows the current configuration: with two writers each would undo the other's change."""
    broker.create_topic("t", configs={"segment.bytes": "2097152"})
    services, asked = broker.services, []

    async def ask(request: OutgoingRequest, _: int, by: object) -> Any:
        assert by is None, "no client asked"
        asked.append(request.decoded())
        await broker.store.set("/config/topics/t", encode_config({"retention.ms": "60000"}))
        return request.response(b"\0\0\0\0" + b"\1" + b"\0")  # no throttle time, no resources, no tagged fields

    monkeypatch.setattr(services.topics, "_ask", ask)
    broker.run(services.controller.stop())
    services.image.controller_id = 2
    assert alter(broker, TOPIC, "t", ("retention.ms", SET, "60000")) == 0
    (resource,) = asked[0].resources
    assert (resource.resource_type, resource.resource_name) == (TOPIC, "t")
    assert [(one.name, one.config_operation, one.value) for one in resource.configs] == [("retention.ms", SET, "60000")]
    assert broker.engine.topic_configs["t"]["retention.ms"] == "60000"  # in effect here before the answer


def test_broker_that_has_just_stopped_being_the_controller_waits_for_another_in_the_requests_time(
    broker: OneBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topics, "REQUEST_TIMEOUT_MS", 200)
    broker.create_topic("t")
    services = broker.services
    broker.run(services.controller.stop())
    assert services.image.controller_id == 1  # it does not know another controller yet
    assert alter(broker, TOPIC, "t", ("retention.ms", SET, "60000")) == REQUEST_TIMED_OUT


def test_invalid_configuration_node_is_repaired_by_a_change(broker: OneBroker) -> None:
    broker.create_topic("t", configs={"segment.bytes": "2097152"})
    broker.run(broker.store.set("/config/topics/t", b"nonsense"))
    assert alter(broker, TOPIC, "t", ("retention.ms", SET, "60000")) == 0
    assert stored(broker, "/config/topics/t") == {"segment.bytes": "2097152", "retention.ms": "60000"}


# ---- what would outlast its request, or hold up others
@pytest.mark.parametrize(("name", "value"), [("max.connections", "0"), ("max.connection.creation.rate", " 0 ")])
def test_nobody_is_shut_out_at_run_time(broker: OneBroker, name: str, value: str) -> None:
    for owner in ("", "1"):
        assert alter(broker, BROKER, owner, (name, SET, value)) == INVALID_REQUEST
        broker.run(broker.store.ensure_path(f"/config/brokers/{owner or '<default>'}"))
        broker.run(broker.store.set(f"/config/brokers/{owner or '<default>'}", encode_config({name: value})))
        broker.run(broker.services.dynamic_configs.load())
        assert broker.services.config.dynamic_default == broker.services.config.dynamic_broker == {}


@pytest.mark.parametrize("name", ["listeners", "advertised.listeners", "listener.security.protocol.map"])
def test_keys_that_count_in_the_file_alone_are_refused(broker: OneBroker, name: str) -> None:
    assert alter(broker, BROKER, "1", (name, SET, "PLAINTEXT://127.0.0.1:1")) == INVALID_REQUEST


def test_list_ends_where_no_answer_could_show_it(broker: OneBroker) -> None:
    broker.create_topic("t")
    key = "follower.replication.throttled.replicas"
    items = [f"{number}:1" for number in range(10_000)]
    assert alter(broker, TOPIC, "t", (key, SET, ",".join(items[:3000]))) == 0
    assert alter(broker, TOPIC, "t", (key, APPEND, ",".join(items[:4000]))) == 0
    assert stored(broker, "/config/topics/t") == {key: ",".join(items[:4000])}
    assert alter(broker, TOPIC, "t", (key, APPEND, ",".join(items[4000:7000]))) == INVALID_CONFIG
    assert alter(broker, TOPIC, "t", (key, SUBTRACT, ",".join(items[2:4000]))) == 0
    assert stored(broker, "/config/topics/t") == {key: "0:1,1:1"}


def test_expression_that_takes_long_to_make_is_only_read(broker: OneBroker) -> None:
    began = time.monotonic()
    assert alter(broker, METRICS, "m", ("match", SET, "client_id=(?i)" + "[\x02-\uffff]" * 1900)) == 0
    assert time.monotonic() - began < 1, "made ready for use it takes some ten seconds"


def test_names_of_groups_and_subscriptions_have_a_limit(broker: OneBroker) -> None:
    for kind, change in ((GROUP, ("share.isolation.level", SET, "read_committed")), (METRICS, ("metrics", SET, "*"))):
        for name, code in (
            ("a" * 1000, 0),
            ("a" * 1001, INVALID_REQUEST),
            ("é" * 166, 0),
            ("é" * 167, INVALID_REQUEST),
        ):
            assert alter(broker, kind, name, change) == code


def test_bound_that_has_moved_since_stops_no_other_key(broker: OneBroker) -> None:
    node = encode_config({"consumer.session.timeout.ms": "70000"})
    broker.run(broker.store.ensure_path("/config/groups/g"))
    broker.run(broker.store.set("/config/groups/g", node))
    assert alter(broker, GROUP, "g", ("share.record.lock.duration.ms", SET, "30000")) == 0
    assert alter(broker, GROUP, "g", ("consumer.session.timeout.ms", SET, "70000")) == INVALID_CONFIG
    assert alter(broker, GROUP, "g", ("consumer.session.timeout.ms", DELETE, None)) == 0
    assert stored(broker, "/config/groups/g") == {"share.record.lock.duration.ms": "30000"}


def test_broker_is_named_by_a_number_as_java_reads_it(broker: OneBroker) -> None:
    for name in (" 1", "1 ", "1_", "", "0x1"):
        assert alter(broker, BROKER, name, ("log.retention.ms", SET, "1")) == (INVALID_REQUEST if name else 0)
    for name in ("1", "01", "+1", "\uff11"):
        assert alter(broker, BROKER, name, ("log.retention.ms", SET, str(7 + len(name)))) == 0
        assert stored(broker, "/config/brokers/1") == {"log.retention.ms": str(7 + len(name))}
