"""Topic nodes without an id, and nodes that a tool writes: which id they get, and what the controller takes from
them."""

from __future__ import annotations

import json

import pytest

from kafkastore.metadata.assignment import ReplicaAssignment, decode_assigned, encode_assigned
from kafkastore.metadata.image import PartitionState, TopicImage
from kafkastore.metadata.leadership import Leadership, encode_leadership
from kafkastore.metadata.node_content import InvalidNodeError
from kafkastore.metadata.nodes import topic_id_text
from kafkastore.metadata.store import Create
from unit.controller.controller_world import World
from unit.controller.test_invalid_nodes import make, replace_controller

TOPIC = "/brokers/topics/t"
T_ID, OTHER_ID = b"t" * 16, b"u" * 16


def first_version(*replicas: tuple[int, ...]) -> bytes:
    """The topic's node as Kafka 2.0 writes it."""
    return json.dumps({"version": 1, "partitions": {str(one): of for one, of in enumerate(replicas)}}).encode()


async def node(world: World) -> tuple[bytes | None, list[ReplicaAssignment]]:
    return decode_assigned((await world.store.get(TOPIC)).data)


async def carries(world: World, node_id: int, topic_id: bytes) -> None:
    """Writes the broker's registration with the topic id that its logs of ``t`` have."""
    path = f"/brokers/ids/{node_id}"
    content = json.loads((await world.store.get(path)).data)
    content["topic_ids"] = {"t": topic_id_text(topic_id)}
    await world.store.set(path, json.dumps(content).encode())


async def put_served(world: World, data: bytes, *isr: int) -> None:
    """Writes a topic of one partition that has had a leader, in one write."""
    state = encode_leadership(Leadership(isr[0], 0, isr), 1)
    folder = f"{TOPIC}/partitions/0"
    nodes = [Create(TOPIC, data), Create(f"{TOPIC}/partitions"), Create(folder), Create(f"{folder}/state", state)]
    await world.store.ensure_path("/brokers/topics")
    await world.store.multi(nodes)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"version": 1, "partitions": {"0": [1, 2]}}, (None, [ReplicaAssignment((1, 2))])),
        (
            {"version": 2, "partitions": {"0": [2, 1]}, "adding_replicas": {"0": [2]}, "removing_replicas": {"0": [1]}},
            (None, [ReplicaAssignment((2, 1), (2,), (1,))]),
        ),
        ({"version": 3, "partitions": {"0": [1]}, "topic_id": topic_id_text(T_ID)}, (T_ID, [ReplicaAssignment((1,))])),
    ],
)
def test_versions_1_to_3_are_read(content: object, expected: object) -> None:
    assert decode_assigned(json.dumps(content).encode()) == expected


@pytest.mark.parametrize("version", [0, 4, "1", True, None])
def test_other_versions_are_not_guessed_at(version: object) -> None:
    with pytest.raises(InvalidNodeError, match="1 to 3 are known"):
        decode_assigned(json.dumps({"version": version, "partitions": {"0": [1]}}).encode())


async def test_node_that_a_tool_wrote_keeps_id_and_moves_and_gets_its_new_partition_led(world: World) -> None:  # A
    await make(world, "t", 1, 2)
    controller = await world.active()
    world.brokers[3].is_reachable = False  # broker 3 does not catch up: the move goes on
    await controller.alter_reassignments({("t", 0): (1, 3)})
    topic_id, (moving,) = await node(world)
    assert moving.is_moving
    await world.store.set(TOPIC, first_version(moving.replicas, (2, 1)))
    await world.led("t", 2, 1)
    assert await node(world) == (topic_id, [moving, ReplicaAssignment((2, 1))])


async def test_next_controller_takes_the_id_that_brokers_find_in_their_logs(world: World) -> None:  # B
    await carries(world, 2, T_ID)
    await carries(world, 3, OTHER_ID)  # the id of an older topic of this name: broker 3 was not in sync
    await world.brokers[1].kill()
    await put_served(world, first_version((2, 3)), 2)
    await world.active()
    await world.led("t", 2)
    assert (await node(world))[0] == T_ID


async def test_topic_waits_for_a_broker_that_has_its_logs(world: World) -> None:  # C, later
    await world.brokers[3].kill()
    await put_served(world, first_version((3,)), 3)
    await world.quiet()
    assert (await node(world))[0] is None
    await world.add(3)  # its registration says that its log has no id
    await world.led("t", 3)
    assert (await node(world))[0] is not None


async def test_topic_that_was_never_served_gets_a_new_id(world: World) -> None:  # C
    await world.store.create(TOPIC, first_version((2, 3), (3, 1)))
    await world.led("t", 2)
    await world.led("t", 3, 1)
    topic_id, assigned = await node(world)
    assert topic_id
    assert assigned == [ReplicaAssignment((2, 3)), ReplicaAssignment((3, 1))]


async def test_logs_without_an_id_get_a_new_one(world: World) -> None:  # C: directories of Kafka up to 2.7
    await world.brokers[1].kill()
    await put_served(world, first_version((2, 3)), 2)
    await world.led("t", 2)
    assert (await node(world))[0]


async def test_node_that_is_invalid_leaves_the_topic_as_the_next_controller_knows_it(world: World) -> None:
    await make(world, "t", 2, 3)
    topic_id = (await node(world))[0]
    assert topic_id
    image = TopicImage("t", topic_id, [PartitionState(2, 0, 0, (2, 3), (2, 3))], {})
    for broker in world.brokers.values():
        assert broker.controller is not None
        broker.controller._stored.known = {"t": image}.get
    await world.store.set(TOPIC, b'{"version":9')
    await replace_controller(world)
    await world.brokers[2].kill()
    await world.led("t", 3)
    await world.store.set(TOPIC, encode_assigned(topic_id, [ReplicaAssignment((2, 3)), ReplicaAssignment((3,))]))
    await world.led("t", 3, 1)
