"""Offsets that another broker wrote in transactions: what a load makes of them. Rules as Kafka's OffsetMetadataManager."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafkastore.coordinator.group.records import (
    GroupValue,
    OffsetValue,
    group_key,
    group_value,
    offset_key,
    offset_value,
)
from kafkastore.errors import ErrorCode
from unit.coordinator.group_world import TOPIC_ID, MemoryLog, World

if TYPE_CHECKING:
    from kafkastore.coordinator.group.offsets import FetchedPartition

NOW_MS = 1_000_000_000
DAY_MS = 24 * 60 * 60 * 1000
UNSTABLE = ErrorCode.UNSTABLE_OFFSET_COMMIT


class KafkasLog(MemoryLog):
    """Group g's partition of ``__consumer_offsets``, record by record."""

    def commit(self, partition: int, offset: int, producer_id: int = -1, group: str = "g") -> None:
        value = offset_value(OffsetValue(offset, 3, "m", NOW_MS, -1, TOPIC_ID))
        self.write(0, offset_key(group, "t", partition), value, producer_id)

    def delete(self, partition: int) -> None:
        self.write(0, offset_key("g", "t", partition), None)

    def end(self, producer_id: int, control: str) -> None:
        self.write(0, b"\0\0\0\1", b"\0\0\0\0\0\0", producer_id, control)


@pytest.fixture
def log() -> KafkasLog:
    return KafkasLog(1)


def fetched(world: World, *partitions: int, require_stable: bool = True) -> list[tuple[int, int]]:
    """(offset, error code) of each."""
    result = world.fetch("g", [("t", None, partitions)], require_stable)
    assert result.error_code == 0
    rows: list[FetchedPartition] = result.topics[0][1]
    return [(row.offset, row.error_code) for row in rows]


# spec: R4.8, KIP-98 and KIP-447
def test_offsets_of_an_open_transaction_are_unstable_and_the_last_stable_one_is_told(log: KafkasLog) -> None:
    log.commit(0, 5)
    log.commit(0, 6, producer_id=7)
    log.commit(1, 8, producer_id=7)
    world = World(log)
    assert fetched(world, 0, 1, 2) == [(-1, UNSTABLE), (-1, UNSTABLE), (-1, 0)]
    assert fetched(world, 0, 1, 2, require_stable=False) == [(5, 0), (-1, 0), (-1, 0)]
    assert world.fetched() == {("t", 0): 5}
    everything = world.fetch("g", None, True)
    assert everything.topics == [("t", [(0, -1, -1, "", UNSTABLE)])], "of all topics, only what is committed is told"


def test_a_commit_marker_applies_the_offsets_of_its_producer_alone(log: KafkasLog) -> None:
    log.commit(0, 6, producer_id=7)
    log.commit(0, 9, producer_id=8)
    log.commit(1, 10, producer_id=7)
    log.commit(1, 11, producer_id=7)
    log.end(7, "commit")
    world = World(log)
    assert fetched(world, 0, 1) == [(-1, UNSTABLE), (11, 0)]
    assert fetched(world, 0, require_stable=False) == [(6, 0)]


def test_an_abort_marker_drops_them_and_the_next_transaction_counts(log: KafkasLog) -> None:
    log.commit(0, 5)
    log.commit(0, 6, producer_id=7)
    log.end(7, "abort")
    log.commit(1, 7, producer_id=7)
    log.end(7, "commit")
    log.end(9, "commit")  # of a producer that committed nothing here
    assert fetched(World(log), 0, 1) == [(5, 0), (7, 0)]


def test_a_transaction_counts_where_it_was_written_not_where_it_ended(log: KafkasLog) -> None:
    log.commit(0, 6, producer_id=7)
    log.commit(0, 5)
    log.commit(1, 1, producer_id=7)
    log.commit(1, 2, producer_id=8)
    log.end(8, "commit")
    log.end(7, "commit")
    assert fetched(World(log), 0, 1) == [(5, 0), (2, 0)]


