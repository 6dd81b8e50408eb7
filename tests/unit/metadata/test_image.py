"""The states of partitions in the image: an older state never replaces a newer one, in whatever order they come
(H4)."""

from __future__ import annotations

from itertools import permutations

import pytest

from kafkastore.internal_topics import OFFSETS_TOPIC
from kafkastore.metadata.image import MetadataImage, PartitionState, TopicImage

T_ID, NEW_ID = b"\1" * 16, b"\2" * 16


def state(leader: int, leader_epoch: int, partition_epoch: int) -> PartitionState:
    return PartitionState(leader, leader_epoch, partition_epoch, (1, 2), (1,))


@pytest.mark.parametrize("order", list(permutations([state(1, 0, 0), state(2, 1, 1), state(2, 1, 2), state(1, 2, 3)])))
def test_newest_state_wins_in_every_order(order: tuple[PartitionState, ...]) -> None:
    image = MetadataImage()
    for one in order:
        image.merge("t", T_ID, {0: one})
    assert image.partition("t", 0) == state(1, 2, 3)


@pytest.mark.parametrize(
    ("told", "is_taken"),
    [
        (state(2, 3, 5), True),  # the same epochs: sent again
        (state(2, 3, 6), True),
        (state(2, 4, 0), True),  # the leader epoch counts before the partition epoch
        (state(2, 3, 4), False),
        (state(2, 2, 9), False),
    ],
)
def test_older_state_stays_out(told: PartitionState, is_taken: bool) -> None:
    image = MetadataImage()
    image.merge("t", T_ID, {0: state(1, 3, 5)})
    assert image.merge("t", T_ID, {0: told}) == ([0] if is_taken else [])
    assert image.partition("t", 0) == (told if is_taken else state(1, 3, 5))


def test_each_partition_is_judged_for_itself() -> None:
    image = MetadataImage()
    image.merge("t", T_ID, {0: state(1, 3, 5), 1: state(1, 0, 0)})
    assert image.merge("t", T_ID, {0: state(2, 2, 2), 1: state(2, 2, 2)}) == [1]


def test_partition_without_a_state_has_no_leader_and_takes_any_state() -> None:
    image = MetadataImage()
    image.merge("t", T_ID, {2: state(1, 0, 0)})
    assert [one.leader for one in image.topics["t"].partitions] == [-1, -1, 1]
    assert image.merge("t", T_ID, {0: state(2, 0, 0)}) == [0]


def test_other_topic_of_the_name_takes_its_place_with_epochs_of_its_own() -> None:
    image = MetadataImage()
    image.merge("t", T_ID, {0: state(1, 9, 9), 1: state(1, 9, 9)})
    assert image.merge("t", NEW_ID, {0: state(2, 0, 0)}) == [0]
    assert image.topic_by_id(T_ID) is None
    assert image.topic_by_id(NEW_ID) is image.topic("t")
    assert (image.partition("t", 0), image.partition("t", 1)) == (state(2, 0, 0), None)


def test_merged_states_leave_the_configuration_alone() -> None:
    image = MetadataImage()
    image.merge("t", T_ID, {0: state(1, 0, 0)})
    image.topics["t"].configs = {"retention.ms": "-1"}
    image.merge("t", T_ID, {0: state(1, 1, 1)})
    assert image.topics["t"].configs == {"retention.ms": "-1"}


def test_topic_merged_without_partitions_is_known_and_keeps_its_partitions() -> None:
    image = MetadataImage()
    image.merge("t", T_ID, {0: state(1, 0, 0)})
    assert image.merge("t", T_ID, {}) == []
    assert image.partition("t", 0) == state(1, 0, 0)


def test_partition_count_follows_topics_that_come_grow_go_and_are_replaced() -> None:
    image = MetadataImage()

    def counted() -> int:
        assert image.partition_count() == sum(len(topic.partitions) for topic in image.topics.values())
        return image.partition_count()

    state = PartitionState(1, 0, 0, (1,), (1,))
    image.merge("a", b"a" * 16, {0: state, 2: state})
    assert counted() == 3  # partition 1 is known by its number
    image.merge("a", b"a" * 16, {1: state, 0: state})
    assert counted() == 3
    image.merge("a", b"b" * 16, {0: state})  # another topic of that name
    assert counted() == 1
    image.put_topic(TopicImage("a", b"c" * 16, [state, state], {}))
    image.put_topic(TopicImage("d", b"d" * 16, [state], {}))
    assert counted() == 3
    assert image.topic_by_id(b"b" * 16) is None
    image.remove_topic("a")
    image.remove_topic("a")
    assert counted() == 1


def test_keys_stay_in_their_partitions_when_partitions_are_added() -> None:
    image = MetadataImage()
    image.put_topic(TopicImage(OFFSETS_TOPIC, T_ID, [state(1, 0, 0)] * 4, {}))
    image.merge(OFFSETS_TOPIC, T_ID, {6: state(1, 0, 0)})
    assert (len(image.topics[OFFSETS_TOPIC].partitions), image.keys_over(image.topics[OFFSETS_TOPIC])) == (7, 4)
    image.put_topic(TopicImage(OFFSETS_TOPIC, NEW_ID, [state(1, 0, 0)] * 6, {}))
    assert image.keys_over(image.topics[OFFSETS_TOPIC]) == 6
