"""``kafkastore dump``: text, JSON and Parquet of directories, partitions and files; batches in kafka-dump-log's
words."""

from __future__ import annotations

import base64
import json
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from clients.conftest import START_TIME_MS, Sample, samples
from kafkastore.cli import main as cli
from kafkastore.scanning.bounds import COLUMNS
from peer.broker_factory import BrokerFactory
from peer.java_tools import JavaTools
from peer.topics import create_topic
from scan.produce import produce_samples

START = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=START_TIME_MS)
SENT = [sample for _ in range(5) for sample in samples(50)]
"""What topic `samples` of `stopped_log_dir` holds."""


def dumped(capfd: pytest.CaptureFixture[str], *arguments: object, status: int = 0) -> str:
    """What the command prints; on a failure what it says on stderr."""
    assert cli.main(["dump", *map(str, arguments)]) == status, capfd.readouterr()
    out, err = capfd.readouterr()
    return out if status == 0 else err


def dumped_json(capfd: pytest.CaptureFixture[str], *arguments: object) -> list[dict[str, Any]]:
    return [json.loads(line) for line in dumped(capfd, *arguments, "--format", "json").splitlines()]


def iso(timestamp_ms: int) -> str:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=timestamp_ms)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def test_json_has_every_column_of_every_record(stopped_log_dir: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rows = dumped_json(capfd, stopped_log_dir, "samples")
    assert [row["offset"] for row in rows] == list(range(len(SENT)))
    for row, sent in zip(rows, SENT, strict=True):
        headers = [{"key": name, "value": None if value is None else value.decode()} for name, value in sent.headers]
        assert row == {
            "key": None if sent.key is None else sent.key.decode(),
            "value": None if sent.value is None else sent.value.decode(),
            "topic": "samples",
            "partition": 0,
            "offset": row["offset"],
            "timestamp": iso(sent.timestamp),
            "timestampType": "CreateTime",
            "headers": headers or None,
        }


@pytest.fixture
def odd_log_dir(tmp_path: Path) -> Path:
    """A directory with one topic whose bytes are no text, or no line."""
    factory = BrokerFactory("kafkastore", tmp_path)
    broker = factory()
    create_topic(broker.bootstrap, "odd")
    odd = [
        Sample(b"\xff\xfe", b"a\nb\x1b[31m \xe2\x82\xac", START_TIME_MS, (("h", b"\x80"),)),
        Sample("\u00e9".encode(), None, START_TIME_MS + 1, (("n", None), ('q"', b"1"))),
    ]
    produce_samples(broker.bootstrap, "odd", odd)
    assert broker.stop() == 0
    return broker.log_dir


def test_bytes_that_are_no_text_are_base64_and_every_record_is_one_line(
    odd_log_dir: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    first, second = dumped_json(capfd, odd_log_dir)  # one topic: its name may be left out
    assert first["key_base64"] == base64.b64encode(b"\xff\xfe").decode()
    assert "key" not in first
    assert first["value"] == "a\nb\x1b[31m \u20ac"
    assert first["headers"] == [{"key": "h", "value_base64": "gA=="}]
    assert second["key"] == "\u00e9"
    assert second["headers"] == [{"key": "n", "value": None}, {"key": 'q"', "value": "1"}]
    lines = dumped(capfd, odd_log_dir, "odd").splitlines()
    assert lines == [
        f"odd-0 0 {iso(START_TIME_MS)} CreateTime key base64://4="
        ' value "a\\nb\\u001b[31m \\u20ac" headers "h"=base64:gA==',
        f'odd-0 1 {iso(START_TIME_MS + 1)} CreateTime key "\u00e9" value null headers "n"=null "q\\""="1"',
    ]


def test_bounds_partitions_columns_and_limits(stopped_log_dir: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rows = dumped_json(capfd, stopped_log_dir, "samples", "--from", 10, "--to", 13, "--columns", "offset,key")
    assert rows == [
        {"offset": offset, "key": None if key is None else key.decode()}
        for offset, key in [(offset, SENT[offset].key) for offset in (10, 11, 12)]
    ]
    moment = (START + timedelta(milliseconds=7)).isoformat()
    (first, *_) = dumped_json(capfd, stopped_log_dir, "samples", "--from", moment, "--max-records", 1)
    assert first["offset"] == 7
    assert len(dumped_json(capfd, stopped_log_dir, "segments", "--to", moment, "--partition", 0)) == 7
    assert len(dumped_json(capfd, stopped_log_dir, "samples", "--max-records", 0)) == 0
    assert len(dumped_json(capfd, stopped_log_dir, "samples", "--isolation-level", "read_committed")) == len(SENT)


def test_partition_directory_and_file_are_read_as_the_topic_is(
    stopped_log_dir: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = stopped_log_dir / "segments-0"
    files = sorted(folder.glob("*.log"))
    whole = dumped(capfd, stopped_log_dir, "segments")
    assert len(whole.splitlines()) == 3000
    assert dumped(capfd, folder) == whole
    assert "".join(dumped(capfd, file) for file in files) == whole
    base = int(files[1].stem)
    moment = (START + timedelta(milliseconds=base + 5)).isoformat()
    rows = dumped_json(capfd, files[1], "--from", moment, "--to", base + 9)
    assert [row["offset"] for row in rows] == list(range(base + 5, base + 9))


def test_file_is_dumped_wherever_it_lies(
    stopped_log_dir: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "evidence.log"
    copy.write_bytes((stopped_log_dir / "samples-0" / f"{0:020}.log").read_bytes())
    rows = dumped_json(capfd, copy)
    assert [row["offset"] for row in rows] == list(range(len(SENT)))


def test_parquet_holds_what_a_scan_gives(
    stopped_log_dir: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "samples.parquet"
    dumped(capfd, stopped_log_dir, "samples", "--format", "parquet", "--output", output, "--max-records", 120)
    table = pyarrow.parquet.read_table(output)
    assert table.column_names == list(COLUMNS)
    assert table["offset"].to_pylist() == list(range(120))
    assert table["value"].to_pylist() == [sent.value for sent in SENT[:120]]
    assert [path.name for path in tmp_path.iterdir()] == [output.name]


def test_output_takes_text_and_json_too(
    stopped_log_dir: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    printed = dumped(capfd, stopped_log_dir, "samples", "--format", "json")
    assert dumped(capfd, stopped_log_dir, "samples", "--format", "json", "--output", tmp_path / "out") == ""
    assert (tmp_path / "out").read_text() == printed


def test_batches_are_listed_as_kafka_dump_log_does(
    stopped_log_dir: Path, java: JavaTools, capfd: pytest.CaptureFixture[str]
) -> None:
    for topic in ("samples", "segments"):
        files = [str(file) for file in sorted((stopped_log_dir / f"{topic}-0").glob("*.log"))]
        theirs = java.tool("kafka-dump-log", "--files", ",".join(files))
        assert theirs.exit == 0
        assert dumped(capfd, stopped_log_dir, topic, "--batches") == theirs.out
    assert dumped(capfd, files[0], "--batches").count("isvalid: true") == theirs.out.split("Dumping ")[1].count(
        "isvalid"
    )


def test_batches_are_chosen_by_offset_and_time(stopped_log_dir: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lines = dumped(capfd, stopped_log_dir, "segments", "--batches", "--from", 1000, "--to", 1001).splitlines()
    (batch,) = [line for line in lines if line.startswith("baseOffset")]
    assert int(batch.split()[1]) <= 1000 <= int(batch.split()[3])
    until = (START + timedelta(milliseconds=500)).isoformat()
    before = dumped(capfd, stopped_log_dir, "segments", "--batches", "--to", until).count("baseOffset")
    total = dumped(capfd, stopped_log_dir, "segments", "--batches").count("baseOffset")
    assert 0 < before < total
    limited = dumped(capfd, stopped_log_dir, "segments", "--batches", "--max-records", 3)
    assert limited.count("baseOffset") == 3


def test_batch_with_a_bad_crc_is_shown_and_is_a_failure(log_dir: Path, capfd: pytest.CaptureFixture[str]) -> None:
    segment = log_dir / "samples-0" / f"{0:020}.log"
    data = bytearray(segment.read_bytes())
    data[100] ^= 1
    segment.write_bytes(data + b"tail")
    assert cli.main(["dump", str(segment), "--batches"]) == 1
    out, err = capfd.readouterr()
    assert out.count("isvalid: false") == 1
    assert out.count("isvalid: true") > 3
    assert "Found 4 invalid bytes at the end of 00000000000000000000.log" in out
    assert err == f"kafkastore dump: {segment} has a batch at position 0 whose CRC does not match\n"
    error = dumped(capfd, log_dir, "samples", status=1)
    assert f"{segment} is corrupt at position 0" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "PATH"),
        (["DIR", "--from", "yesterday"], "'yesterday' is neither an offset nor a time"),
        (["DIR", "--from", "2026-01-31T12:00:00"], "has no time zone; add Z"),
        (["DIR", "--max-records", "-1"], "max-records"),
        (["DIR", "--columns", "value,size"], "columns: there is no column size"),
        (["DIR", "--format", "xml"], "xml"),
        (["DIR", "--format", "parquet"], "--format parquet needs --output FILE"),
        (["DIR", "--nonsense"], "--nonsense"),
        (["DIR", "--isolation-level", "none"], "none"),
    ],
)
def test_wrong_usage_is_named_and_exits_2(
    stopped_log_dir: Path, arguments: list[str], sentence: str, capfd: pytest.CaptureFixture[str]
) -> None:
    error = dumped(capfd, *[stopped_log_dir if one == "DIR" else one for one in arguments], status=2)
    assert sentence in error.splitlines()[0]
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["DIR/none"], "does not exist; give a log directory"),
        (["DIR"], "holds 2 topics; name one of samples, segments after it"),
        (["DIR", "smaples"], "smaples"),
        (["DIR", "smaples", "--batches"], "holds no topic smaples"),
        (["DIR", "samples", "--partition", "3"], "3"),
        (["DIR", "samples", "--partition", "3", "--batches"], "has no partition 3; it has 0"),
        (["DIR/samples-0", "samples"], "is the directory of one partition; leave TOPIC out"),
        (["DIR/samples-0/00000000000000000000.index"], "is no .log file"),
        (["DIR/samples-0/00000000000000000000.log", "--isolation-level", "read_committed"], "alone does not tell"),
        (["DIR", "samples", "--from", "9", "--to", "3"], "9"),
        (["DIR/samples-0/00000000000000000000.log", "--from", "9", "--to", "3"], "--to 3 is before --from 9"),
        (["DIR", "samples", "--output", "DIR/none/out"], "DIR/none/out: No such file or directory"),
    ],
)
def test_missing_path_topic_or_partition_is_one_sentence_and_exits_1(
    stopped_log_dir: Path, arguments: list[str], sentence: str, capfd: pytest.CaptureFixture[str]
) -> None:
    error = dumped(capfd, *[one.replace("DIR", str(stopped_log_dir)) for one in arguments], status=1)
    assert error.startswith("kafkastore dump: ")
    assert sentence.replace("DIR", str(stopped_log_dir)) in error
    assert error.count("\n") == 1


def test_parquet_without_pyarrow_says_what_to_install(
    stopped_log_dir: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    output = tmp_path / "out.parquet"
    error = dumped(capfd, stopped_log_dir, "samples", "--format", "parquet", "--output", output, status=1)
    assert "pip install 'kafkastore[arrow]'" in error
    assert not output.exists()


def test_reader_that_goes_away_gets_no_traceback(stopped_log_dir: Path) -> None:
    command = [str(Path(sys.executable).parent / "kafkastore"), "dump", str(stopped_log_dir), "segments"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(30) == 128 + signal.SIGPIPE
