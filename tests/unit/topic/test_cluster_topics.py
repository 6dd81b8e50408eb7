"""The controller creates the topics of a cluster; the broker that got the request answers when its clients can see
them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from member_world import running_member
from world import until

from kafkastore._core import response_encoder
from kafkastore.controller.controller import Controller
from kafkastore.errors import (
    ErrorCode,
    KafkastoreError,
    NotControllerError,
    RequestTimedOutError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
)
from kafkastore.membership import member
from kafkastore.messages import OutgoingRequest
from kafkastore.metadata.assignment import ReplicaAssignment
from kafkastore.metadata.image import NO_LEADER, PartitionState
from kafkastore.replica.assigned import TopicStates
from kafkastore.server.broker import Broker
from kafkastore.topic import topics
from kafkastore.topic.new_topic import NewTopic

LED = PartitionState(2, 0, 0, (2,), (2,))


@pytest.fixture(autouse=True)
def _leaves_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(member, "SHUTDOWN_RETRY_S", 0)


@pytest.fixture
async def broker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Broker]:
    async with running_member(tmp_path) as broker:
        yield broker


async def told(broker: Broker, name: str, *states: PartitionState) -> None:
    """Sends UpdateMetadata for a topic as another broker's controller does."""
    assigned, image = broker.services.assigned, broker.services.image
    topic = TopicStates(name, name.encode().ljust(16, b"-"), dict(enumerate(states)))
    await assigned.update(2, image.controller_epoch, -1, image.brokers.values(), [topic], is_full=False)


def answer(request: OutgoingRequest, fields: dict[str, Any]) -> Any:
    return request.response(response_encoder(request.api_key, request.version).row(fields))


def answers(broker: Broker, monkeypatch: pytest.MonkeyPatch, code: int = 0) -> list[Any]:
    """Makes another broker the controller, which answers with ``code``; returns the list of its requests."""
    asked: list[Any] = []

    async def ask(request: OutgoingRequest, _: int, by: object) -> Any:
        assert by is None, "no client asked"
        asked.append(request.decoded())
        topic = {
            "name": asked[-1].topics[0].name,
            "topic_id": None,
            "error_code": code,
            "error_message": "because",
            "configs": (),
        }
        return answer(request, {"topics": [topic]})

    monkeypatch.setattr(broker.services.topics, "_ask", ask)
    return asked


async def test_topic_is_served_with_the_controllers_id_when_its_creation_is_answered(broker: Broker) -> None:
    services = broker.services
    made = await services.topics.create("t", partitions=2, configs={"retention.ms": "5"})
    assert made is services.image.topics["t"]
    engine = services.engine
    assert engine.published_topics["t"][0] == made.topic_id == engine.partitions["t", 0].topic_id
    assert [engine.leases["t", number][0] for number in (0, 1)] == [1, 1]
    assert engine.topic_configs["t"]["retention.ms"] == "5"
    with pytest.raises(TopicAlreadyExistsError):
        await services.topics.create("t")


async def test_topic_grows_and_goes(broker: Broker) -> None:
    services, gone = broker.services, []
    services.topics.on_deleted.append(gone.extend)
    await services.topics.create("t")
    await services.topics.create_partitions("t", 3)
    assert set(services.engine.partitions) == {("t", 0), ("t", 1), ("t", 2)}
    await services.topics.delete("t")
    assert (services.image.topics, services.engine.published_topics, gone) == ({}, {}, ["t"])
    with pytest.raises(UnknownTopicOrPartitionError):
        await services.topics.delete("t")


async def test_topic_that_grows_while_it_moves_gets_the_replicas_it_has_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def under_way(_: Controller) -> dict[tuple[str, int], ReplicaAssignment]:
        return {("t", 0): ReplicaAssignment((1, 2), removing=(2,))}

    monkeypatch.setattr(Controller, "reassignments", under_way)
    async with running_member(tmp_path) as broker:
        await broker.services.topics.create("t")
        partitions = broker.services.image.topics["t"].partitions
        partitions[0] = partitions[0]._replace(replicas=(1, 2))
        await broker.services.topics.create_partitions("t", 2)
        assert broker.services.image.topics["t"].partitions[1].replicas == (1,)


async def test_plan_that_is_only_checked_makes_nothing(broker: Broker) -> None:
    await broker.services.topics.create("t", validate_only=True)
    assert await broker.store.exists("/brokers/topics/t") is None


