"""The rules of compacted topics are given a sound history, then the same with one thing wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from history import compaction
from history.compaction import (
    CompactionHistory,
    KeptReplica,
    KeyAcked,
    Keyed,
    KeyRead,
    KeySent,
    PassBegan,
    PassEnded,
    broken_by_compaction,
)

if TYPE_CHECKING:
    from collections.abc import Callable

P = "c-0"
OLD, VALUE, NEW = Keyed("a0", "red"), Keyed("a1", "blue"), Keyed("a2", "red")
TOMBSTONE, AGAIN, FILLER = Keyed("a3", "blue", is_tombstone=True), Keyed("a4", "green"), Keyed("a5", "filler")
RECORDS = (OLD, VALUE, NEW, TOMBSTONE, AGAIN, FILLER)
"""At the offsets 0 to 5, sent at the seconds 0 to 5."""
RETENTION_S = 4.0


def sound() -> CompactionHistory:
    """A tombstone that a pass finds in time; one replica that has cleaned and one that has not; both cleaned twice."""
    history = CompactionHistory(RETENTION_S, longest_cleaning_s=1.0)
    for offset, record in enumerate(RECORDS):
        history.events.append(KeySent(record, P, offset))
        history.events.append(KeyAcked(record, P, offset))
    history.events.append(PassBegan("reader", P, 6.0))
    history.events += [KeyRead("reader", P, offset, RECORDS[offset]) for offset in (1, 2, 3, 4, 5)]
    history.events.append(PassEnded("reader", P, has_one_leader=True, time=8.5))
    everything = dict(enumerate(RECORDS))
    history.replicas.append(KeptReplica(P, 1, 6, everything, None, 6.5))
    history.replicas.append(KeptReplica(P, 2, 6, {2: NEW, 3: TOMBSTONE, 4: AGAIN, 5: FILLER}, None, 6.5))
    for broker in (1, 2):
        history.cleaned.append(KeptReplica(P, broker, 6, {2: NEW, 4: AGAIN, 5: FILLER}, 5, 30.0))
    return history


def rules(history: CompactionHistory) -> set[str]:
    return {rule for rule, _, _ in broken_by_compaction(history)}


def without_read(history: CompactionHistory, *offsets: int) -> None:
    history.events[:] = [one for one in history.events if not (isinstance(one, KeyRead) and one.offset in offsets)]


def change_end(history: CompactionHistory, **changed: Any) -> None:
    history.events[-1] = replace(history.events[-1], **changed)


def change(replicas: list[KeptReplica], **changed: Any) -> None:
    replicas[1] = replace(replicas[1], **changed)


def test_sound_history_breaks_no_rule() -> None:
    assert rules(sound()) == set()


def test_pass_may_miss_tombstones_that_are_old_enough_to_be_gone() -> None:
    """It had two leaders, or took too long."""
    for changed in ({"has_one_leader": False}, {"time": 9.5}):
        history = sound()
        without_read(history, 3)
        change_end(history, **changed)
        assert rules(history) == set()


def test_pass_of_two_leaders_finds_each_young_tombstone() -> None:
    history = sound()
    without_read(history, 3)
    change_end(history, has_one_leader=False, time=6.9)  # the tombstone was sent at 3
    assert rules(history) == {"key-deleted"}


def read_other(history: CompactionHistory) -> None:
    history.events[-1:-1] = [KeyRead("reader", P, 6, AGAIN)]


def read_unsent(history: CompactionHistory) -> None:
    history.events[-1:-1] = [KeyRead("reader", P, 6, Keyed("b0", "red"))]


def read_with_other_key(history: CompactionHistory) -> None:
    history.events[-1:-1] = [KeySent(Keyed("b0", "red"), P), KeyRead("reader", P, 6, Keyed("b0", "blue"))]


def read_older(history: CompactionHistory) -> None:
    history.events.insert(-6, KeyRead("reader", P, 0, OLD))
    without_read(history, 2)


def read_backward(history: CompactionHistory) -> None:
    history.events[-1:-1] = [KeyRead("reader", P, 3, TOMBSTONE)]


CORRUPTIONS: dict[str, tuple[Callable[[CompactionHistory], None], set[str]]] = {
    "another record at an offset": (read_other, {"key-changed"}),
    "another record on a replica": (
        lambda one: change(one.replicas, records={0: NEW, 3: TOMBSTONE, 4: AGAIN, 5: FILLER}),
        {"key-changed", "key-lost"},
    ),
    "a record that was never sent": (read_unsent, {"key-invented"}),
    "a record with another key": (read_with_other_key, {"key-invented"}),
    "an offset again": (read_backward, {"key-backward"}),
    "the last value is not read": (lambda one: without_read(one, 2), {"key-missed"}),
    "an older value is read": (
        read_older,
        {"key-missed"},
    ),
    "the tombstone is not read": (lambda one: without_read(one, 3), {"key-deleted"}),
    "the last value is gone": (
        lambda one: change(one.replicas, records={3: TOMBSTONE, 4: AGAIN, 5: FILLER}),
        {"key-lost"},
    ),
    "the tombstone is gone too early": (
        lambda one: change(one.replicas, records={2: NEW, 4: AGAIN, 5: FILLER}),
        {"key-lost"},
    ),
    "the tombstone is gone before the value": (
        lambda one: change(one.replicas, records={1: VALUE, 2: NEW, 4: AGAIN, 5: FILLER}, time=8.0),
        {"key-revived"},
    ),
    "other ends": (lambda one: change(one.replicas, log_end=7), {"key-ends"}),
    "no cleaning": (lambda one: change(one.cleaned, clean_to=None), {"uncleaned"}),
    "two records of a key": (
        lambda one: change(one.cleaned, records={0: OLD, 2: NEW, 4: AGAIN, 5: FILLER}),
        {"uncompacted"},
    ),
    "a tombstone after its time": (
        lambda one: change(one.cleaned, records={2: NEW, 3: TOMBSTONE, 4: AGAIN, 5: FILLER}),
        {"tombstone-left"},
    ),
}


@pytest.mark.parametrize(("corrupt", "broken"), CORRUPTIONS.values(), ids=CORRUPTIONS.keys())
def test_corruption_is_named(corrupt: Callable[[CompactionHistory], None], broken: set[str]) -> None:
    """KIP-534."""
    history = sound()
    corrupt(history)
    assert rules(history) == broken


def test_every_rule_of_the_table_has_a_corruption() -> None:
    assert compaction.__doc__ is not None
    table = {line.split("``")[1] for line in compaction.__doc__.splitlines() if line.startswith("| ``")}
    assert table == set().union(*(broken for _, broken in CORRUPTIONS.values()))
