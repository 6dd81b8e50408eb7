"""Nodes of the store with invalid content: the controller logs their paths at level ERROR, leaves them out, and handles
all other nodes as ever."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from kafkastore.controller.campaign import CONTROLLER_PATH
from kafkastore.controller.state_writer import EPOCH_PATH
from kafkastore.errors import ErrorCode, NotControllerError, TopicAlreadyExistsError
from kafkastore.metadata.assignment import ReplicaAssignment, encode_assigned
from kafkastore.metadata.leadership import Leadership, encode_leadership
from kafkastore.metadata.node_content import InvalidNodeError
from kafkastore.metadata.nodes import decode_controller
from kafkastore.metadata.store import Create, Delete
from kafkastore.topic.new_topic import NewTopic
from unit.controller.controller_world import World, playing

STATE = "/brokers/topics/t/partitions/0/state"
TOPIC = "/brokers/topics/t"
INVALID = [b"", b"{", b"{}"]
"""tests/unit/membership/test_invalid_store.py tests more contents, in less time."""

WRONG_STATES = [
    b'{"leader":"2","leader_epoch":0,"isr":[2],"controller_epoch":1}',
    b'{"leader":2,"leader_epoch":-1,"isr":[2],"controller_epoch":1}',
    b'{"leader":2,"leader_epoch":0,"isr":[],"controller_epoch":1}',
    b'{"leader":2,"leader_epoch":0,"isr":[2,2],"controller_epoch":1}',
    b'{"leader":99999999999,"leader_epoch":0,"isr":[2],"controller_epoch":1}',
]
T_ID = b"t" * 16
LEFT_ALONE = "it is left alone until somebody mends it"


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The errors of kafkastore: asyncio logs errors of calls that a broker's end cancelled."""
    ours = [record for record in caplog.records if record.name.startswith("kafkastore")]
    return [record.getMessage() for record in ours if record.levelno >= logging.ERROR]


async def make(world: World, name: str, *replicas: int) -> None:
    controller = await world.active()
    await controller.create_topic(NewTopic.placed(name, [replicas]))
    await world.led(name, replicas[0])


async def replace_controller(world: World) -> None:
    """Kills the first broker, the controller; another controller reads all nodes anew."""
    await world.brokers[1].kill()
    controller = await world.active()
    assert controller.node_id != 1


async def decides_for_others(world: World) -> None:
    """Waits until a topic can be created and has a leader; repeats the request when the controller was replaced."""

    async def is_made() -> bool:
        try:
            await make(world, "other", 3, 2)
        except NotControllerError:
            return False
        return True

    await world.eventually(is_made)


async def corrupt(world: World, path: str, data: bytes) -> bytes:
    """Corrupts a node of ``t``, a topic on brokers 2 and 3; returns the node's content before, when another controller
    has read the node and handles other topics."""
    await make(world, "t", 2, 3)
    before = (await world.store.get(path)).data
    await world.store.set(path, data)
    await replace_controller(world)
    await decides_for_others(world)
    return before


@pytest.mark.parametrize("data", [*INVALID, *WRONG_STATES])
async def test_partition_whose_state_is_invalid_is_left_alone(
    world: World, caplog: pytest.LogCaptureFixture, data: bytes
) -> None:
    await make(world, "u", 2, 3)
    await corrupt(world, STATE, data)
    await world.brokers[2].close()
    await world.led("u", 3)
    controller = await world.active()
    assert await controller.elect_leaders([("t", 0)], is_unclean=True) == {
        ("t", 0): ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    }
    assert (await world.store.get(STATE)).data == data
    assert {line.partition(":")[0] for line in errors(caplog)} == {f"{STATE} is invalid, {LEFT_ALONE}"}


async def test_state_that_is_mended_is_gone_on_from(tmp_path: Path) -> None:
    async def decides_for_others_on(world: World, node: int) -> None:
        await make(world, "other", node)

    async with playing(tmp_path, brokers=(1, 2, 3, 4)) as world:
        await make(world, "t", 2, 3)
        await world.store.set(STATE, b"{")
        await replace_controller(world)
        await world.brokers[2].kill()
        await decides_for_others_on(world, 3)
        await world.store.set(STATE, encode_leadership(Leadership(2, 7, (2, 3)), 1))
        assert (await world.led("t", 3)).leader_epoch == 8


async def test_state_that_is_invalid_in_a_term_is_written_again(world: World, caplog: pytest.LogCaptureFixture) -> None:
    await make(world, "t", 2, 3)
    await world.store.set(STATE, b"nonsense")
    writes = world.count_writes(1)
    await world.brokers[2].close()
    await world.eventually(lambda: is_readable(world))
    state = await world.led("t", 3)
    assert (state.leader_epoch, state.isr) == (1, (3,))
    assert len(writes) == 3  # one that met the invalid state, one of the known state, one of the next
    assert [line.partition(":")[0] for line in errors(caplog)] == [f"{STATE} is invalid, it is written again"]


async def is_readable(world: World) -> bool:
    try:
        await world.state("t")
    except InvalidNodeError:
        return False
    return True


WRONG_TOPICS = [
    b'{"topic_id":"dHR0dHR0dHR0dHR0dHR0dA","partitions":{"0":[]}}',
    b'{"topic_id":"dHR0dHR0dHR0dHR0dHR0dA","partitions":{"1":[2,3]}}',
    b'{"topic_id":"dHR0dHR0dHR0dHR0dHR0dA","partitions":{"0":[2,2]}}',
    b'{"topic_id":"dHR0dHR0dHR0dHR0dHR0dA","partitions":{"0":["2"]}}',
    b'{"topic_id":"dHR0dHR0dHR0dHR0dHR0dA","partitions":{}}',
    b'{"topic_id":"short","partitions":{"0":[2,3]}}',
    b'{"topic_id":"dHR0dHR0dHR0dHR0dHR0dA","partitions":{"0":[2,3]},"adding_replicas":{"0":[2,3]}}',
]