def test_a_deletion_drops_what_open_transactions_wrote_before_it(log: KafkasLog) -> None:
    log.commit(0, 5, producer_id=7)
    log.commit(1, 5, producer_id=7)
    log.delete(0)
    log.commit(1, 6)
    log.delete(1)
    log.commit(1, 7, producer_id=7)
    log.end(7, "commit")
    assert fetched(World(log), 0, 1) == [(-1, 0), (7, 0)]


def test_the_groups_own_records_leave_its_transactions_alone(log: KafkasLog) -> None:
    empty = group_value(GroupValue("consumer", 2, None, None, NOW_MS, ()))
    log.commit(0, 5, producer_id=7)
    log.write(0, group_key("g"), empty)
    assert fetched(World(log), 0) == [(-1, UNSTABLE)]
    log.write(0, group_key("g"), None)
    assert fetched(World(log), 0) == [(-1, UNSTABLE)]
    log.end(7, "commit")
    assert fetched(World(log), 0) == [(5, 0)]


def test_one_line_names_the_groups_whose_consumers_will_wait(log: KafkasLog, caplog: pytest.LogCaptureFixture) -> None:
    log.commit(0, 5, producer_id=7, group="h")
    log.commit(0, 5, producer_id=7)
    log.commit(0, 5, producer_id=8, group="ended")
    log.end(8, "abort")
    World(log)
    (line,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert line == (
        "Open transactions in __consumer_offsets-0 hold offsets of g, h; consumers that want stable offsets wait until these"
        " are deleted (kafka-consumer-groups --delete-offsets)"
    )


def test_control_records_that_end_nothing_are_skipped(log: KafkasLog, caplog: pytest.LogCaptureFixture) -> None:
    log.commit(0, 5, producer_id=7)
    log.end(7, "other")
    assert fetched(World(log), 0) == [(-1, UNSTABLE)]
    assert "Skipped 1 records of __consumer_offsets-0 (offset 1: a control record that is no transaction marker)" in (
        caplog.text
    )


# ---- what can be done about an open one here


def test_open_ones_neither_expire_nor_let_their_group_go(log: KafkasLog) -> None:
    log.commit(0, 5)
    log.commit(0, 6, producer_id=7)
    log.commit(1, 5)
    world = World(log)
    world.clock.advance(8 * DAY_MS)
    assert world.expire() == 1
    assert world.fetched() == {("t", 0): 5}
    assert fetched(world, 0, 1) == [(-1, UNSTABLE), (-1, 0)]


def test_they_can_be_deleted_with_their_offset_or_their_group_for_good(log: KafkasLog) -> None:
    log.commit(0, 5, producer_id=7)
    log.commit(1, 5, producer_id=7)
    world = World(log)
    assert world.delete_offsets([("t", [0])]).result == (0, [("t", [(0, 0)])])
    assert fetched(world, 0, 1) == [(-1, 0), (-1, UNSTABLE)]
    assert world.delete_groups("g").result == {"g": 0}
    for later in (world, world.restarted()):
        assert not later.coordinator.store.groups
        assert fetched(later, 0, 1) == [(-1, 0), (-1, 0)]


def test_offsets_of_deleted_topics_go_from_them_too(log: KafkasLog) -> None:
    log.commit(0, 5, producer_id=7)
    world = World(log)
    world.coordinator.on_topics_deleted(["t"])
    assert fetched(world, 0) == [(-1, 0)]


def test_a_plain_commit_beside_one_is_taken_but_stays_unstable(log: KafkasLog) -> None:
    log.commit(0, 5, producer_id=7)
    world = World(log)
    world.commit({("t", 0): 9})
    assert fetched(world, 0) == [(-1, UNSTABLE)]
    assert fetched(world, 0, require_stable=False) == [(9, 0)]
