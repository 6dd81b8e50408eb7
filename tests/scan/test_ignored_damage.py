"""Batches that cannot be read: an error with topic, partition and offset, or passed over and named, as the option says.

spec: R5.3
"""

from __future__ import annotations

import gzip
import json
import re
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


ALONE = [flip_a_bit, malform_the_payload, malform_a_record]
WITH_THE_REST = [break_the_magic, make_it_long, raise_the_base_offset]


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
    for start in (1, 5) if damage in ALONE else (1,):  # a plan finds no offset behind what it cannot walk
        scan = kafkastore.scan(log_dir, "odd", start=start, end=11, ignore_corrupt_batches=True)
        assert offsets(scan) == [at for at in expected if start <= at < 11]
        assert scan.lost == [(0, max(4, start), end)]

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
