"""Mistakes get one sentence that names the argument, the value and the fix; broken files fail the scan by name and
position, and never give a wrong row.
"""

from __future__ import annotations

import pickle
import random
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import kafkastore
from kafkastore import DataLossError, ScanError
from kafkastore.scanning.bounds import COLUMNS
from scan.rows import Row, rows_of

if TYPE_CHECKING:
    from pathlib import Path

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
FLIPS = 200


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        ({"columns": ["value", "size"]}, ValueError, "columns: there is no column size; there are key, value, topic"),
        ({"columns": ["value", "value"]}, ValueError, "columns names value twice"),
        ({"columns": []}, ValueError, "columns is empty"),
        ({"columns": "value"}, TypeError, r"columns is 'value': give a list, as \['value'\]"),
        ({"partitions": [7]}, (ValueError, FileNotFoundError), "7"),
        ({"partitions": [-1]}, ValueError, "partitions: there is no partition -1"),
        ({"partitions": 0}, TypeError, r"partitions is 0: give a list, as \[0\]"),
        ({"start": {7: 0}}, (ValueError, FileNotFoundError), "7"),
        ({"start": 20, "end": 10}, ValueError, "20.*10|10.*20"),
        ({"start": -3}, ValueError, "start is -3: give an offset from 0 on"),
        ({"start": 1.5}, TypeError, r"start is 1\.5: give an offset"),
        ({"end": {0: "now"}}, TypeError, r"end\[0\] is 'now': give an offset"),
        ({"end": 10_000_000}, (ValueError, DataLossError), "10000000|10,000,000"),
        ({"start": datetime(2026, 1, 31)}, ValueError, "start is .* and has no time zone: add one"),  # noqa: DTZ001
        ({"min_timestamp": datetime(2026, 1, 31)}, ValueError, "min_timestamp is .* no time zone"),  # noqa: DTZ001
        ({"end_timestamp": 5}, TypeError, "end_timestamp is 5: give a datetime"),
        (
            {"min_timestamp": NOON, "end_timestamp": datetime(2026, 1, 30, tzinfo=UTC)},
            ValueError,
            "end_timestamp .* is before min_timestamp",
        ),
        (
            {"isolation_level": "serializable"},
            ValueError,
            "isolation_level is 'serializable': give read_uncommitted or",
        ),
        ({"keys": b"a"}, TypeError, r"keys is b'a': give a list"),
        ({"keys": [1]}, TypeError, "keys: 1 is no key"),
        ({"threads": 0}, ValueError, "threads is 0: give a number from 1 on"),
        ({"batch_rows": 0}, ValueError, "batch_rows is 0"),
        ({"batch_bytes": -1}, ValueError, "batch_bytes is -1"),
        ({"batch_rows": "9"}, TypeError, "batch_rows is '9': give a whole number"),
        ({"topic": "smaples"}, (ValueError, FileNotFoundError), "smaples"),
        ({"topic": ""}, ValueError, "topic is '': give the name of a topic"),
        ({"log_dirs": []}, ValueError, "log_dirs is empty"),
        ({"log_dirs": 5}, TypeError, "log_dirs is 5: give the path of a log directory"),
        ({"log_dirs": [b"x"]}, TypeError, "log_dirs: b'x' is no path"),
        ({"bootstrap_servers": "localhost:port"}, ValueError, "bootstrap_servers: 'localhost:port' is no server"),
    ],
    ids=str,
)
def test_mistakes_are_one_sentence(
    stopped_log_dir: Path, arguments: dict[str, Any], error: type[Exception], sentence: str
) -> None:
    given: dict[str, Any] = {"log_dirs": stopped_log_dir, "topic": "samples"} | arguments
    with pytest.raises(error, match=sentence) as raised:
        kafkastore.scan(given.pop("log_dirs"), given.pop("topic"), **given)
    assert "\n" not in str(raised.value)


def test_directories_that_are_none_are_named(tmp_path: Path) -> None:
    missing, file = tmp_path / "missing", tmp_path / "file"
    file.write_text("")
    for path in (missing, file, tmp_path):
        for call in (lambda p: kafkastore.scan(p, "samples"), kafkastore.topics):
            with pytest.raises((OSError, ValueError), match=path.name) as raised:
                call(path)
            assert "\n" not in str(raised.value)


def test_same_partition_in_two_directories_is_refused(stopped_log_dir: Path, log_dir: Path) -> None:
    with pytest.raises((ValueError, ScanError)) as raised:
        kafkastore.scan([stopped_log_dir, log_dir], "samples")
    assert str(stopped_log_dir) in str(raised.value)
    assert str(log_dir) in str(raised.value)


def all_rows(log_dir: Path, topic: str = "segments", **arguments: Any) -> list[Row]:
    return rows_of(kafkastore.scan(log_dir, topic, columns=COLUMNS, **arguments))


def segments(log_dir: Path, topic: str = "segments") -> list[Path]:
    found = sorted((log_dir / f"{topic}-0").glob("*.log"))
    assert found
    return found


# what a stream raises carries the core's sentence, whatever class the library makes of it
FAILED = (ScanError, pa.ArrowException, OSError, ValueError)


