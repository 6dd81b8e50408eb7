"""Batches that cannot be read: an error with topic, partition and offset, or passed over and named, as the option
says."""

from __future__ import annotations

import gzip
import json
import os
import re
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest

import kafkastore
from interop import batches
from interop.batches import Record, build
from kafkastore.cli import main as cli

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MS = 1_700_000_000_000
EACH = 2
"""Records of a batch."""


def records(first: int) -> list[Record]:
    return [Record(at, MS + at, None, b"value of %d" % at) for at in range(first, first + EACH)]


def flip_a_bit(batch: bytes) -> bytes:
    return batch[:-1] + bytes([batch[-1] ^ 1])


def break_the_magic(batch: bytes) -> bytes:
    return batch[:16] + b"\x63" + batch[17:]


def raise_the_base_offset(batch: bytes) -> bytes:
    return (1000).to_bytes(8, "big") + batch[8:]


def make_it_long(batch: bytes) -> bytes:
    return batch[:8] + (1 << 20).to_bytes(4, "big") + batch[12:]


def malform_the_payload(_: bytes) -> bytes:
    """Of zstd, with a checksum that is right."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "compress", lambda *_: b"this is no frame")
        return build(records(4), codec="zstd")


def malform_a_record(_: bytes) -> bytes:
    """The second of two, with a checksum that is right."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "compress", lambda _, data: gzip.compress(data[:-3]))
        return build(records(4), codec="gzip")


ALONE = [flip_a_bit, malform_the_payload, malform_a_record, raise_the_base_offset]
WITH_THE_REST = [break_the_magic, make_it_long]


def log_of(folder: Path, damage: Callable[[bytes], bytes]) -> Path:
    """Two segments of five batches; the third batch of the first one is damaged."""
    made = [build(records(at * EACH)) for at in range(10)]
    made[2] = damage(made[2])
    folder = folder / "logs" / "odd-0"
    folder.mkdir(parents=True)
    (folder / f"{0:020}.log").write_bytes(b"".join(made[:5]))
    (folder / f"{5 * EACH:020}.log").write_bytes(b"".join(made[5:]))
    return folder.parent


def offsets(scan: Any) -> list[int]:
    found: list[int] = pa.table(scan)["offset"].to_pylist()
    return found


@pytest.mark.parametrize("damage", [*ALONE, *WITH_THE_REST])
def test_damaged_batch_is_named_or_passed_over(
    tmp_path: Path, damage: Callable[[bytes], bytes], capfd: pytest.CaptureFixture[str]
) -> None:
    log_dir = log_of(tmp_path, damage)
    with pytest.raises(OSError, match=r"odd-0: the batch at offset 4 cannot be read: .*000.log is corrupt at position"):
        offsets(kafkastore.scan(log_dir, "odd"))
    end = 6 if damage in ALONE else 10
    expected = [at for at in range(20) if not 4 <= at < end]
    scan = kafkastore.scan(log_dir, "odd", ignore_corrupt_batches=True)
    assert offsets(scan) == expected
    assert scan.lost == [(0, 4, end)]
    for start in (1, 5, 6):
        scan = kafkastore.scan(log_dir, "odd", start=start, end=11, ignore_corrupt_batches=True)
        assert offsets(scan) == [at for at in expected if start <= at < 11]
        assert scan.lost == [(0, max(4, start), end)] * (max(4, start) < end)

    query = ["sql", 'select "offset" from odd', str(log_dir), "--format", "jsonl"]
    assert cli.main(query) == 1
    assert "odd-0: the batch at offset 4 cannot be read" in capfd.readouterr().err
    assert cli.main([*query, "--ignore-corrupt-batches"]) == 0
    out, error = capfd.readouterr()
    assert [json.loads(line)["offset"] for line in out.splitlines()] == expected
    assert error == f"kafkastore sql: odd-0: offsets 4 to {end} cannot be read and are left out\n"

    both = [
        "sql",
        "select count(*), count(value) from odd",
        str(log_dir),
        "--format",
        "csv",
        "--ignore-corrupt-batches",
    ]
    assert cli.main(both) == 0
    assert capfd.readouterr().out.splitlines()[1] == f"{len(expected)},{len(expected)}"
    counted = kafkastore.scan(log_dir, "odd", ignore_corrupt_batches=True)
    assert counted.count() == len(expected)
    assert counted.counts() is None

    dump = ["dump", str(log_dir), "odd", "--columns", "offset"]
    assert cli.main(dump) == 1
    assert capfd.readouterr().err.endswith("; --ignore-corrupt-batches goes on behind it\n")
    assert cli.main([*dump, "--ignore-corrupt-batches"]) == 0
    out, error = capfd.readouterr()
    assert [int(line) for line in out.splitlines()] == expected
    assert error == f"kafkastore dump: odd-0: offsets 4 to {end} cannot be read and are left out\n"

    export = ["export", str(log_dir), "--topic", "odd", "--output", str(tmp_path / "out"), "--no-progress"]
    assert cli.main(export) == 1
    error = capfd.readouterr().err
    assert error.startswith("kafkastore export: odd-0: the batch at offset 4 cannot be read")
    assert error.endswith("; --ignore-corrupt-batches goes on behind it\n")
    assert cli.main([*export, "--ignore-corrupt-batches"]) == 0
    assert f"odd-0: offsets 4 to {end} are lost" in capfd.readouterr().err
    files = [str(file) for file in (tmp_path / "out").rglob("*.parquet")]
    exported = duckdb.execute(f'select "offset" from read_parquet({files}) order by 1').fetchall()
    assert [row[0] for row in exported] == expected


