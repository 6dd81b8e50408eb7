"""Reads topics and their configurations out of the store into the image (spec R2.3, Kafka's node layout)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.metadata.assignment import decode_assigned
from kafkastore.metadata.image import NO_LEADER, PartitionState, TopicImage
from kafkastore.metadata.leadership import decode_leadership
from kafkastore.metadata.nodes import decode_config

if TYPE_CHECKING:
    from kafkastore.metadata.store import MetadataStore


async def load_topics(store: MetadataStore) -> list[TopicImage]:
    """Every topic that the store has."""
    configs = {path.rpartition("/")[2]: decode_config(data) for path, data, _ in await store.get_tree("/config/topics")}
    assignments: dict[str, bytes] = {}
    states: dict[str, dict[int, tuple[bytes, int]]] = {}
    for path, data, version in await store.get_tree("/brokers/topics"):
        parts = path.split("/")  # "", brokers, topics, T, partitions, P, state
        if len(parts) == 4:
            assignments[parts[3]] = data
        elif len(parts) == 7 and parts[6] == "state":
            states.setdefault(parts[3], {})[int(parts[5])] = data, version
    return [
        _topic(name, data, states.get(name, {}), configs.get(name, {})) for name, data in sorted(assignments.items())
    ]


def _topic(name: str, data: bytes, states: dict[int, tuple[bytes, int]], configs: dict[str, str]) -> TopicImage:
    topic_id, assigned = decode_assigned(data)
    decoded: dict[tuple[bytes, int, tuple[int, ...]], PartitionState] = {}  # equal states share one object
    partitions = []
    for number, one in enumerate(assigned):
        text, version = states.get(number, (b"", 0))
        key = text, version, one.replicas
        state = decoded.get(key)
        if state is None:
            state = decoded[key] = _state(*key)
        partitions.append(state)
    return TopicImage(name, topic_id, partitions, configs)


def _state(data: bytes, version: int, replicas: tuple[int, ...]) -> PartitionState:
    if not data:
        return PartitionState(NO_LEADER, 0, version, replicas, replicas)
    state = decode_leadership(data, version)
    return PartitionState(state.leader, state.leader_epoch, version, replicas, state.isr)