def test_flipped_bit_under_the_crc_fails_with_file_and_position(log_dir: Path) -> None:
    segment = segments(log_dir)[1]
    data = bytearray(segment.read_bytes())
    data[200] ^= 4  # within the first batch's records
    segment.write_bytes(data)
    with pytest.raises(FAILED, match=rf"{segment.name} is corrupt at position 0: ") as raised:
        all_rows(log_dir)
    assert "\n" not in str(raised.value).strip()


@pytest.mark.parametrize("topic", ["samples", "segments"])
def test_flipped_bits_never_give_a_wrong_row(log_dir: Path, topic: str) -> None:
    """Any bit of a segment; the fields outside the CRC are base offset, length, leader epoch, magic."""
    expected = all_rows(log_dir, topic)
    segment = segments(log_dir, topic)[0]
    data = segment.read_bytes()
    chance = random.Random(4)
    failed = 0
    for _ in range(FLIPS):
        position, bit = chance.randrange(len(data)), chance.randrange(8)
        with segment.open("r+b") as file:
            file.seek(position)
            file.write(bytes([data[position] ^ 1 << bit]))
        try:
            assert all_rows(log_dir, topic) == expected, f"bit {bit} of byte {position}"
        except FAILED as error:
            assert segment.name in str(error) or "lost" in str(error), error  # noqa: PT017
            failed += 1
        with segment.open("r+b") as file:
            file.seek(position)
            file.write(data[position : position + 1])
    assert failed > FLIPS * 0.9
    assert all_rows(log_dir, topic) == expected


def test_segment_cut_short_fails_and_never_gives_a_wrong_row(log_dir: Path) -> None:
    expected = all_rows(log_dir)
    for segment in segments(log_dir)[-2:]:
        data = segment.read_bytes()
        for size in (60, 61, len(data) // 2, len(data) - 1):
            segment.write_bytes(data[:size])
            with pytest.raises(FAILED, match=rf"{segment.name}|lost"):
                all_rows(log_dir)
        segment.write_bytes(data)
    assert all_rows(log_dir) == expected


def test_segment_cut_between_batches_is_taken_for_compaction(log_dir: Path) -> None:
    """What no file tells (docs/scan.md); the rows that are given are right."""
    expected = all_rows(log_dir)
    _, second, third, *_ = segments(log_dir)
    second.write_bytes(b"")
    gone = range(int(second.stem), int(third.stem))
    assert all_rows(log_dir) == [row for row in expected if row.offset not in gone]


def test_missing_or_damaged_indexes_change_no_answer(log_dir: Path) -> None:
    moment = all_rows(log_dir)[1500].timestamp

    def answers() -> list[list[Row]]:
        at = datetime.fromtimestamp(moment / 1_000_000, UTC)
        return [all_rows(log_dir), all_rows(log_dir, start=1234, end=2345), all_rows(log_dir, start=at)]

    expected = answers()
    assert len(expected[2]) == 1500
    indexes = [path for suffix in ("index", "timeindex") for path in (log_dir / "segments-0").glob(f"*.{suffix}")]
    assert len(indexes) > 4
    for index in indexes:
        data = bytearray(index.read_bytes())
        data[:] = b"\x55" * len(data)
        index.write_bytes(data)
    assert answers() == expected
    for index in indexes:
        index.unlink()
    assert answers() == expected
    assert kafkastore.scan(log_dir, "segments").count() == 3000


def test_missing_segment_is_loss_or_reported_as_asked(log_dir: Path) -> None:
    first, second = segments(log_dir)[:2]
    for path in (first, second):  # an older segment is made first: a younger one would be the work of a cleaner
        data = path.read_bytes()
        path.unlink()
        path.write_bytes(data)
    whole = kafkastore.scan(log_dir, "segments", columns=COLUMNS)
    expected = rows_of(whole)
    shares = pickle.loads(pickle.dumps(whole.splits(1)))
    second.unlink()
    assert rows_of(whole) == rows_of(whole.splits(1)[0]) == expected, "its files are open"
    with pytest.raises(FAILED, match=r"segments-0: offsets \d+ to \d+ are lost"):
        rows_of(shares[0])


def test_scan_tells_the_error_that_arrow_made_a_sentence_of(log_dir: Path) -> None:
    segment = segments(log_dir)[1]
    data = bytearray(segment.read_bytes())
    data[100] ^= 1
    segment.write_bytes(data)
    scan = kafkastore.scan(log_dir, "segments", columns=COLUMNS)
    assert scan.failure is None
    with pytest.raises(OSError, match="is corrupt at position 0"):
        pa.table(scan)
    failure = scan.failure
    assert isinstance(failure, ScanError)
    assert (failure.path, failure.position) == (str(segment), 0)


def test_deleted_head_is_loss_only_when_asked_for(log_dir: Path) -> None:
    first, second, *_ = segments(log_dir)
    first.unlink()
    begin = int(second.stem)
    assert all_rows(log_dir)[0].offset == begin, "the earliest is what is there"
    with pytest.raises(DataLossError, match="segments-0") as raised:
        kafkastore.scan(log_dir, "segments", start=0)
    assert (raised.value.partition, raised.value.start_offset, raised.value.end_offset) == (0, 0, begin)
    scan = kafkastore.scan(log_dir, "segments", columns=COLUMNS, start=0, fail_on_data_loss=False)
    assert rows_of(scan)[0].offset == begin
    assert scan.lost == [(0, 0, begin)]