def zero_the_header(batch: bytes) -> bytes:
    return bytes(61) + batch[61:]


MADE = [build(records(at * EACH)) for at in range(5)]
UNREAD = (
    "another replica may have what follows, and kafkastore dump DIR TOPIC --ignore-corrupt-batches goes on in the next"
)
ENDS = {
    "length": ([*MADE[:2], make_it_long(MADE[2]), *MADE[3:]], r"ends with \d+ bytes that are no whole batch"),
    "cut": ([*MADE[:2], MADE[2][:-1]], r"ends with \d+ bytes that are no whole batch"),
    "header": (
        [*MADE[:2], zero_the_header(MADE[2]), *MADE[3:]],
        r"batch length 0 .* \(\d+ bytes from there to the end\)",
    ),
    "zeros": ([*MADE[:2], bytes(5000)], ""),
}


@pytest.mark.parametrize("kind", ENDS)
@pytest.mark.parametrize("how", ["text", "json", "parquet", "batches"])
def test_file_that_is_not_read_to_its_end_is_an_error_unless_zeros_follow(
    tmp_path: Path, kind: str, how: str, capfd: pytest.CaptureFixture[str]
) -> None:
    parts, reason = ENDS[kind]
    file = tmp_path / f"{0:020}.log"
    file.write_bytes(b"".join(parts))
    output = ["--output", str(tmp_path / "out")]
    dump = ["dump", str(file), *output, *(["--batches"] if how == "batches" else ["--format", how])]
    assert cli.main(dump) == (1 if reason else 0)
    _, error = capfd.readouterr()
    if reason:
        assert re.fullmatch(f"kafkastore dump: .*{file.name} .*{reason}; {UNREAD} segment\n", error)
    else:
        assert error == ""
    if how in ("text", "json"):
        assert len((tmp_path / "out").read_text().splitlines()) == 4
    if how == "batches":
        return
    assert cli.main([*dump, "--max-records", "4"]) == 0  # all that is wanted is there
    assert cli.main([*dump, "--to", "3"]) == 0
    assert capfd.readouterr().err == ""
    assert cli.main([*dump, "--ignore-corrupt-batches"]) == 0
    assert UNREAD not in capfd.readouterr().err


def test_batches_are_listed_with_broken_ones_in_any_case(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["dump", str(tmp_path), "--batches", "--ignore-corrupt-batches"]) == 2
    assert "leave --ignore-corrupt-batches out" in capfd.readouterr().err


FOUR = 4
"""Records of a batch in the logs below: batches 0 to 3 are a sealed segment, 4 to 7 the active one."""
HIGH_WATERMARK = 32


def of_four(first: int) -> list[Record]:
    return [Record(at, MS + at, None, b"value of %d" % at) for at in range(first, first + FOUR)]


def log_below_a_high_watermark(folder: Path, made: list[bytes]) -> Path:
    path = folder / "logs" / "odd-0"
    path.mkdir(parents=True)
    (path / f"{0:020}.log").write_bytes(b"".join(made[:4]))
    (path / f"{4 * FOUR:020}.log").write_bytes(b"".join(made[4:]))
    (path.parent / "replication-offset-checkpoint").write_text(f"0\n1\nodd 0 {HIGH_WATERMARK}\n")
    return path.parent


def begin_at(base_offset: int) -> Callable[[bytes], bytes]:
    return lambda batch: base_offset.to_bytes(8, "big") + batch[8:]


def end_after(delta: int) -> Callable[[bytes], bytes]:
    return lambda batch: batch[:23] + delta.to_bytes(4, "big") + batch[27:]


def zero(batch: bytes) -> bytes:
    return bytes(len(batch))


def cut(batch: bytes) -> bytes:
    return batch[:-10]


def remove(_: bytes) -> bytes:
    return b""


HIDDEN = [
    *((begin_at(1 << 40), at, FOUR) for at in range(3, 8)),
    (begin_at(16), 3, FOUR),  # the next segment's
    *((begin_at(0), at, FOUR) for at in (3, 5, 7)),
    *((end_after(delta), at, FOUR) for delta in (1000, 4, 2, 0) for at in (3, 5, 7)),
    (zero, 3, FOUR),
    (zero, 5, 3 * FOUR),
    (zero, 7, FOUR),
    (break_the_magic, 5, 3 * FOUR),
    (make_it_long, 5, 3 * FOUR),
    (cut, 7, FOUR),
    (remove, 7, FOUR),
]
"""Damage, of which batch, and how many offsets are lost by it."""


