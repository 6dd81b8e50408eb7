"""What the broker takes without inflating it, and timestamps of any size, every reader reads."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import duckdb
import lz4.frame
import pyarrow as pa
import pytest

import kafkastore
from interop import batches
from interop.batches import Record, build
from kafkastore.cli import main as cli

if TYPE_CHECKING:
    from pathlib import Path

MS = 1_700_000_000_000
FARTHEST = 2**63 - 1


def topic_of(folder: Path, segment: bytes) -> Path:
    folder = folder / "logs"
    (folder / "odd-0").mkdir(parents=True)
    (folder / "odd-0" / f"{0:020}.log").write_bytes(segment)
    return folder


def records(count: int, first: int = 0) -> list[Record]:
    return [Record(at, MS + at, b"k%d" % at, b"value of %d" % at * 50) for at in range(first, first + count)]


def check_readers(log_dir: Path, expected: list[Record], capfd: pytest.CaptureFixture[str], output: Path) -> None:
    """Arrow, DuckDB and each command give the records."""
    table = pa.table(kafkastore.scan(log_dir, "odd"))
    assert table["value"].to_pylist() == [one.value for one in expected]
    scan = kafkastore.scan(log_dir, "odd", columns=["key", "value", "timestamp"])  # noqa: F841 - DuckDB finds it
    assert duckdb.execute("select key, value from scan").fetchall() == [(one.key, one.value) for one in expected]
    assert duckdb.execute("select max(timestamp)::varchar from scan").fetchall() != []
    dump, sql = ["dump", str(log_dir / "odd-0"), "--format", "json"], ["sql", "select * from odd", str(log_dir)]
    for command in (dump, [*sql, "--format", "jsonl"]):
        assert cli.main(command) == 0, capfd.readouterr()
        rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
        assert [row["value"].encode() for row in rows] == [one.value for one in expected]
    assert cli.main(["sql", "select timestamp from odd", str(log_dir)]) == 0
    assert cli.main(["export", str(log_dir), "--topic", "odd", "--output", str(output), "--json"]) == 0, (
        capfd.readouterr()
    )
    capfd.readouterr()
    files = list(output.rglob("*.parquet"))
    exported = duckdb.execute(f'select value from read_parquet({[str(file) for file in files]}) order by "offset"')
    assert [row[0] for row in exported.fetchall()] == [one.value for one in expected]


@pytest.mark.parametrize("linked", [True, False])
def test_lz4_of_linked_blocks_and_of_several_frames_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], linked: bool
) -> None:
    expected = records(2000)

    def compress(_: str, data: bytes) -> bytes:
        size = lz4.frame.BLOCKSIZE_MAX64KB
        halves = [data] if linked else [data[: len(data) // 2], data[len(data) // 2 :]]
        return b"".join(lz4.frame.compress(half, block_size=size, block_linked=linked) for half in halves)

    monkeypatch.setattr(batches, "compress", compress)
    check_readers(topic_of(tmp_path, build(expected, codec="lz4")), expected, capfd, tmp_path / "out")


@pytest.mark.parametrize("timestamp", [MS * 1_000, MS * 1_000_000, FARTHEST, -1, -FARTHEST])
def test_timestamps_of_any_size_are_read(tmp_path: Path, capfd: pytest.CaptureFixture[str], timestamp: int) -> None:
    far = Record(1, timestamp, b"far", b"away")
    segment = build(records(1)) + build([far]) + build(records(1, first=2))
    expected = [*records(1), far, *records(1, first=2)]
    log_dir = topic_of(tmp_path, segment)
    check_readers(log_dir, expected, capfd, tmp_path / "out")
    times = pa.table(kafkastore.scan(log_dir, "odd", columns=["timestamp"]))["timestamp"].cast(pa.int64()).to_pylist()
    assert times == [MS * 1000, max(-FARTHEST, min(FARTHEST, timestamp * 1000)), (MS + 2) * 1000]
