"""The rules of transactions are given a sound history, then the same with one thing wrong: each corruption must be
named, and only it."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from kafkastore._simulator import producer_entries

from history import transactions
from history.checker import broken_rules
from history.events import EndAsked, Ended, History, OffsetRead, OffsetSent, ProducerBatch, Read, Sent, Trimmed

if TYPE_CHECKING:
    from collections.abc import Callable

P, Q = "flights-0", "flights-1"
ID = 7
OUTCOMES: dict[str, tuple[bool | None, bool | None]] = {
    "committed": (True, True),
    "aborted": (False, False),
    "lost answer": (True, None),
    "refused": (True, False),
    "died": (None, None),
}
"""By transaction what its producer asked for, and what it was told; None for nothing."""
COMMITTED = ("committed", "lost answer")
ROW = "group flights-0"


def sound() -> History:
    """Of five transactions with a record in each of two partitions and an offset, two are committed; the producer heard
    of one of these. Clients read everything that is committed."""
    history = History()
    for partition in (P, Q):
        history.producers[partition] = []
        history.committed[partition] = []
    for number, (name, (asked, told)) in enumerate(OUTCOMES.items()):
        for partition in (P, Q):
            history.events.append(Sent(f"{name} {partition}", "producer", partition, number, transaction=name))
            batches = [ProducerBatch(2 * number, ID, number, is_transactional=True)]
            batches.append(ProducerBatch(2 * number + 1, ID, number + 1, True, is_commit=name in COMMITTED))
            history.producers[partition] = [*history.producers[partition], *batches]
        history.events.append(OffsetSent(name, ROW, number))
        if asked is not None:
            history.events.append(EndAsked(name, asked))
        if told is not None:
            history.events.append(Ended(name, told))
        if name in COMMITTED:
            history.events.append(OffsetRead(ROW, number))
            history.offsets[ROW] = number
            for partition in (P, Q):
                read = Read(f"{name} {partition}", partition, 2 * number, is_committed=True)
                history.events.append(read)
                history.committed[partition] = [*history.committed[partition], read]
    return history


def lose(history: History, name: str, *partitions: str) -> None:
    """Its records are not committed in the end."""
    for partition in partitions:
        left = [read for read in history.committed[partition] if read.id != f"{name} {partition}"]
        history.committed[partition] = left


def unread(history: History, name: str) -> None:
    """Nobody has read it before the end."""
    ids = {f"{name} {P}", f"{name} {Q}"}
    offset = list(OUTCOMES).index(name)
    history.events[:] = [
        event
        for event in history.events
        if not (isinstance(event, Read) and event.id in ids)
        and not (isinstance(event, OffsetRead) and event.offset == offset)
    ]


def test_sound_history_breaks_no_rule() -> None:
    assert broken_rules(sound()) == set()


def test_transaction_of_unknown_outcome_may_be_missing_as_a_whole() -> None:
    history = sound()
    unread(history, "lost answer")
    lose(history, "lost answer", P, Q)
    history.offsets[ROW] = 0
    assert broken_rules(history) == set()


def test_row_may_have_no_offset_when_nothing_is_committed() -> None:
    history = sound()
    for name in COMMITTED:
        unread(history, name)
    history.events[:] = [event for event in history.events if not isinstance(event, Ended | EndAsked)]
    history.committed = {P: [], Q: []}
    history.offsets[ROW] = None
    assert broken_rules(history) == set()


def test_offset_of_an_unknown_outcome_without_records_may_be_there_or_not() -> None:
    history = sound()
    history.events += [OffsetSent("offset alone", ROW, 9), EndAsked("offset alone", is_commit=True)]
    assert broken_rules(history) == set()
    history.offsets[ROW] = 9
    assert broken_rules(history) == set()


def test_record_below_a_log_start_may_be_missing() -> None:
    history = sound()
    unread(history, "committed")
    lose(history, "committed", P)
    history.events.append(Trimmed(P, 1))
    assert broken_rules(history) == set()


def test_record_above_a_log_start_may_not_be_missing() -> None:
    history = sound()
    history.events.append(Trimmed(P, 4))  # "lost answer" is at 4
    lose(history, "lost answer", P)
    assert broken_rules(history) == {"torn", "changed-outcome"}


def test_aborted_records_may_be_read_by_others() -> None:
    history = sound()
    history.events.append(Read(f"aborted {P}", P, 2, reader="uncommitted"))
    assert broken_rules(history) == set()


def test_transaction_without_epoch_bump_is_sound() -> None:
    history = sound()
    batches = [ProducerBatch(offset, ID, 1, True, None if offset % 2 == 0 else True) for offset in range(6)]
    history.producers[P] = batches
    assert broken_rules(history) == set()


# ---- corruptions
def tear(history: History) -> None:
    unread(history, "lost answer")
    lose(history, "lost answer", Q)


def lose_an_offset(history: History) -> None:
    history.offsets[ROW] = 0


def keep_an_offset_of_records_that_are_missing(history: History) -> None:
    unread(history, "lost answer")
    lose(history, "lost answer", P, Q)


def commit_an_aborted_offset(history: History) -> None:
    history.offsets[ROW] = list(OUTCOMES).index("died")


def read_an_aborted_offset(history: History) -> None:
    history.events.append(OffsetRead(ROW, list(OUTCOMES).index("refused")))


def read_an_offset_that_nobody_sent(history: History) -> None:
    history.events.append(OffsetRead(ROW, 20))


def lose_a_part_of_a_commit(history: History) -> None:
    unread(history, "committed")
    lose(history, "committed", Q)


def lose_a_whole_commit(history: History) -> None:
    unread(history, "committed")
    lose(history, "committed", P, Q)


def read_an_abort(history: History) -> None:
    history.events.append(Read(f"aborted {P}", P, 20, is_committed=True))


def read_a_refused_commit(history: History) -> None:
    history.committed[P] = [*history.committed[P], Read(f"refused {P}", P, 20)]


def read_what_a_dead_producer_left(history: History) -> None:
    history.committed[Q] = [*history.committed[Q], Read(f"died {Q}", Q, 20)]


def change_an_outcome(history: History) -> None:
    lose(history, "lost answer", P, Q)


def write_before_the_marker(history: History) -> None:
    first, marker, second, *others = history.producers[P]
    history.producers[P] = [first, replace(second, offset=1), replace(marker, offset=2, producer_epoch=2), *others]


def write_in_an_earlier_epoch(history: History) -> None:
    late = ProducerBatch(20, ID, 0, is_transactional=True)
    history.producers[P] = [*history.producers[P], late, ProducerBatch(21, ID, 9, True, is_commit=False)]


def leave_a_transaction_open(history: History) -> None:
    history.producers[P] = [*history.producers[P], ProducerBatch(20, ID, 9, is_transactional=True)]


CORRUPTIONS: list[tuple[Callable[[History], None], set[str]]] = [
    (tear, {"torn"}),
    (lose_a_part_of_a_commit, {"uncommitted"}),
    (lose_a_whole_commit, {"uncommitted"}),
    (read_an_abort, {"aborted-read", "changed-outcome"}),
    (read_a_refused_commit, {"aborted-read"}),
    (read_what_a_dead_producer_left, {"aborted-read"}),
    (change_an_outcome, {"torn", "changed-outcome", "offset-torn", "offset-uncommitted"}),
    (lose_an_offset, {"offset-torn"}),
    (keep_an_offset_of_records_that_are_missing, {"offset-torn"}),
    (commit_an_aborted_offset, {"offset-torn"}),
    (read_an_aborted_offset, {"offset-uncommitted"}),
    (read_an_offset_that_nobody_sent, {"offset-uncommitted"}),
    (write_before_the_marker, {"overlapping"}),
    (write_in_an_earlier_epoch, {"overlapping"}),
    (leave_a_transaction_open, {"hanging"}),
]


@pytest.mark.parametrize(("corrupt", "rules"), CORRUPTIONS, ids=[corrupt.__name__ for corrupt, _ in CORRUPTIONS])
def test_corruption_is_named(corrupt: Callable[[History], None], rules: set[str]) -> None:
    history = sound()
    corrupt(history)
    assert broken_rules(history) == rules


def test_every_rule_of_the_table_has_a_corruption() -> None:
    assert transactions.__doc__ is not None
    table = {line.split("``")[1] for line in transactions.__doc__.splitlines() if line.startswith("| ``")}
    assert table == transactions.RULES == set().union(*(rules for _, rules in CORRUPTIONS))


def test_marker_of_which_compaction_left_the_header_is_no_record_of_a_transaction() -> None:
    transactional, control = 0x10, 0x20

    def empty_batch(attributes: int) -> bytes:
        fields = 17, 49, 0, 2, 0, attributes, 0, -1, -1, 7, 5, -1, 0
        return struct.pack(">qiibIhiqqqhii", *fields)

    assert producer_entries(empty_batch(transactional | control)) == []
    assert producer_entries(empty_batch(transactional)) == [(17, 17, 7, 5, True, None)]