@pytest.mark.parametrize(("damage", "at", "count"), HIDDEN)
def test_damaged_header_never_hides_a_record_silently(
    tmp_path: Path, damage: Callable[[bytes], bytes], at: int, count: int
) -> None:
    made = [build(of_four(number * FOUR)) for number in range(8)]
    made[at] = damage(made[at])
    log_dir = log_below_a_high_watermark(tmp_path, made)
    lost = range(at * FOUR, at * FOUR + count)
    expected = [offset for offset in range(HIGH_WATERMARK) if offset not in lost]

    loss = rf"odd-0: (the batch at offset {lost[0]} cannot be read|offsets {lost[0]} to {HIGH_WATERMARK} are lost)"
    with pytest.raises((OSError, kafkastore.ScanError), match=loss):
        offsets(kafkastore.scan(log_dir, "odd"))
    with suppress(kafkastore.ScanError):  # headers may tell the number of records of a batch that cannot be read
        assert kafkastore.scan(log_dir, "odd").count() == HIGH_WATERMARK
    behind = min(lost[-1] + 1, 30)
    for start, end in [(0, 32), (lost[0] + 1, 32), (behind, 32), (3, lost[0] + 2), (1, lost[0]), (22, 23)]:
        scan = kafkastore.scan(log_dir, "odd", start=start, end=end, ignore_corrupt_batches=True)
        assert offsets(scan) == [offset for offset in expected if start <= offset < end], (start, end)
        told = [offset for _, first, last in scan.lost for offset in range(first, last)]
        assert sorted(told) == [offset for offset in lost if start <= offset < end], (start, end)
    scan = kafkastore.scan(log_dir, "odd", ignore_corrupt_batches=True)
    assert [offset for share in scan.splits(8) for offset in offsets(share)] == expected
    assert scan.count() == len(expected)
    assert len(kafkastore.topics(log_dir)) == 1


def test_log_that_ends_below_the_high_watermark_is_loss_or_told(tmp_path: Path) -> None:
    made = [build(of_four(number * FOUR)) for number in range(7)]
    log_dir = log_below_a_high_watermark(tmp_path, made)
    with pytest.raises(kafkastore.DataLossError, match="odd-0: offsets 28 to 32 are lost: the files end at 28"):
        kafkastore.scan(log_dir, "odd")
    assert offsets(kafkastore.scan(log_dir, "odd", end=28)) == list(range(28)), "nothing of it is lost"
    scan = kafkastore.scan(log_dir, "odd", fail_on_data_loss=False)
    assert (offsets(scan), scan.lost) == (list(range(28)), [(0, 28, 32)])
    # made again after the checkpoint was written, of a live broker: its high watermark is that of another topic
    (log_dir / "odd-0" / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA\n")
    os.utime(log_dir / "replication-offset-checkpoint", (MS / 1000, MS / 1000))
    assert offsets(kafkastore.scan(log_dir, "odd")) == list(range(28))


def test_bounds_by_time_pass_damage_as_the_option_says(tmp_path: Path) -> None:
    made = [build(of_four(number * FOUR)) for number in range(8)]
    made[2] = flip_a_bit(made[2])
    made[5] = begin_at(1 << 40)(made[5])
    log_dir = log_below_a_high_watermark(tmp_path, made)

    def time_of(offset: int) -> datetime:
        return datetime.fromtimestamp((MS + offset) / 1000, UTC)

    for offset in (9, 21):
        with pytest.raises(kafkastore.ScanError, match=rf"odd-0: the batch at offset {offset // 4 * 4} cannot be read"):
            kafkastore.scan(log_dir, "odd", start=time_of(offset))
    scan = kafkastore.scan(log_dir, "odd", start=time_of(9), end=time_of(21), ignore_corrupt_batches=True)
    assert offsets(scan) == list(range(12, 20))
    assert scan.lost == [(0, 8, 12), (0, 20, 24)]


def test_transaction_whose_marker_cannot_be_read_is_told_as_lost(tmp_path: Path) -> None:
    made = [build(of_four(number * FOUR)) for number in range(8)]
    made[5] = build(of_four(20), flags=batches.TRANSACTIONAL, producer=(7, 0, 0))
    made[6] = flip_a_bit(batches.build_marker(24, MS, 7, 0, batches.COMMIT))
    made[7] = build(of_four(25))
    log_dir = log_below_a_high_watermark(tmp_path, made)
    (log_dir / "replication-offset-checkpoint").write_text("0\n1\nodd 0 29\n")
    with pytest.raises(kafkastore.ScanError, match="odd-0: the batch at offset 24 cannot be read"):
        kafkastore.scan(log_dir, "odd", isolation_level="read_committed")
    scan = kafkastore.scan(log_dir, "odd", isolation_level="read_committed", ignore_corrupt_batches=True)
    assert offsets(scan) == [*range(20), *range(25, 29)]
    assert (0, 20, 25) in scan.lost

    (log_dir / "odd-0" / f"{16:020}.log").write_bytes(b"".join([*made[4:6], break_the_magic(made[6]), made[7]]))
    scan = kafkastore.scan(log_dir, "odd", isolation_level="read_committed", ignore_corrupt_batches=True)
    assert (offsets(scan), scan.lost) == (list(range(20)), [(0, 20, 29)])
