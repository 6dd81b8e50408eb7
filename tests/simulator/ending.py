"""How a run ends: whether the cluster is whole again, and what is read of it then for the history.

Whole is what the rules of ``history/checker.py`` for placements say, and that every replica has all there is. It
decides nothing about the cluster and asks no client.
"""

from __future__ import annotations

import hashlib
import os
import re
from typing import TYPE_CHECKING, Any

from kafkastore._simulator import keyed_records, producer_entries

from history.checker import misplaced
from history.events import Placement, ProducerBatch, Replica
from kafkastore._core import EngineError
from kafkastore.metadata.admin_nodes import REASSIGN_PARTITIONS
from simulator.clients import Consumer
from simulator.compaction import TOPIC as COMPACTED_TOPIC
from simulator.offsets import OFFSETS_TOPIC, read_last
from simulator.transactions import IDS, STATE_TOPIC

if TYPE_CHECKING:
    from collections.abc import Iterator

    from history.events import Read
    from simulator.node import Life
    from simulator.topics import Topic
    from simulator.world import World

UNREAD = (OFFSETS_TOPIC, STATE_TOPIC, COMPACTED_TOPIC)
"""Compacted topics: their replicas are cleaned on their own, so each may lack what another has."""

LOG = re.compile(r"(?P<topic>[a-z_]+)-(?P<partition>\d+)(?P<future>\.\w+-future)?")
"""The name of a log's directory; those that are to be removed, or were set aside, have other endings."""


def why_not_whole(world: World) -> str:
    """What is amiss; empty when nothing is."""
    if not world.all_started():
        return "a broker does not start"
    for name in world.marks():
        return f"the deletion of {name} has not ended"
    if REASSIGN_PARTITIONS in world.tree.nodes:
        return f"{REASSIGN_PARTITIONS} is still there"
    for topic, number in world.topics.places():
        state = world.topics.leadership(topic, number)
        if state is None or state.leader < 1 or set(state.isr) != set(topic.assigned[number].replicas):
            return f"the state of {topic.key(number)}, {topic.assigned[number]}, is {state}"
        ends = set()
        for one in state.isr:
            life = world.nodes[one].life
            assert life is not None
            assert life.engine is not None
            try:
                offsets = life.engine.real.partition_offsets(topic.name, number)
                high_watermark, end = offsets.high_watermark, offsets.log_end_offset
            except EngineError as error:
                return f"{world.nodes[one].name} is in sync, but: {error}"
            ends |= {high_watermark, end}
        if len(ends) != 1:
            return f"the replicas of {topic.key(number)} end at {sorted(ends)}"
    return next((str(one) for one in misplaced(placements(world))), "") or _what_is_told_wrong(world)


def open_transaction(world: World) -> str:
    """A transaction that is open, or whose markers are not all written; empty when there is none."""
    for topic, number in world.topics.places():
        state = world.topics.leadership(topic, number)
        for one in state.isr:
            life = world.nodes[one].life
            assert life is not None
            assert life.engine is not None
            offsets = life.engine.real.partition_offsets(topic.name, number)
            if offsets.last_stable_offset != offsets.high_watermark:
                where = f"{topic.key(number)} on {world.nodes[one].name}"
                return f"{where} is stable up to {offsets.last_stable_offset} of {offsets.high_watermark}"
            if topic.name == STATE_TOPIC and one == state.leader:
                for found in _undone(world, life, number):
                    return f"{found.transactional_id} is in the state {found.state}"
    return ""


def _undone(world: World, life: Life, number: int) -> list[Any]:
    """Of a coordinator's partition the transactions that are not ended."""
    assert life.engine is not None
    states = ["Ongoing", "PrepareCommit", "PrepareAbort"]
    found: list[Any] = life.engine.real.transactions().list(number, states, [], -1, None, world.now_ms())
    return found


def _what_is_told_wrong(world: World) -> str:
    """What clients hear of some broker that is not so (its last step)."""
    for node in world.nodes.values():
        assert node.life is not None
        image = node.life.broker.image
        told = {topic.topic_id: topic.partitions for topic in image.topics.values()}
        if told.keys() != {topic.topic_id for topic in world.topics.living.values()}:
            return f"{node.name} tells of {sorted(image.topics)}, or of earlier ones"
        for topic, number in world.topics.places():
            known = told[topic.topic_id][number] if number < len(told[topic.topic_id]) else None
            state, replicas = world.topics.leadership(topic, number), topic.assigned[number].replicas
            if known is None or (known[:2], known.replicas) != (state[:2], replicas):
                return f"{node.name} tells that {topic.key(number)} is {known}"
    return ""


