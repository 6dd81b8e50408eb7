"""Which offset of the target is which one of the source, against a table of all records."""

from __future__ import annotations

import random

import pytest

from kafkastore.migration import marks
from kafkastore.migration.marks import Marks, Run, decoded, encoded, runs_of

Offsets = list[tuple[int, int]]


def mirrored(random_: random.Random, transactions: int) -> tuple[Marks, Offsets]:
    """Transactions of a mirror, through the records of the marks' topic; and (source, target) of every record."""
    found, table = Marks(), []
    source, target = 7, 3
    found.add(Run(source, target, 0))
    for _ in range(transactions):
        pairs = []
        for _ in range(random_.randint(1, 12)):
            source += random_.choice([0, 0, 0, 1, 5])  # markers, compacted records
            target += random_.choice([0, 0, 0, 0, 2])  # another producer of the target
            pairs.append((source, target))
            source, target = source + 1, target + 1
        runs = runs_of([(one, 1) for one, _ in pairs], [(one, 1) for _, one in pairs])
        (topic, partition), read = decoded(*encoded("a topic", 3, runs))
        assert (topic, partition, read) == ("a topic", 3, runs)
        for run in read:
            found.add(run)
        table += pairs
        target += 1  # the marker of the mirror's transaction
    return found, table


def first_from(table: Offsets, offset: int) -> int | None:
    return next((target for source, target in table if source >= offset), None)


def test_translation_is_the_first_record_from_an_offset_on() -> None:
    for seed in range(50):
        found, table = mirrored(random.Random(seed), 30)
        targets = [target for _, target in table]
        for offset in range(table[-1][0] + 3):
            expected, translated = first_from(table, offset), found.translated(offset)
            assert translated is not None
            # behind a gap it may be an offset that no record has, before the same record
            assert next((one for one in targets if one >= translated), None) == expected, (seed, offset)
        assert found.records == len(table)
        assert found.end == targets[-1] + 1


def test_translation_without_all_runs_is_never_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marks, "MOST_RUNS", 40)
    found, table = mirrored(random.Random(1), 60)
    assert len(found) <= 40
    for offset, target in table:
        translated = found.translated(offset)
        assert translated is not None
        assert translated <= target
    newest = table[-20:]
    assert [found.translated(offset) for offset, _ in newest] == [target for _, target in newest]


def test_tail_begins_at_a_record() -> None:
    found, table = mirrored(random.Random(2), 30)
    for count in (1, 5, 50, len(table)):
        assert found.tail(count) == Run(*table[-count], count)
    assert found.tail(len(table) + 1) == Run(7, 3, len(table))
    assert Marks().tail(1) is None
    assert Marks().translated(5) is None


def test_runs_of_other_numbers_of_records_are_refused() -> None:
    assert runs_of([(0, 5), (5, 5)], [(10, 3), (13, 7)]) == [Run(0, 10, 10)]
    for targets in ([(10, 9)], [(10, 11)], [(10, 10), (20, 1)], []):
        with pytest.raises(ValueError, match="records were written than read"):
            runs_of([(0, 10)], targets)
