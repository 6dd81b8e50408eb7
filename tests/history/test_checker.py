"""The checker is given a sound history, then the same with one thing wrong: each corruption must be named, and only
it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from history.checker import broken_rules, check
from history.events import Acked, History, Led, Placement, Read, Refused, Replica, Sent, Trimmed, Watermark

P = "flights-0"
RECORDS = 8


def sound() -> History:
    """Two producers take turns; everything is acknowledged, read by a consumer, and on three replicas. One record
    (``b9``) was refused, one (``a9``) timed out and is nowhere."""
    history = History()
    history.events.append(Led(P, 0, 1))
    for offset in range(RECORDS):
        producer, number = "ab"[offset % 2], offset // 2
        name = f"{producer}{number}"
        history.events.append(Sent(name, producer, P, number))
        history.events.append(Acked(name, P, offset))
        if offset == RECORDS // 2:
            history.events.append(Led(P, 1, 2))
        history.events.append(Read(name, P, offset))
        history.events.append(Watermark(P, offset + 1))
    history.events.append(Sent("a9", "a", P, 9))
    history.events.append(Sent("b9", "b", P, 9))
    history.events.append(Refused("b9", P))
    history.final[P] = [read for read in history.events if isinstance(read, Read)]
    contents = {read.offset: str(read.id).encode() for read in history.final[P]}
    for broker, high_watermark in ((1, RECORDS), (2, RECORDS), (3, RECORDS - 2)):
        records = {offset: value for offset, value in contents.items() if offset < high_watermark + 1}
        history.replicas.append(Replica(P, broker, high_watermark, records))
    history.placements.append(Placement(P, (3, 1, 2), (1, 2, 3), (1, 2, 3), allowed=frozenset({frozenset({1, 2, 3})})))
    history.placements.append(Placement("deleted-0", ()))
    return history


def change(history: History, old: object, new: object) -> None:
    history.events[history.events.index(old)] = new  # type: ignore[arg-type,call-overload]


def without_reads(history: History) -> None:
    history.events[:] = [event for event in history.events if not isinstance(event, Read | Watermark)]


def test_sound_history_has_no_violation() -> None:
    assert check(sound()) == []


def test_record_acknowledged_without_durability_may_be_lost() -> None:
    history = sound()
    without_reads(history)
    change(history, Acked("b3", P, 7), Acked("b3", P, 7, is_durable=False))
    history.final[P] = history.final[P][:-1]
    assert check(history) == []


@pytest.mark.parametrize(("gone", "broken"), [(3, set()), (4, {"lost"})])
def test_only_records_below_a_log_start_that_was_asked_for_may_be_gone(gone: int, broken: set[str]) -> None:
    """What was asked for is what counts, not what the replicas did."""
    history = sound()
    history.events.append(Trimmed(P, 3))
    history.events.append(Trimmed(P, 1))
    history.final[P] = history.final[P][gone:]
    history.replicas[:] = [replace(one, log_start=gone) for one in history.replicas]
    assert broken_rules(history) == broken


def test_first_copy_of_a_record_may_be_below_the_log_start() -> None:
    """A producer without idempotence has written it twice."""
    history = sound()
    first = Sent("a0", "a", P, 0)
    change(history, first, replace(first, is_idempotent=False))
    history.final[P] = [*history.final[P][1:], Read("a0", P, RECORDS)]
    assert broken_rules(history) == {"moved"}
    history.events.append(Trimmed(P, 1))
    assert broken_rules(history) == set()


def test_repeat_of_a_record_below_the_log_start_may_be_acknowledged_elsewhere() -> None:
    """Its producer is idempotent; a replica whose log began behind the first copy does not know it."""
    history = sound()
    history.events.append(Acked("a0", P, RECORDS))
    history.final[P] = [Read("a0", P, RECORDS)]
    assert "moved" in broken_rules(history)
    history.events.append(Trimmed(P, RECORDS))
    assert broken_rules(history) == set()


def test_record_that_is_acknowledged_without_an_offset_is_somewhere() -> None:
    history = sound()
    change(history, Acked("b3", P, 7), Acked("b3", P, None))
    assert check(history) == []
    without_reads(history)
    history.final[P] = history.final[P][:-1]
    assert broken_rules(history) == {"lost"}
    history.events.append(Trimmed(P, 1))
    assert broken_rules(history) == set()


def test_record_whose_fate_is_unknown_may_be_in_the_log() -> None:
    history = sound()
    history.final[P] = [*history.final[P], Read("a9", P, RECORDS)]
    assert check(history) == []


def test_retry_of_a_producer_without_idempotence_may_be_twice() -> None:
    history = sound()
    change(history, Sent("a9", "a", P, 9), Sent("a9", "a", P, 9, is_idempotent=False))
    history.final[P] = [*history.final[P], Read("a9", P, RECORDS), Read("a9", P, RECORDS + 1)]
    assert check(history) == []


def test_partition_that_was_not_read_is_not_checked_for_losses() -> None:
    history = sound()
    history.final.clear()
    assert check(history) == []


# ---- corruptions
def lose_the_last(history: History) -> None:
    without_reads(history)
    history.final[P] = history.final[P][:-1]


def lose_one_in_the_middle(history: History) -> None:
    history.final[P] = [read for read in history.final[P] if read.offset != 3]


def lose_what_was_only_read(history: History) -> None:
    change(history, Acked("b3", P, 7), Acked("b3", P, 7, is_durable=False))
    history.final[P] = history.final[P][:-1]


def move_all_by_one(history: History) -> None:
    without_reads(history)
    history.final[P] = [replace(read, offset=read.offset + 1) for read in history.final[P]]


def acknowledge_elsewhere(history: History) -> None:
    change(history, Acked("a2", P, 4), Acked("a2", P, 5))


def acknowledge_a_second_time_elsewhere(history: History) -> None:
    history.final.clear()
    without_reads(history)
    history.events.append(Acked("a2", P, 6))


def duplicate(history: History) -> None:
    history.final[P] = [*history.final[P], Read("a1", P, RECORDS)]


def swap_two_of_one_producer(history: History) -> None:
    without_reads(history)
    history.events[:] = [event for event in history.events if not isinstance(event, Acked)]
    names = ["a0", "b0", "a2", "b1", "a1", "b2", "a3", "b3"]
    history.final[P] = [Read(name, P, offset) for offset, name in enumerate(names)]


def shuffle_the_offsets(history: History) -> None:
    history.final[P] = [history.final[P][1], history.final[P][0], *history.final[P][2:]]


def read_what_nobody_sent(history: History) -> None:
    history.final[P] = [*history.final[P], Read("c0", P, RECORDS)]


def read_what_was_sent_elsewhere(history: History) -> None:
    history.events.append(Sent("c0", "c", "flights-1", 0))
    history.final[P] = [*history.final[P], Read("c0", P, RECORDS)]


def read_what_was_refused(history: History) -> None:
    history.final[P] = [*history.final[P], Read("b9", P, RECORDS)]


def read_something_else_at_the_same_offset(history: History) -> None:
    history.events.append(Read("a9", P, 3, reader="another"))
    history.final.clear()


def read_backwards(history: History) -> None:
    history.events.append(Read("b1", P, 3))


def tell_a_lower_end(history: History) -> None:
    history.events.append(Watermark(P, RECORDS - 1))


def tell_an_end_below_what_was_read(history: History) -> None:
    history.events[:] = [event for event in history.events if not isinstance(event, Watermark)]
    history.events.append(Watermark(P, RECORDS - 1))


def lead_twice_in_one_epoch(history: History) -> None:
    history.events.append(Led(P, 1, 3))


def flip_a_bit(history: History) -> None:
    records = {**history.replicas[1].records, 2: b"A1"}
    history.replicas[1] = replace(history.replicas[1], records=records)


def flip_a_bit_on_a_replica_that_is_behind(history: History) -> None:
    records = {**history.replicas[2].records, 5: b"B2"}
    history.replicas[2] = replace(history.replicas[2], records=records)


def punch_a_hole(history: History) -> None:
    records = {offset: value for offset, value in history.replicas[2].records.items() if offset != 2}
    history.replicas[2] = replace(history.replicas[2], records=records)


def claim_more_than_it_has(history: History) -> None:
    history.replicas[2] = replace(history.replicas[2], high_watermark=RECORDS)


def place(history: History, **changes: Any) -> None:
    history.placements[0] = replace(history.placements[0], **changes)


def leave_a_move_unfinished(history: History) -> None:
    place(history, is_moving=True)


def move_where_nobody_wanted_it(history: History) -> None:
    place(history, replicas=(1, 2, 4), in_sync=(1, 2, 4), logs=(1, 2, 4))


def forget_a_member(history: History) -> None:
    place(history, in_sync=(1, 2))


def keep_a_member_too_many(history: History) -> None:
    place(history, in_sync=(1, 2, 3, 4))


def leave_a_log_behind(history: History) -> None:
    place(history, logs=(1, 2, 3, 4))


def leave_a_log_in_another_directory(history: History) -> None:
    place(history, logs=(1, 2, 2, 3))


def leave_a_log_of_a_topic_that_is_gone(history: History) -> None:
    history.placements[1] = replace(history.placements[1], logs=(2,))


def show_records_of_the_earlier_topic(history: History) -> None:
    """``d~1`` was made anew after ``d`` was deleted."""
    history.events += [Sent("x0", "x", "d-0", 0), Acked("x0", "d-0", 0), Read("x0", "d~1-0", 0)]


CORRUPTIONS: list[tuple[Callable[[History], None], set[str]]] = [
    (lose_the_last, {"lost"}),
    (lose_one_in_the_middle, {"lost"}),
    (lose_what_was_only_read, {"lost"}),
    (move_all_by_one, {"moved"}),
    (acknowledge_elsewhere, {"moved"}),
    (acknowledge_a_second_time_elsewhere, {"moved"}),
    (duplicate, {"duplicated"}),
    (swap_two_of_one_producer, {"reordered"}),
    (shuffle_the_offsets, {"unsorted"}),
    (read_what_nobody_sent, {"invented"}),
    (read_what_was_sent_elsewhere, {"invented"}),
    (read_what_was_refused, {"refused"}),
    (read_something_else_at_the_same_offset, {"changed"}),
    (read_backwards, {"unread"}),
    (tell_a_lower_end, {"went-back"}),
    (tell_an_end_below_what_was_read, {"went-back"}),
    (lead_twice_in_one_epoch, {"two-leaders"}),
    (flip_a_bit, {"divergent"}),
    (flip_a_bit_on_a_replica_that_is_behind, {"divergent"}),
    (punch_a_hole, {"incomplete"}),
    (claim_more_than_it_has, {"incomplete"}),
    (leave_a_move_unfinished, {"unfinished"}),
    (move_where_nobody_wanted_it, {"misplaced"}),
    (forget_a_member, {"not-in-sync"}),
    (keep_a_member_too_many, {"not-in-sync"}),
    (leave_a_log_behind, {"left-behind"}),
    (leave_a_log_in_another_directory, {"left-behind"}),
    (leave_a_log_of_a_topic_that_is_gone, {"left-behind"}),
    (show_records_of_the_earlier_topic, {"invented"}),
]


@pytest.mark.parametrize(("corrupt", "rules"), CORRUPTIONS, ids=[corrupt.__name__ for corrupt, _ in CORRUPTIONS])
def test_corruption_is_named(corrupt: Callable[[History], None], rules: set[str]) -> None:
    history = sound()
    corrupt(history)
    assert broken_rules(history) == rules


def test_below_the_high_watermark_is_what_counts() -> None:
    history = sound()
    records = {**history.replicas[2].records, RECORDS - 2: b"not committed here yet"}
    history.replicas[2] = replace(history.replicas[2], records=records)
    assert check(history) == []


def test_two_readers_may_each_read_everything() -> None:
    history = sound()
    history.events.extend(replace(read, reader="another") for read in history.final[P])
    assert check(history) == []


def test_every_rule_of_the_table_has_a_corruption() -> None:
    import history.checker as checker

    assert checker.__doc__ is not None
    table = {line.split("``")[1] for line in checker.__doc__.splitlines() if line.startswith("| ``")}
    assert table == set().union(*(rules for _, rules in CORRUPTIONS))
