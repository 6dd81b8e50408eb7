"""The rules of offsets name what breaks them, and nothing else."""

from __future__ import annotations

import pytest

from history import offsets
from history.events import OffsetRead, OffsetSent
from history.offsets import OffsetUnstable, broken_by_offsets

ROW, OTHER = "group flights-0", "group flights-1"


def sent(number: int) -> OffsetSent:
    return OffsetSent(f"transaction {number}", ROW, number)


SOUND = [sent(1), OffsetUnstable(ROW), OffsetRead(ROW, 1), sent(2), OffsetRead(ROW, 1), OffsetUnstable(ROW)]

CORRUPTIONS: list[tuple[list[object], set[str]]] = [
    ([], set()),
    ([OffsetRead(ROW, 2), sent(3), OffsetRead(ROW, 2)], set()),
    ([OffsetSent("another's", OTHER, 1), OffsetUnstable(OTHER), OffsetRead(OTHER, 1)], set()),
    ([OffsetRead(ROW, 2), OffsetRead(ROW, 1)], {"offset-back"}),
    ([OffsetRead(ROW, 2), OffsetRead(ROW, 1, is_stale=True)], set()),
    ([OffsetRead(ROW, 2), OffsetUnstable(ROW)], {"offset-unstable"}),
    ([sent(2), OffsetRead(ROW, 2, is_stale=True), OffsetUnstable(ROW)], set()),
    ([OffsetUnstable(OTHER)], {"offset-unstable"}),
]


@pytest.mark.parametrize(("more", "rules"), CORRUPTIONS)
def test_corruption_is_named(more: list[object], rules: set[str]) -> None:  # H11, KIP-447
    assert {rule for rule, _, _ in broken_by_offsets([*SOUND, *more])} == rules


def test_every_rule_of_the_table_has_a_corruption() -> None:
    assert offsets.__doc__ is not None
    table = {line.split("``")[1] for line in offsets.__doc__.splitlines() if line.startswith("| ``")}
    assert table == set().union(*(rules for _, rules in CORRUPTIONS))