async def test_broker_that_is_not_the_controller_says_so_and_does_nothing(broker: Broker) -> None:
    services, topics = broker.services, broker.services.topics
    await topics.create("old")
    await services.controller.stop()
    for refused in (topics.create("t"), topics.create("t", validate_only=True), topics.delete("old")):
        with pytest.raises(NotControllerError):
            await refused
    with pytest.raises(NotControllerError):
        await topics.create_partitions("old", 2)
    assert await broker.store.get_children("/brokers/topics") == ["old"]
    assert len(services.image.topics["old"].partitions) == 1


async def test_missing_topic_is_requested_from_the_controller_and_waited_for(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    services = broker.services
    await services.controller.stop()
    asked = answers(broker, monkeypatch)
    wanted = asyncio.ensure_future(
        services.topics.create_if_absent("t", partitions=2, replication_factor=1, configs={"retention.ms": "5"})
    )
    await until(lambda: len(asked) == 1)
    await told(broker, "t", LED, LED._replace(leader=NO_LEADER))  # not served yet: one partition has no leader
    await asyncio.sleep(0)
    assert not wanted.done()
    await told(broker, "t", LED, LED._replace(leader_epoch=1))
    assert await wanted is services.image.topics["t"]
    (topic,) = asked[0].topics
    assert (topic.name, topic.num_partitions, topic.replication_factor) == ("t", 2, 1)
    assert [(one.name, one.value) for one in topic.configs] == [("retention.ms", "5")]
    assert await services.topics.create_if_absent("t") is services.image.topics["t"]
    assert len(asked) == 1


async def test_topic_that_another_broker_has_requested_is_waited_for(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    await broker.services.controller.stop()
    asked = answers(broker, monkeypatch, ErrorCode.TOPIC_ALREADY_EXISTS)
    wanted = asyncio.ensure_future(broker.services.topics.create_if_absent("t"))
    await until(lambda: len(asked) == 1)
    await told(broker, "t", LED)
    assert (await wanted).name == "t"


async def test_refusal_of_the_controller_is_raised_to_the_caller(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    await broker.services.controller.stop()
    answers(broker, monkeypatch, ErrorCode.INVALID_REPLICATION_FACTOR)
    with pytest.raises(KafkastoreError, match="because") as refused:
        await broker.services.topics.create_if_absent("t")
    assert refused.value.code == ErrorCode.INVALID_REPLICATION_FACTOR


async def test_topic_that_does_not_reach_this_broker_in_time_is_no_success(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topics, "METADATA_LIMIT_S", 0)
    await broker.services.controller.stop()
    answers(broker, monkeypatch)
    with pytest.raises(RequestTimedOutError):
        await broker.services.topics.create_if_absent("t")


async def test_one_topic_that_the_controller_refuses_does_not_fail_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = Controller.create_topics

    async def refusing(self: Controller, asked: Any) -> Any:
        made = iter(await create(self, [one for one in asked if one.name != "bad"]))
        return [KafkastoreError("no") if one.name == "bad" else next(made) for one in asked]

    monkeypatch.setattr(Controller, "create_topics", refusing)
    async with running_member(tmp_path) as broker:
        asked = [NewTopic("bad"), NewTopic("good")]
        bad, good = await broker.services.topics.create_all(asked)
        assert isinstance(bad, KafkastoreError)
        assert good is broker.services.image.topics["good"]


async def test_configuration_is_asked_of_the_next_controller_when_this_one_loses_its_seat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    async def refusing(_: Controller, *__: Any) -> None:
        raise NotControllerError

    async with running_member(tmp_path) as broker:
        await broker.services.topics.create("t")

        async def ask(request: OutgoingRequest, _: int, by: object) -> Any:
            assert by is None, "no client asked"
            asked.append(request.decoded())
            return answer(request, {"responses": ()})

        monkeypatch.setattr(broker.services.topics, "_ask", ask)
        monkeypatch.setattr(Controller, "set_topic_configs", refusing)
        await broker.services.topics.set_config_overrides("t", {"retention.ms": "5"})
        (resource,) = asked[0].resources
        assert (resource.resource_name, [(one.name, one.value) for one in resource.configs]) == (
            "t",
            [("retention.ms", "5")],
        )