@pytest.mark.parametrize("data", [*INVALID, *WRONG_TOPICS])
async def test_invalid_topic_is_left_alone_until_it_is_repaired(
    world: World, caplog: pytest.LogCaptureFixture, data: bytes
) -> None:
    before = await corrupt(world, TOPIC, data)
    controller = await world.active()
    with pytest.raises(TopicAlreadyExistsError):
        await controller.create_topic(NewTopic("t"))
    assert [line.partition(":")[0] for line in errors(caplog)] == [f"{TOPIC} is invalid, {LEFT_ALONE}"]
    await world.store.set(TOPIC, before)
    await world.eventually(lambda: "t" in controller._term.context.topics)  # type: ignore[union-attr]
    await world.brokers[2].close()
    await world.led("t", 3)


async def test_deletion_of_a_topic_that_is_invalid_waits(world: World) -> None:
    await corrupt(world, TOPIC, b"{")
    await world.store.create("/admin/delete_topics/t")
    await make(world, "later", 3, 2)
    for path in ("/admin/delete_topics/t", "/config/topics/t", STATE):
        assert await world.store.exists(path) is not None, path


async def test_replicas_on_unknown_brokers_are_offline(world: World, caplog: pytest.LogCaptureFixture) -> None:
    await corrupt(world, TOPIC, encode_assigned(T_ID, [ReplicaAssignment((77, 2, 3))]))
    told = world.brokers[2].metadata["t", 0]
    assert (told.leader, tuple(told.offline_replicas)) == (2, (77,))
    assert errors(caplog) == []


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("/brokers/topics/a b", encode_assigned(T_ID, [ReplicaAssignment((3, 2))])),
        ("/brokers/topics/t/partitions/x", b"{}"),
        ("/brokers/ids/x", b"{}"),
    ],
    ids=["topic", "partition", "broker"],
)
async def test_names_that_are_invalid_are_left_out(world: World, path: str, data: bytes) -> None:
    await make(world, "t", 2, 3)
    await world.store.create(path, data)
    await replace_controller(world)
    await decides_for_others(world)
    await world.brokers[2].close()
    await world.led("t", 3)
    assert {topic for topic, _ in world.brokers[3].metadata} == {"t", "other"}


@pytest.mark.parametrize(
    "data", [*INVALID, b'{"endpoints":["PLAINTEXT://h:x"]}', b'{"endpoints":["PLAINTEXT://h:99999"]}']
)
async def test_broker_with_an_invalid_registration_keeps_its_epoch(
    world: World, caplog: pytest.LogCaptureFixture, data: bytes
) -> None:
    await make(world, "t", 2, 3)
    await world.store.set("/brokers/ids/2", data)
    await decides_for_others(world)
    assert (await world.state("t")).leader == 2
    assert all("/brokers/ids/2" in line for line in errors(caplog))
    await replace_controller(world)  # the next controller has no copy of the node
    await world.led("t", 3)
    assert any("is not there" in line for line in errors(caplog))


@pytest.mark.parametrize("data", INVALID)
async def test_invalid_controller_node_is_rewritten_by_the_controller(world: World, data: bytes) -> None:
    before = (await world.active()).epoch
    await world.store.set(CONTROLLER_PATH, data)

    async def is_signed() -> bool:
        try:
            return decode_controller((await world.store.get(CONTROLLER_PATH)).data) == 1
        except InvalidNodeError:
            return False

    await world.eventually(is_signed)
    await decides_for_others(world)
    assert (await world.active()).epoch == before
    assert {one.controller.controller_id for one in world.brokers.values() if one.controller} == {1}


async def test_controller_node_without_a_session_is_logged_and_replaced_once_deleted(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    nobodys = Create(CONTROLLER_PATH, b"nonsense")  # not ephemeral
    await world.store.multi([Delete(CONTROLLER_PATH), nobodys])
    await world.eventually(lambda: any(CONTROLLER_PATH in line for line in errors(caplog)))
    await world.store.delete(CONTROLLER_PATH)
    await decides_for_others(world)


@pytest.mark.parametrize("data", [b"", b"x", b"-5", b"0", b"99999999999"])
async def test_epoch_that_is_invalid_is_followed_by_one_above_all(
    world: World, caplog: pytest.LogCaptureFixture, data: bytes
) -> None:
    await make(world, "t", 2, 3)
    await replace_controller(world)  # the next controller's epoch is in no state yet
    before = max(one.highest_epoch for one in world.brokers.values())
    await world.store.set(EPOCH_PATH, data)
    await decides_for_others(world)
    assert (await world.active()).epoch > before
    assert any(EPOCH_PATH in line for line in errors(caplog))


async def test_epoch_that_is_deleted_is_followed_by_one_above_all(world: World) -> None:
    await make(world, "t", 2, 3)
    before = max(one.highest_epoch for one in world.brokers.values())
    await world.store.delete(EPOCH_PATH)
    await decides_for_others(world)
    assert (await world.active()).epoch > before


@pytest.mark.parametrize("data", [*INVALID, b'{"broker":77}'])
async def test_note_on_a_log_directory_that_is_invalid_is_taken_away(world: World, data: bytes) -> None:
    path = await world.store.create("/log_dir_event_notification/log_dir_event_", data, is_sequential=True)

    async def is_gone() -> bool:
        return await world.store.exists(path) is None

    await world.eventually(is_gone)
    await decides_for_others(world)
