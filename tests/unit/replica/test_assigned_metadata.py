"""UpdateMetadata: the metadata that clients get, from full and partial requests."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from kafkastore.interbroker.orders import LEADER_DURING_DELETE
from kafkastore.internal_topics import OFFSETS_TOPIC
from kafkastore.metadata.image import NO_CONTROLLER, NO_LEADER, BrokerImage, PartitionState, TopicImage
from kafkastore.replica.assigned import TopicStates

from .replica_world import (
    BROKER_EPOCH,
    CONTROLLER_EPOCH,
    ME,
    NEW_ID,
    NONE,
    OTHER,
    THIRD,
    Replicas,
    on_replicas,
    state,
    told,
)

if TYPE_CHECKING:
    from pathlib import Path

DELETED = PartitionState(LEADER_DURING_DELETE, -2, 4, (ME, OTHER), (ME,))


def leaders(replicas: Replicas, topic: str) -> list[int]:
    """The leaders of the topic that the engine answers Metadata with."""
    return [leader for _, leader, *_ in replicas.engine.published_topics[topic][2]]


def test_clients_see_brokers_topics_and_controller_at_once(tmp_path: Path) -> None:
    async def test(replicas: Replicas) -> None:
        replicas.stored_configs["t"] = {"cleanup.policy": "compact"}
        assert await replicas.update(told(state(THIRD, 2, 2)), brokers=(ME, THIRD), is_full=True) == NONE
        brokers, controller = replicas.engine.cluster
        assert ([broker[0] for broker in brokers], controller) == ([ME, THIRD], OTHER)
        assert leaders(replicas, "t") == [THIRD]
        assert replicas.image.topics["t"].configs == {"cleanup.policy": "compact"}

    on_replicas(tmp_path, test)


def test_cluster_is_not_published_to_clients_before_all_of_it_is_known(tmp_path: Path) -> None:
    """Without a controller in the image Metadata waits; otherwise a broker that is back would answer that there are no
    topics."""

    async def test(replicas: Replicas) -> None:
        stranger = BrokerImage(THIRD, None, (("PLAINTEXT", "host-3", 9092),))
        await replicas.assigned.become(OTHER, CONTROLLER_EPOCH, BROKER_EPOCH, [told(state(THIRD))], [stranger])
        await replicas.update(told(state(THIRD), name="u", topic_id=NEW_ID))
        assert replicas.engine.cluster[1] == NO_CONTROLLER
        await replicas.update(told(state(THIRD)), is_full=True)
        assert replicas.engine.cluster[1] == OTHER

    on_replicas(tmp_path, test)


def test_update_metadata_grants_no_lease(tmp_path: Path) -> None:
    """UpdateMetadata makes no leader: even when it names this broker, the broker waits for LeaderAndIsr."""

    async def test(replicas: Replicas) -> None:
        await replicas.update(told(state(ME, 9, 9)), is_full=True)
        assert (replicas.engine.history, replicas.held.topics, replicas.engine.partitions) == ([], {}, {})
        assert not replicas.manager.is_leader("t", 0)

    on_replicas(tmp_path, test)


def test_partial_update_keeps_the_partitions_that_it_does_not_name(tmp_path: Path) -> None:
    async def test(replicas: Replicas) -> None:
        await replicas.update(told(state(ME), state(OTHER)), told(state(ME), name="u", topic_id=NEW_ID), is_full=True)
        await replicas.update(TopicStates("t", b"\1" * 16, {1: state(THIRD, 1, 1)}))
        assert (leaders(replicas, "t"), leaders(replicas, "u")) == ([ME, THIRD], [ME])

    on_replicas(tmp_path, test)


def test_topic_in_several_update_metadata_requests_is_published_part_by_part(tmp_path: Path) -> None:
    """A topic of 100,000 partitions comes in 50 requests, and each must cost in proportion to its own partitions."""

    async def test(replicas: Replicas) -> None:
        for part in range(5):
            states = {number: state(ME) for number in range(10 * part, 10 * part + 10)}
            await replicas.update(TopicStates("t", b"\1" * 16, states))
        assert leaders(replicas, "t") == [ME] * 50
        assert replicas.engine.rows_published == 50

    on_replicas(tmp_path, test)


def test_partitions_below_the_first_ones_received_have_no_leader_yet(tmp_path: Path) -> None:
    async def test(replicas: Replicas) -> None:
        await replicas.update(TopicStates("t", b"\1" * 16, {2: state(OTHER)}))
        assert leaders(replicas, "t") == [NO_LEADER, NO_LEADER, OTHER]
        await replicas.update(TopicStates("t", b"\1" * 16, {0: state(ME), 1: state(THIRD)}))
        assert leaders(replicas, "t") == [ME, THIRD, OTHER]

    on_replicas(tmp_path, test)


def test_partition_without_a_state_is_published_from_the_start(tmp_path: Path) -> None:
    """A client that saw fewer partitions than the topic has would send keys to other partitions."""

    async def test(replicas: Replicas) -> None:
        unknown = PartitionState(NO_LEADER, 0, 0, (ME,), (ME,))
        replicas.image.put_topic(TopicImage("t", b"\1" * 16, [unknown] * 3, {}))  # as the store has it at a start
        await replicas.update(TopicStates("t", b"\1" * 16, {1: state(OTHER)}), is_full=True)
        assert leaders(replicas, "t") == [NO_LEADER, OTHER, NO_LEADER]

    on_replicas(tmp_path, test)


def test_full_update_removes_the_topics_that_it_does_not_name(tmp_path: Path) -> None:
    async def test(replicas: Replicas) -> None:
        await replicas.update(told(state(ME)), told(state(ME), name="u", topic_id=NEW_ID))
        await replicas.update(told(state(ME)), is_full=True)
        assert set(replicas.engine.published_topics) == set(replicas.image.topics) == {"t"}
        assert replicas.image.topic_by_id(NEW_ID) is None

    on_replicas(tmp_path, test)


def test_full_update_that_marks_a_topic_as_deleted_takes_away_an_earlier_one_of_its_name(tmp_path: Path) -> None:
    """A broker that was cut off knows neither that the earlier topic went nor that the later one was there."""

    async def test(replicas: Replicas) -> None:
        await replicas.update(told(state(ME)), told(state(ME), name="u"), is_full=True)
        doomed = TopicStates("t", NEW_ID, {0: DELETED})
        await replicas.update(doomed, told(state(ME), name="u"), is_full=True)
        assert set(replicas.engine.published_topics) == set(replicas.image.topics) == {"u"}

    on_replicas(tmp_path, test)


def test_full_metadata_in_several_requests_takes_away_an_earlier_topic_of_a_name(tmp_path: Path) -> None:
    """The last request names all topics, those that are being deleted too."""

    async def test(replicas: Replicas) -> None:
        await replicas.update(told(state(ME)), told(state(ME), name="u"), is_full=True)
        await replicas.update(TopicStates("t", NEW_ID, {0: DELETED}))
        await replicas.update(TopicStates("t", NEW_ID, {}), TopicStates("u", b"\1" * 16, {}), is_full=True)
        assert set(replicas.engine.published_topics) == set(replicas.image.topics) == {"u"}

    on_replicas(tmp_path, test)


def test_older_state_does_not_replace_a_newer_one(tmp_path: Path) -> None:  # H4
    async def test(replicas: Replicas) -> None:
        await replicas.update(told(state(OTHER, 3, 5)))
        await replicas.update(told(state(ME, 2, 9)))
        assert leaders(replicas, "t") == [OTHER]

    on_replicas(tmp_path, test)


def test_deleted_topic_is_gone_for_clients_and_coordinators(tmp_path: Path) -> None:
    async def test(replicas: Replicas) -> None:
        await replicas.become(told(state(ME)))
        await replicas.update(told(state(ME)))
        led: list[int] = []
        replicas.manager.listen("t", lambda number, _: led.append(number), led.remove)
        await replicas.update(told(DELETED))
        assert (replicas.engine.published_topics, replicas.image.topics, led) == ({}, {}, [])
        assert replicas.engine.deleted == []  # only StopReplica deletes logs

    on_replicas(tmp_path, test)


def test_group_offsets_of_a_topic_go_when_it_is_deleted_and_not_when_an_update_omits_it(tmp_path: Path) -> None:
    """On every broker, whichever broker got the deletion; a topic that a controller's full UpdateMetadata lacks is not
    deleted."""

    async def test(replicas: Replicas) -> None:
        deleted: list[str] = []
        replicas.assigned.on_deleted = deleted.extend
        await replicas.update(told(state(ME)), told(state(ME), name="u", topic_id=NEW_ID))
        await replicas.update(told(state(ME)), is_full=True)
        assert deleted == []
        await replicas.update(told(DELETED))
        await replicas.update(told(DELETED))
        assert deleted == ["t"]

    on_replicas(tmp_path, test)


def test_recreated_topic_survives_the_deletion_of_the_topic_before_it(tmp_path: Path) -> None:
    """A broker that hung gets all at once: LeaderAndIsr first, then the old and the new topic in one UpdateMetadata."""

    async def test(replicas: Replicas) -> None:
        new = told(state(ME, 0, 0), topic_id=NEW_ID)
        await replicas.update(told(state(OTHER, 3, 4, replicas=(OTHER,))))
        await replicas.become(new)
        for news in ((told(DELETED), new), (new, told(DELETED)), (told(DELETED),)):
            await replicas.update(*news)
            assert leaders(replicas, "t") == [ME]
            assert replicas.image.topics["t"].topic_id == replicas.held.topics["t"].topic_id == NEW_ID
            assert replicas.image.topic_by_id(NEW_ID) is not None

    on_replicas(tmp_path, test)


def test_topic_without_partitions_in_a_request_is_not_a_deletion(tmp_path: Path) -> None:
    async def test(replicas: Replicas) -> None:
        await replicas.update(told(state(ME)))
        await replicas.update(TopicStates("t", b"\1" * 16, {}))
        assert leaders(replicas, "t") == [ME]

    on_replicas(tmp_path, test)


def test_updates_of_two_controllers_after_a_wait_end_in_the_state_of_the_newer_one(tmp_path: Path) -> None:  # H19
    async def test(replicas: Replicas) -> None:
        replicas.gate = asyncio.Event()
        old = asyncio.ensure_future(replicas.update(told(state(ME)), controller_epoch=6, is_full=True))
        new = asyncio.ensure_future(replicas.update(told(state(OTHER), name="u"), controller_epoch=7, is_full=True))
        await asyncio.sleep(0)
        replicas.gate.set()
        assert (await old, await new) == (NONE, NONE)
        assert set(replicas.image.topics) == {"u"}

    on_replicas(tmp_path, test)


def test_store_tells_how_many_partitions_an_internal_topic_has_when_it_is_met(tmp_path: Path) -> None:
    """A request may lack some of them, and those that are added later count for nobody."""

    async def test(replicas: Replicas) -> None:
        replicas.stored_counts[OFFSETS_TOPIC] = b"\1" * 16, 50
        await replicas.update(TopicStates(OFFSETS_TOPIC, b"\1" * 16, {4: state(ME)}))
        replicas.stored_counts[OFFSETS_TOPIC] = b"\1" * 16, 57
        await replicas.update(TopicStates(OFFSETS_TOPIC, b"\1" * 16, {56: state(ME)}))
        topic = replicas.image.topics[OFFSETS_TOPIC]
        assert (len(topic.partitions), replicas.image.keys_over(topic)) == (57, 50)
        assert replicas.engine.keys_over == {OFFSETS_TOPIC: 50}
        await replicas.update(TopicStates(OFFSETS_TOPIC, NEW_ID, {4: state(ME)}))
        assert replicas.image.keys_over(replicas.image.topics[OFFSETS_TOPIC]) == 5, "the store has another topic"

    on_replicas(tmp_path, test)