def placements(world: World) -> list[Placement]:
    """Of all partitions that there were."""
    logs = _logs(world)
    found = []
    for topic in world.topics.all.values():
        is_living = world.topics.living.get(topic.name) is topic
        for number, assigned in enumerate(topic.assigned):
            brokers = tuple(logs.pop((topic, number), ()))
            if not is_living:
                found.append(Placement(topic.key(number), (), (), brokers))
                continue
            state = world.topics.leadership(topic, number)
            is_moving = bool(assigned.adding or assigned.removing)
            allowed = frozenset(topic.allowed[number])
            isr = () if state is None else state.isr
            found.append(Placement(topic.key(number), assigned.replicas, isr, brokers, is_moving, allowed))
    return found + [Placement(str(key), (), (), tuple(brokers)) for key, brokers in logs.items()]


def _logs(world: World) -> dict[tuple[Topic | str, int], list[int]]:
    """By topic and partition the brokers on whose disks a log lies; by the name alone where the topic is not known."""
    found: dict[tuple[Topic | str, int], list[int]] = {}
    for node in world.nodes.values():
        for directory in node.log_dirs:
            for entry in sorted(os.listdir(directory)) if os.path.isdir(directory) else ():
                match = LOG.fullmatch(entry)
                if match is not None:
                    topic = _topic_of(world, match["topic"], os.path.join(directory, entry))
                    found.setdefault((topic, int(match["partition"])), []).append(node.node_id)
    return found


def _topic_of(world: World, name: str, path: str) -> Topic | str:
    from kafkastore.metadata.nodes import parse_topic_id

    try:
        with open(os.path.join(path, "partition.metadata"), encoding="ascii") as file:
            words = file.read().split()
    except FileNotFoundError:
        words = []
    if words and words[-2] == "topic_id:":
        return world.topics.all.get(parse_topic_id(words[-1]), name)
    return world.topics.living.get(name, name)  # a power loss has emptied it


async def read_all(world: World) -> None:
    """What is there for everybody to read, and on each replica."""
    for topic, number in world.topics.places():
        if topic.name != COMPACTED_TOPIC:
            world.history.replicas += _replicas(world, topic, number)
        if topic.name == OFFSETS_TOPIC:
            world.history.producers[topic.key(number)] = list(_producer_batches(world, topic, number))
        if topic.name in UNREAD:
            continue
        world.history.final[topic.key(number)] = await _read(Consumer(world, "final", topic, number, gap_s=1.0))
        if world.plan is not None:
            reader = Consumer(world, "final committed", topic, number, gap_s=1.0, is_committed=True)
            world.history.committed[topic.key(number)] = await _read(reader)
            world.history.producers[topic.key(number)] = list(_producer_batches(world, topic, number))
    if world.plan is not None:
        for name in IDS:
            await read_last(world, name, world.topics.living[world.lasting_topic])


async def _read(reader: Consumer) -> list[Read]:
    """From the log start to the end."""
    reads: list[Read] = []
    while True:
        found = await reader.poll()
        reads += found
        if not found and await reader.ask_end() == reader.offset:
            return reads


def _producer_batches(world: World, topic: Topic, number: int) -> Iterator[ProducerBatch]:
    life = world.nodes[world.topics.leadership(topic, number).leader].life
    assert life is not None
    assert life.engine is not None
    batches = life.engine.steps.batches(topic.name, number)
    for offset, _, producer_id, epoch, is_transactional, is_commit in producer_entries(b"".join(b[3] for b in batches)):
        yield ProducerBatch(offset, producer_id, epoch, is_transactional, is_commit)


def _replicas(world: World, topic: Topic, number: int) -> Iterator[Replica]:
    for node_id in world.topics.leadership(topic, number).isr:
        life = world.nodes[node_id].life
        assert life is not None
        assert life.engine is not None
        batches, is_compacted = life.engine.steps.batches(topic.name, number), topic.name in UNREAD
        records: dict[int, bytes] = {}
        for first, last, _, content in batches if not is_compacted else ():
            digest = hashlib.sha256(content).digest()
            records.update(dict.fromkeys(range(first, last + 1), digest))
        for offset, *record in keyed_records(b"".join(batch[3] for batch in batches))[0] if is_compacted else ():
            records[offset] = hashlib.sha256(repr(record).encode()).digest()
        offsets = life.engine.real.partition_offsets(topic.name, number)
        log_start, high_watermark = offsets.log_start_offset, offsets.high_watermark
        yield Replica(topic.key(number), node_id, high_watermark, records, log_start, is_compacted)
