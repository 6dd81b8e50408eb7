"""Reads topics and their configurations out of the store into the image (spec R2.3, Kafka's node layout)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kafkastore.metadata.assignment import decode_assigned
from kafkastore.metadata.image import NO_LEADER, UNKNOWN_EPOCH, PartitionState, TopicImage
from kafkastore.metadata.leadership import decode_leadership
from kafkastore.metadata.nodes import decode_config
from kafkastore.metadata.nonsense import NonsenseError, check_topic_name, report

if TYPE_CHECKING:
    from kafkastore.metadata.store import MetadataStore


class Loaded(NamedTuple):
    """Every topic that the store has; those in ``spoiled`` have a node that nobody can read, so what there is of them stays as it is."""

    topics: list[TopicImage]
    spoiled: frozenset[str]


async def load_topics(store: MetadataStore) -> Loaded:
    """Nodes that are nonsense are named; a state counts as not there, a configuration as empty."""
    configs = {}
    for path, data, _ in await store.get_tree("/config/topics"):
        try:
            configs[path.rpartition("/")[2]] = decode_config(data)
        except NonsenseError as error:
            report(path, "the topic has the defaults", error)
    assignments: dict[str, bytes] = {}
    states: dict[str, dict[str, tuple[bytes, int]]] = {}
    for path, data, version in await store.get_tree("/brokers/topics"):
        parts = path.split("/")  # "", brokers, topics, T, partitions, P, state
        if len(parts) == 4:
            assignments[parts[3]] = data
        elif len(parts) == 7 and parts[6] == "state":
            states.setdefault(parts[3], {})[parts[5]] = data, version
    topics, spoiled = [], set()
    for name, data in sorted(assignments.items()):
        try:
            topics.append(_topic(name, data, states.get(name, {}), configs.get(name, {})))
        except NonsenseError as error:
            report(f"/brokers/topics/{name}", "what is here of it is left alone", error)
            spoiled.add(name)
    return Loaded(topics, frozenset(spoiled))


def _topic(name: str, data: bytes, states: dict[str, tuple[bytes, int]], configs: dict[str, str]) -> TopicImage:
    check_topic_name(name)
    topic_id, assigned = decode_assigned(data)
    decoded: dict[tuple[bytes, int, tuple[int, ...]], PartitionState] = {}  # equal states share one object
    partitions = []
    for number, one in enumerate(assigned):
        text, version = states.get(str(number), (b"", 0))
        key = text, version, one.replicas
        state = decoded.get(key)
        if state is None:
            state = decoded[key] = _state(f"/brokers/topics/{name}/partitions/{number}/state", *key)
        partitions.append(state)
    return TopicImage(name, topic_id, partitions, configs)


def _state(path: str, data: bytes, version: int, replicas: tuple[int, ...]) -> PartitionState:
    nobody_leads = PartitionState(NO_LEADER, 0, version, replicas, replicas)
    if not data and not version:
        return nobody_leads
    try:
        state = decode_leadership(data, version)
    except NonsenseError as error:
        report(path, "the partition counts as one without a leader", error)
        return nobody_leads._replace(leader_epoch=UNKNOWN_EPOCH)
    return PartitionState(state.leader, state.leader_epoch, version, replicas, state.isr)
