"""``kafkastore export``: the files hold the topic, each record once, whatever is killed and however often it is
called."""

from __future__ import annotations

import fcntl
import json
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet
import pytest

import kafkastore
from clients.conftest import samples
from kafkastore.cli import main as cli
from kafkastore.scanning.bounds import COLUMNS
from peer.broker_process import BrokerProcess
from peer.topics import admin_client, create_topic
from scan.produce import produce_samples
from scan.rows import assert_rows, rows_of

KILLS = 8
START = "import sys; from kafkastore.cli.main import main; sys.exit(main())"


def exported(capfd: pytest.CaptureFixture[str], *arguments: object, status: int = 0) -> list[dict[str, Any]]:
    """The lines of --json."""
    assert cli.main(["export", *map(str, arguments), "--json"]) == status, capfd.readouterr()
    return [json.loads(line) for line in capfd.readouterr().out.splitlines()]


def refused(capfd: pytest.CaptureFixture[str], *arguments: object, status: int = 1) -> str:
    assert cli.main(["export", *map(str, arguments)]) == status
    said = capfd.readouterr().err
    assert said.count("\n") == 1
    return said


class Files:
    """The exported files of a topic, as a scan's stream of rows."""

    def __init__(self, folder: Path) -> None:
        self.paths = sorted(folder.glob("partition=*/*.parquet"), key=lambda path: (int(path.parent.name[10:]), path))
        self._table = pa.concat_tables(
            pyarrow.parquet.ParquetFile(path).read().replace_schema_metadata() for path in self.paths
        )

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


def assert_exported(folder: Path, scan: kafkastore.Scan) -> None:
    """The files hold the rows of the scan, in its order."""
    assert_rows(rows_of(Files(folder)), rows_of(scan), folder)
    assert not list(folder.rglob("*.partial"))


