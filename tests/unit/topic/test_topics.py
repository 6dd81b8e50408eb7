"""Topic administration. The refusals' words are Kafka's (ReplicationControlManager of 4.3, Topic.validate)."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from stepped import refusal
from world import LIMIT_S, deletions_end, run, running_broker, until

from kafkastore import errors
from kafkastore._core import build_batch
from kafkastore.config import BrokerConfig
from kafkastore.errors import ErrorCode, KafkastoreError
from kafkastore.metadata.image import NO_LEADER, BrokerImage, MetadataImage, TopicImage
from kafkastore.purgatory.turns import Turn
from kafkastore.requests.context import AbandonedError
from kafkastore.server.broker import Broker
from kafkastore.topic.new_topic import NewTopic
from kafkastore.topic.planner import TopicPlanner
from unit.appends import append_records


def check(folder: Path, test: Callable[[Broker], Awaitable[None]], **properties: str) -> None:
    async def body() -> None:
        async with running_broker(folder, **properties) as broker:
            await test(broker)

    run(body)


def test_created_topic_has_logs_leases_and_is_seen_by_clients(tmp_path: Path) -> None:
    async def test(broker: Broker) -> None:
        services = broker.services
        topic = await services.topics.create("a", partitions=2, replication_factor=1, configs={"retention.ms": "5"})
        assert services.image.topic_by_id(topic.topic_id) is topic
        assert set(services.engine.partitions) == {("a", 0), ("a", 1)}
        assert services.engine.leases["a", 1] == (1, 0, 0, (1,), (1,))
        assert services.engine.published_topics["a"] == (
            topic.topic_id,
            False,
            [(0, 1, 0, (1,), (1,), ()), (1, 1, 0, (1,), (1,), ())],
        )
        assert services.engine.topic_configs["a"]["retention.ms"] == "5"
        assert services.engine.topic_configs["a"]["retention.bytes"] == "-1"

    check(tmp_path, test)


def test_store_has_kafkas_layout(tmp_path: Path) -> None:
    async def test(broker: Broker) -> None:
        store = broker.store
        topic = await broker.services.topics.create("a")
        node = json.loads((await store.get("/brokers/topics/a")).data)
        assert node["version"] == 3
        assert node["partitions"] == {"0": [1]}
        assert len(node["topic_id"]) == 22
        state = json.loads((await store.get("/brokers/topics/a/partitions/0/state")).data)
        assert state == {"controller_epoch": 1, "leader": 1, "version": 1, "leader_epoch": 0, "isr": [1]}
        assert json.loads((await store.get("/config/topics/a")).data) == {"version": 1, "config": {}}
        assert json.loads((await store.get("/controller")).data)["brokerid"] == 1
        assert json.loads((await store.get("/brokers/ids/1")).data)["endpoints"] == ["PLAINTEXT://127.0.0.1:9092"]
        assert topic.topic_id

    check(tmp_path, test)


def test_validate_only_writes_nothing(tmp_path: Path) -> None:
    async def test(broker: Broker) -> None:
        topic = await broker.services.topics.create("a", partitions=3, validate_only=True)
        assert len(topic.partitions) == 3
        assert broker.services.image.topics == {}
        assert await broker.store.get_children("/brokers/topics") == []

    check(tmp_path, test)


def test_two_creations_at_once_make_one_topic(tmp_path: Path) -> None:
    import asyncio

    async def test(broker: Broker) -> None:
        topics = broker.services.topics
        results = await asyncio.gather(topics.create("a"), topics.create("a"), return_exceptions=True)
        assert [type(result) for result in results[1:]] == [errors.TopicAlreadyExistsError]
        one, other = await asyncio.gather(topics.create_if_absent("b"), topics.create_if_absent("b"))
        assert one is other

    check(tmp_path, test)


def test_log_that_cannot_be_made_leaves_its_partition_offline(tmp_path: Path) -> None:
    async def test(broker: Broker) -> None:
        (tmp_path / "data" / "a-1").touch()  # in the place of the folder
        topic = await broker.services.topics.create("a", partitions=2)
        assert ("a", 1) not in broker.services.engine.leases
        assert [row[2] for row in broker.services.engine.history if row[:2] == ("a", 1)] == [NO_LEADER]
        await until(lambda: [state.leader for state in topic.partitions] == [1, NO_LEADER])

    check(tmp_path, test)


def test_topic_grows_and_keeps_its_partitions(tmp_path: Path) -> None:
    async def test(broker: Broker) -> None:
        services = broker.services
        topic = await services.topics.create("a", partitions=2)
        await services.topics.create_partitions("a", 5)
        assert len(services.image.topics["a"].partitions) == 5
        assert services.image.topics["a"].topic_id == topic.topic_id
        assert set(services.engine.partitions) == {("a", number) for number in range(5)}
        assert services.engine.leases["a", 4][0] == 1
        assert await broker.store.exists("/brokers/topics/a/partitions/4/state") == 0
        assert len(json.loads((await broker.store.get("/brokers/topics/a")).data)["partitions"]) == 5

    check(tmp_path, test)


def test_configuration_takes_effect_at_once_and_is_stored(tmp_path: Path) -> None:
    async def test(broker: Broker) -> None:
        services = broker.services
        await services.topics.create("a", configs={"retention.ms": "5"})
        await services.topics.set_config_overrides("a", {"flush.messages": "1"})
        assert services.image.topics["a"].configs == {"flush.messages": "1"}
        assert services.engine.topic_configs["a"]["flush.messages"] == "1"
        assert services.engine.topic_configs["a"]["retention.ms"] == "604800000"
        assert json.loads((await broker.store.get("/config/topics/a")).data)["config"] == {"flush.messages": "1"}

    check(tmp_path, test)


def test_broker_configuration_changed_at_run_time_reaches_every_topic(tmp_path: Path) -> None:
    async def test(broker: Broker) -> None:
        services = broker.services
        await services.topics.create("a")
        await services.topics.create("own", configs={"retention.ms": "5"})
        await services.config_changes.change_broker("<default>", lambda _: {"log.retention.ms": "77"})
        assert services.engine.options["log.retention.ms"] == "77"
        assert services.engine.topic_configs["a"]["retention.ms"] == "77"
        assert services.engine.topic_configs["own"]["retention.ms"] == "5"

    check(tmp_path, test)

    async def after_restart(broker: Broker) -> None:
        assert broker.services.config.get("log.retention.ms") == 77

    check(tmp_path, after_restart)


def test_deleted_topic_is_gone_everywhere(tmp_path: Path) -> None:
    async def test(broker: Broker) -> None:
        services = broker.services
        told: list[str] = []
        services.topics.on_deleted.append(told.extend)
        await services.topics.create("a", partitions=2)
        await services.topics.delete("a")
        assert services.image.topics == services.image.topics_by_id == {}
        await deletions_end(services)
        assert services.engine.deleted == [("a", [0, 1])]
        assert services.engine.published_topics == {}
        assert await broker.store.get_children("/brokers/topics") == []
        assert await broker.store.get_children("/config/topics") == []
        assert await broker.store.get_children("/admin/delete_topics") == []
        assert told == ["a"]
        with pytest.raises(errors.UnknownTopicOrPartitionError):
            await services.topics.delete("a")
        again = await services.topics.create("a")
        assert len(again.partitions) == 1

    check(tmp_path, test)


def test_deletion_is_answered_while_logs_are_being_deleted_and_the_name_is_free_afterwards(tmp_path: Path) -> None:
    async def test(broker: Broker) -> None:
        services = broker.services
        old = await services.topics.create("a")
        may_delete = threading.Event()
        delete = services.engine.delete_logs

        def delete_later(name: str, partitions: list[int]) -> None:
            assert may_delete.wait(LIMIT_S)
            delete(name, partitions)

        services.engine.delete_logs = delete_later  # type: ignore[method-assign]
        await services.topics.delete("a")
        assert services.image.topics == {}
        assert await broker.store.get_children("/brokers/topics") == ["a"]
        again = asyncio.create_task(services.topics.create("a", partitions=2))
        await asyncio.sleep(0)
        assert services.topics.locks.names == ["a"]
        assert not again.done()
        may_delete.set()
        new = await again
        assert (len(new.partitions), new.topic_id == old.topic_id) == (2, False)
        assert services.engine.deleted == [("a", [0])]
        assert services.topics.locks.names == []

    check(tmp_path, test)


def test_topic_is_not_deleted_by_the_id_of_an_earlier_one_of_its_name(tmp_path: Path) -> None:
    """It was made anew between the look at the id and the deletion."""

    async def test(broker: Broker) -> None:
        topics = broker.services.topics
        earlier = await topics.create("a")
        await topics.delete("a")
        now = await topics.create("a")
        (failed,) = await topics.delete_all(["a"], {"a": earlier.topic_id})
        assert type(failed).__name__ == "UnknownTopicIdError"
        assert broker.services.image.topic("a") is now
        assert await topics.delete_all(["a"], {"a": now.topic_id}) == [None]

    check(tmp_path, test)


def test_broker_that_stops_does_not_wait_for_deletions_on_other_brokers(tmp_path: Path) -> None:
    async def test(broker: Broker) -> None:
        waited: list[str] = []

        async def wait_deleted(topics: Iterable[Any], limit_s: float) -> Sequence[Any]:
            waited.extend(topic.name for topic in topics)
            await asyncio.Event().wait()
            return []

        broker.services.controller.wait_deleted = wait_deleted  # type: ignore[method-assign]
        await broker.services.topics.create("a")
        await broker.services.topics.delete("a")
        await until(lambda: waited == ["a"])

    check(tmp_path, test)


MADE_BY_KAFKA = {
    "__consumer_offsets": {"compression.type": "producer"},
    "__transaction_state": {
        "compression.type": "uncompressed",
        "min.insync.replicas": "2",
        "unclean.leader.election.enable": "false",
    },
    "__share_group_state": {"compression.type": "producer", "min.insync.replicas": "2"},
}
"""The configurations, besides ``cleanup.policy`` and ``segment.bytes``, with which Apache Kafka 4.3 creates its own
topics."""


def test_internal_topics_are_made_as_kafka_makes_them(tmp_path: Path) -> None:
    async def test(broker: Broker) -> None:
        for name, configs in MADE_BY_KAFKA.items():
            topic = await broker.services.topics.create_internal(name)
            assert topic.is_internal
            assert len(topic.partitions) == 50
            assert topic.configs == {"cleanup.policy": "compact", "segment.bytes": "104857600", **configs}

    factors = ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic")
    check(tmp_path, test, **{f"{each}.replication.factor".replace(".", "__"): "1" for each in factors})


def test_listener_of_a_topic_hears_of_elections_and_resignations(tmp_path: Path) -> None:
    async def test(broker: Broker) -> None:
        name = "__transaction_state"
        events: list[tuple[str, int]] = []
        services = broker.services
        services.replica_manager.listen(
            name,
            lambda partition, _: events.append(("become", partition)),
            lambda partition: events.append(("resign", partition)),
        )
        await services.topics.create(name, partitions=2)
        assert events == [("become", 0), ("become", 1)]
        services.replica_manager.take_offline({name: [1]})
        assert events[2:] == [("resign", 1)]
        await services.topics.create_partitions(name, 3)
        assert events[3:] == [("become", 2)]
        await services.topics.delete(name)
        await deletions_end(services)
        assert events[4:] == [("resign", 0), ("resign", 2)]

    check(tmp_path, test)


def test_coordinators_append_is_answered_per_partition(tmp_path: Path) -> None:

    async def test(broker: Broker) -> None:
        services = broker.services
        await services.topics.create("a")
        batch = build_batch([(b"k", b"v"), (None, b"w")], 1)
        results = await append_records(services.replica_manager, {("a", 0): batch, ("none", 0): batch}, -1, 1000)
        assert (results["a", 0].error_code, results["a", 0].base_offset, results["a", 0].last_offset) == (0, 0, 1)
        assert results["none", 0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    check(tmp_path, test)


def test_topics_of_one_request_are_one_transaction_and_each_has_its_own_error(tmp_path: Path) -> None:
    async def test(broker: Broker) -> None:
        services = broker.services
        await services.topics.create("there")
        transactions, turns = _counted(broker.store, "multi"), _counted(services.loop, "run_in_executor")
        asked = [NewTopic("a", 2), NewTopic("there"), NewTopic("b", configs={"retention.ms": "x"}), NewTopic("c", 3)]
        made = await services.topics.create_all(asked)
        assert [type(one).__name__ for one in made] == [
            "TopicImage",
            "TopicAlreadyExistsError",
            "ConfigError",
            "TopicImage",
        ]
        assert (len(transactions), len(turns)) == (1, 2)  # the write, and the logs
        assert set(services.engine.partitions) == {
            ("there", 0),
            *(("a", n) for n in range(2)),
            *(("c", n) for n in range(3)),
        }
        assert services.engine.leases["c", 2][0] == 1
        assert {"a", "c"} <= services.engine.published_topics.keys()

        transactions.clear()
        turns.clear()
        gone = await services.topics.delete_all(["a", "none", "c"])
        assert [type(one).__name__ for one in gone] == ["NoneType", "UnknownTopicOrPartitionError", "NoneType"]
        await deletions_end(services)
        assert (len(transactions), len(turns)) == (2, 3)  # the decision, and the end
        assert services.engine.deleted == [("a", [0, 1]), ("c", [0, 1, 2])]
        assert list(services.image.topics) == ["there"]
        assert await broker.store.get_children("/brokers/topics") == ["there"]
        assert await broker.store.get_children("/admin/delete_topics") == []

    check(tmp_path, test)


def test_store_that_refuses_one_topic_of_a_request_takes_the_others(tmp_path: Path) -> None:
    async def test(broker: Broker) -> None:
        services = broker.services
        await broker.store.create("/brokers/topics/b")  # not in the image: begun by hand
        first, second, third = await services.topics.create_all([NewTopic("a"), NewTopic("b"), NewTopic("c")])
        assert isinstance(second, errors.TopicAlreadyExistsError)
        assert [one.name for one in (first, third) if isinstance(one, TopicImage)] == ["a", "c"]
        assert set(services.engine.partitions) == {("a", 0), ("c", 0)}

    check(tmp_path, test)


def test_deletion_whose_logs_cannot_be_deleted_is_finished_by_the_next_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def test(broker: Broker) -> None:
        services = broker.services
        await services.topics.create_all([NewTopic("a"), NewTopic("b")])
        delete = services.engine.delete_logs

        def refuse_a(name: str, partitions: list[int]) -> None:
            if name == "a":
                raise refusal(ErrorCode.KAFKA_STORAGE_ERROR, "Input/output error")
            delete(name, partitions)

        services.engine.delete_logs = refuse_a  # type: ignore[method-assign]
        assert await services.topics.delete_all(["a", "b"]) == [None, None]
        assert services.image.topics == {}
        await deletions_end(services)
        assert "Topic a is deleted, but not its logs" in caplog.text
        assert "Topic b is deleted, but" not in caplog.text
        with pytest.raises(errors.TopicAlreadyExistsError):
            await services.topics.create("a")
        assert await broker.store.get_children("/admin/delete_topics") == ["a"]

    check(tmp_path, test)


def test_creation_of_a_client_that_has_gone_ends_while_it_is_planned(tmp_path: Path) -> None:
    async def test(broker: Broker) -> None:
        topics = broker.services.topics

        def check_wanted() -> None:
            raise AbandonedError

        asked = [NewTopic(f"t{number}") for number in range(5000)]
        with pytest.raises(AbandonedError):
            await topics.create_all(asked, turn=Turn(check_wanted))
        assert broker.services.image.topics == {}
        assert (await topics.create("t0")).name == "t0"  # no lock is held

    check(tmp_path, test)


def test_too_many_partitions_in_all_refuse_the_request(tmp_path: Path) -> None:
    async def test(broker: Broker) -> None:
        with pytest.raises(errors.PolicyViolationError, match="Excessively large number of partitions per request"):
            await broker.services.topics.create_all([NewTopic("a", 6000), NewTopic("b", 6000)])
        assert broker.services.image.topics == {}

    check(tmp_path, test)


def test_same_names_in_opposite_order_do_not_wait_for_each_other(tmp_path: Path) -> None:
    async def test(broker: Broker) -> None:
        topics = broker.services.topics
        first = topics.create_all([NewTopic("a"), NewTopic("b")])
        second = topics.create_all([NewTopic("b"), NewTopic("a")])
        outcomes = await asyncio.wait_for(asyncio.gather(first, second), 10)
        assert [[type(one).__name__ for one in of_one] for of_one in outcomes] == [
            ["TopicImage"] * 2,
            ["TopicAlreadyExistsError"] * 2,
        ]
        assert topics.locks.names == []

    check(tmp_path, test)


def _counted(owner: Any, method: str) -> list[str]:
    """A list that grows by one with each call of the method from now on."""
    calls: list[str] = []
    original = getattr(owner, method)

    def counting(*arguments: Any) -> Any:
        calls.append(method)
        return original(*arguments)

    setattr(owner, method, counting)
    return calls


def plan(planner: TopicPlanner, asked: list[NewTopic]) -> list[TopicImage | KafkastoreError]:
    async def body() -> list[TopicImage | KafkastoreError]:
        return await planner.plan_all(asked, (), Turn())

    return asyncio.run(body())


def test_topics_of_one_partition_are_spread_over_the_brokers() -> None:
    image = MetadataImage()
    image.brokers = {node: BrokerImage(node, None, ()) for node in (1, 2, 3)}
    planner = TopicPlanner(BrokerConfig({}), image)
    for name in ("a", "b", "c"):
        (topic,) = plan(planner, [NewTopic(name, 1, 1)])
        assert isinstance(topic, TopicImage)
        image.put_topic(topic)
    together = plan(planner, [NewTopic(name, 1, 2) for name in ("d", "e", "f")])
    topics = [*image.topics.values(), *(one for one in together if isinstance(one, TopicImage))]
    leaders = [topic.partitions[0].leader for topic in topics]
    assert leaders == [1, 2, 3, 1, 2, 3]
    grown = planner.place_additional(topics[1], 4, 1, None)  # from a partition on broker 2
    assert sorted(replicas[0] for replicas in grown) == [1, 2, 3]