def test_calls_export_what_has_come_since_the_last_one(
    scan_broker: BrokerProcess, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    create_topic(scan_broker.bootstrap, "exported.1", 3)
    at = (scan_broker.log_dir, "--topic", "exported.1", "--bootstrap-server", scan_broker.bootstrap)
    where = (*at, "--output", tmp_path)

    def whole() -> kafkastore.Scan:
        return kafkastore.scan(
            scan_broker.log_dir, "exported.1", columns=COLUMNS, bootstrap_servers=scan_broker.bootstrap
        )

    assert exported(capfd, *where)[-1]["files"] == 0
    for round_number in range(3):
        produce_samples(scan_broker.bootstrap, "exported.1", samples(90), partitions=3)
        *files, summary = exported(capfd, *where)
        assert [(file["start_offset"], file["end_offset"]) for file in files] == [
            (30 * round_number, 30 * round_number + 30)
        ] * 3
        assert (summary["records"], summary["files"]) == (90, 3)
        assert exported(capfd, *where)[-1]["files"] == 0, "nothing has come"
        assert_exported(tmp_path / "exported.1", whole())
    first = tmp_path / "exported.1" / "partition=0" / "00000000000000000000-00000000000000000029.parquet"
    metadata = pyarrow.parquet.read_metadata(first)
    assert metadata.row_group(0).column(4).statistics.max == 29
    assert metadata.row_group(0).sorting_columns[0].column_index == 4
    assert {name: text for name, text in metadata.metadata.items() if name.startswith(b"kafka.")} == {
        b"kafka.topic": b"exported.1",
        b"kafka.topic.id": metadata.metadata[b"kafka.topic.id"],
        b"kafka.partition": b"0",
        b"kafka.start.offset": b"0",
        b"kafka.end.offset": b"30",
    }
    with duckdb.connect() as database:
        query = f"select partition, count(*), max(\"offset\") from '{tmp_path}/exported.1/**/*.parquet' group by 1"
        assert sorted(database.execute(query).fetchall()) == [(number, 90, 89) for number in range(3)]

    admin = admin_client(scan_broker.bootstrap)
    admin.delete_topics(["exported.1"])["exported.1"].result(30)
    create_topic(scan_broker.bootstrap, "exported.1", 3)
    produce_samples(scan_broker.bootstrap, "exported.1", samples(300), partitions=3)
    assert "was exported from a topic exported.1 that was deleted" in refused(capfd, *where)


@pytest.mark.timeout(240)
def test_export_that_is_killed_again_and_again_holds_each_record_once(
    stopped_log_dir: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """kill -9 at random times; whole files only, in order, between calls."""
    arguments = [str(stopped_log_dir), "--topic", "segments", "--output", str(tmp_path)]
    small = ["--file-size", "60k", "--row-group-size", "20k", "--threads", "3"]
    folder = tmp_path / "segments"
    chance = random.Random(5)
    seen: list[str] = []
    kills = 0
    while kills < KILLS:
        wanted = len(seen) + chance.randrange(1, 4)
        command = [sys.executable, "-c", START, "export", *arguments, *small]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            while len(list(folder.glob("partition=0/*.parquet"))) < wanted and process.poll() is None:
                time.sleep(0.002)
            time.sleep(chance.random() * 0.01)
            process.send_signal(signal.SIGKILL)
        assert process.returncode in (0, -signal.SIGKILL)
        kills += process.returncode == -signal.SIGKILL
        found = sorted(path.name for path in folder.glob("partition=0/*.parquet"))
        assert found[: len(seen)] == seen, "files that have appeared stay as they are"
        ends = [-1, *(int(name[21:41]) for name in found)]
        assert [int(name[:20]) for name in found] == [end + 1 for end in ends[:-1]], "no hole between files"
        if process.returncode == 0:
            shutil.rmtree(folder)
            found = []
        seen = found
    exported(capfd, *arguments, *small)
    assert_exported(folder, kafkastore.scan(stopped_log_dir, "segments", columns=COLUMNS))


def test_options_choose_the_records_and_the_form_of_the_files(
    stopped_log_dir: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    at = (stopped_log_dir, "--topic", "samples", "--output", tmp_path)
    chosen = ("--from", 10, "--to", 200, "--columns", "headers,offset,key", "--compression", "snappy")
    *_, summary = exported(capfd, *at, *chosen)
    assert (summary["records"], summary["files"]) == (190, 1)
    [path] = Files(tmp_path / "samples").paths
    table = pyarrow.parquet.ParquetFile(path).read()
    assert table.column_names == ["headers", "offset", "key"]
    assert table["offset"].to_pylist() == list(range(10, 200))
    row_group = pyarrow.parquet.read_metadata(path).row_group(0)
    assert row_group.column(2).path_in_schema == "offset"
    assert (row_group.column(2).compression, row_group.sorting_columns[0].column_index) == ("SNAPPY", 2)
    assert exported(capfd, *at, "--from", 0)[-1]["records"] == 50, "goes on at 200, whatever --from says"


def test_deleted_records_and_broken_segments_stop_the_export_by_name(
    log_dir: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    at = (log_dir, "--topic", "segments", "--output", tmp_path / "lake", "--threads", 1, "--file-size", "100k")
    first, second, third, *_ = sorted((log_dir / "segments-0").glob("*.log"))
    begin = int(second.stem)
    exported(capfd, *at, "--to", begin - 10)
    data = bytearray(second.read_bytes())
    data[200] ^= 4
    second.write_bytes(data)
    assert f"{second.name} is corrupt at position 0" in refused(capfd, *at)
    found = Files(tmp_path / "lake" / "segments").paths
    end = int(found[-1].name[21:41]) + 1
    assert begin - 10 <= end <= begin, "the files before the broken batch stay"
    for segment in (first, second):
        segment.unlink()
    sentence = refused(capfd, *at)
    assert f"segments-0: offsets {end} to {third.stem.lstrip('0')} are lost" in sentence
    assert "--allow-data-loss goes on behind them" in sentence
    *_, summary = exported(capfd, *at, "--allow-data-loss")
    assert summary["lost"] == [{"partition": 0, "start_offset": end, "end_offset": int(third.stem)}]
    gone = range(end, int(third.stem))
    offsets = [row.offset for row in rows_of(Files(tmp_path / "lake" / "segments"))]
    assert offsets == [offset for offset in range(3000) if offset not in gone]


def test_mistakes_are_one_sentence_and_write_nothing(
    stopped_log_dir: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "lake"
    good = [stopped_log_dir, "--topic", "samples", "--output", output]
    for arguments, status, sentence in [
        (["--topic", "samples", "--output", output], 2, "no directory is given"),
        ([stopped_log_dir, "--output", output], 2, "--topic is missing"),
        ([stopped_log_dir, "--topic", "samples"], 2, "--output is missing"),
        ([*good, "--compression", "brotli"], 2, "'brotli' is not one of 'zstd'"),
        ([*good, "--file-size", "1P"], 2, "'1P' is no size"),
        ([*good, "--from", "yesterday"], 2, "'yesterday' is neither an offset nor a time"),
        ([*good, "--columns", "size"], 2, "there is no column size"),
        ([*good, "--from", "-1"], 2, "--from"),
        ([stopped_log_dir, "--topic", "smaples", "--output", output], 1, "smaples"),
        ([tmp_path / "missing", "--topic", "samples", "--output", output], 1, "missing"),
        ([*good, "--bootstrap-server", "127.0.0.1:1"], 1, "127.0.0.1:1"),
    ]:
        assert sentence in refused(capfd, *arguments, status=status)
        assert not output.exists(), arguments
    inside = refused(capfd, *good[:-1], stopped_log_dir / "lake")
    assert "is in the log directory" in inside
    folder = output / "samples"
    folder.mkdir(parents=True)
    with (folder / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert "another export writes to" in refused(capfd, *good)
    partition = folder / "partition=0"
    partition.mkdir()
    (partition / f"{0:020}-{9:020}.parquet").write_bytes(b"")
    assert "is no Parquet file; remove it" in refused(capfd, *good)
    (partition / f"{5:020}-{12:020}.parquet").write_bytes(b"")
    assert "has offsets that 00000000000000000000-00000000000000000009.parquet has, too" in refused(capfd, *good)
