"""``kafkastore sql``: answers are those of the records that were sent, and no more is read than the answer needs."""

from __future__ import annotations

import csv
import io
import json
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
import pytest

import kafkastore
from clients.conftest import START_TIME_MS, Sample, samples
from kafkastore.cli import main as cli
from kafkastore.scanning.bounds import COLUMNS
from kafkastore.scanning.pushdown import ScanLimits
from kafkastore.scanning.scan import Scan
from peer.broker_factory import BrokerFactory
from peer.broker_process import BrokerProcess
from peer.topics import create_topic
from scan.conftest import RECORDS
from scan.produce import produce_samples

START = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=START_TIME_MS)
SENT = samples(RECORDS)


def told(capfd: pytest.CaptureFixture[str], query: str, *arguments: object, status: int = 0) -> str:
    """What the command prints; on a failure what it says on stderr."""
    assert cli.main(["sql", query, *map(str, arguments)]) == status, capfd.readouterr()
    out, err = capfd.readouterr()
    return out if status == 0 else err


def answered(capfd: pytest.CaptureFixture[str], query: str, *arguments: object) -> list[dict[str, Any]]:
    out = told(capfd, query, *arguments, "--format", "jsonl")
    return [json.loads(line) for line in out.splitlines()]


def text(data: bytes | None) -> str | None:
    return None if data is None else data.decode()


def test_answers_are_those_of_the_records_that_were_sent(
    scan_broker: BrokerProcess, capfd: pytest.CaptureFixture[str]
) -> None:
    at = (scan_broker.log_dir, "--bootstrap-server", scan_broker.bootstrap)
    rows = answered(capfd, "select partition, offset, key, value, headers from 'samples' order by all", *at)
    placed = [(place % 3, place // 3, sample) for place, sample in enumerate(SENT)]
    assert [(row["partition"], row["offset"], row["key"], row["value"]) for row in rows] == sorted(
        (partition, offset, text(sample.key), text(sample.value)) for partition, offset, sample in placed
    )
    with_headers = [row for row in rows if row["headers"] is not None]
    assert len(with_headers) == sum(bool(sample.headers) for sample in SENT)
    assert with_headers[0]["headers"][1:] == [{"key": "trace", "value": ""}, {"key": "none", "value": None}]

    by_key = "select key, count(*) n, sum(length(value))::bigint s from samples group by key order by key nulls first"
    expected: dict[str | None, list[int]] = {}
    for sample in SENT:
        count = expected.setdefault(text(sample.key), [0, 0])
        count[0] += 1
        count[1] += len(sample.value or b"")
    assert [(row["key"], [row["n"], row["s"]]) for row in answered(capfd, by_key, *at)] == sorted(
        expected.items(), key=lambda item: item[0] or ""
    )
    # a topic beside itself and another, a clause OFFSET beside the column, a parameter, a window of time
    joined = "select count(*) n from samples a join segments b using (offset) where a.partition = 1 and b.offset < 10"
    assert answered(capfd, joined, *at) == [{"n": 10}]
    paged = "select offset from samples where partition = 2 and offset >= $low order by offset limit 3 offset 1"
    assert [row["offset"] for row in answered(capfd, paged, *at, "--param", "low=40")] == [41, 42, 43]
    timed = f"select count(*) n from samples where timestamp >= '{START + timedelta(milliseconds=100)}'"
    assert answered(capfd, timed, *at) == [{"n": RECORDS - 100}]
    counted = "select partition, topic, count(*) n from samples group by all order by all"
    assert [tuple(row.values()) for row in answered(capfd, counted, *at)] == [(p, "samples", 100) for p in range(3)]
    assert answered(capfd, "select count(*) n from 'empty'", *at) == [{"n": 0}]


def test_formats_hold_the_same_rows(stopped_log_dir: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    query = "select offset, key, timestamp from 'samples' where offset < 60 order by offset"
    rows = answered(capfd, query, stopped_log_dir)
    assert len(rows) == 60
    assert json.loads(told(capfd, query, stopped_log_dir, "--format", "json")) == rows
    found = list(csv.DictReader(io.StringIO(told(capfd, query, stopped_log_dir, "--format", "csv"))))
    assert [(int(one["offset"]), one["key"] or None, one["timestamp"]) for one in found] == [
        tuple(row.values()) for row in rows
    ]
    for name, read in (("parquet", pyarrow.parquet.read_table), ("arrow", lambda p: pa.ipc.open_file(p).read_all())):
        path = tmp_path / f"answer.{name}"
        told(capfd, query, stopped_log_dir, "--format", name, "--output", path)
        table = read(path)
        assert table.schema.types == [pa.int64(), pa.string(), pa.timestamp("us", "UTC")]
        assert table["key"].to_pylist() == [row["key"] for row in rows]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answer.arrow", "answer.parquet"]
    assert cli.main(["sql", query, str(stopped_log_dir), "--max-rows", "2"]) == 0
    out, err = capfd.readouterr()
    assert "key-1" in out
    assert "key-2" not in out
    assert "there are more rows than the 2 that are shown" in err


def test_bytes_under_records_that_are_not_needed_are_not_read(log_dir: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Records whose bytes are broken fail every query that looks at them, and no other."""
    _, *later = sorted((log_dir / "segments-0").glob("*.log"))
    for segment in later:
        data = bytearray(segment.read_bytes())
        data[100] ^= 1  # within the first record
        segment.write_bytes(data)
    assert answered(capfd, "select count(*) n from segments", log_dir) == [{"n": 3000}]
    assert answered(capfd, "select topic, partition, count(*) n from segments group by all", log_dir) == [
        {"topic": "segments", "partition": 0, "n": 3000}
    ]
    end = int(later[0].stem)
    assert end > 100
    sized = "select count(value) + sum(case when value is null then 1 else 0 end) n from segments where"
    assert answered(capfd, f"{sized} offset < {end}", log_dir) == [{"n": end}]
    assert answered(capfd, f"{sized} partition = 5", log_dir) == [{"n": None}]
    for condition in ("true", f"offset <= {end}", "key = 'key-1'", "key = 'key-1' or offset < 5"):
        sentence = told(capfd, f"{sized} {condition}", log_dir, status=1)
        assert f"{later[0].name} is corrupt at position 0" in sentence, condition
        assert sentence.count("\n") == 1


CONDITIONS = [
    pc.field("offset") >= 40,
    pc.field("offset").isin([3, 90, 1000]),
    pc.field("partition") == pa.scalar(1, pa.int32()),
    pc.field("partition").isin(pa.array([0, 2], pa.int32())),
    pc.field("timestamp") < pa.scalar(START + timedelta(milliseconds=120), pa.timestamp("us", "UTC")),
    pc.field("timestamp") == pa.scalar(START + timedelta(milliseconds=77), pa.timestamp("us", "UTC")),
    pc.field("timestamp") > pa.scalar(START + timedelta(microseconds=50_500), pa.timestamp("us", "UTC")),
    pc.field("key") == b"key-1",
    pc.field("key").isin([b"key-2", b"key-3"]),
    pc.field("key") > b"key-3",
    pc.field("key") != b"key-3",
    pc.field("key").is_null(),
    pc.field("value").is_null(),
    pc.field("topic") == "samples",
    pc.field("topic") == "other",
    pc.field("offset") != 7,
    (pc.field("offset") + 1) > 50,
]


def test_pushed_conditions_match_conditions_on_all_rows(scan_broker: BrokerProcess) -> None:
    """Any combination by and, or, not: the rows of the dataset are those of Arrow's own filter over the whole scan."""
    scan = kafkastore.scan(scan_broker.log_dir, "samples", columns=COLUMNS, bootstrap_servers=scan_broker.bootstrap)
    whole, dataset, chance = pa.table(scan), scan.dataset(), random.Random(17)

    def combined(depth: int) -> Any:
        if depth == 0:
            return chance.choice(CONDITIONS)
        one, other = combined(depth - 1), combined(chance.randrange(depth))
        return chance.choice([one & other, one | other, ~one])

    for number in range(150):
        condition = CONDITIONS[number] if number < len(CONDITIONS) else combined(chance.randint(1, 3))
        columns = chance.sample(COLUMNS, chance.randint(1, 3))
        found = dataset.to_table(columns=columns, filter=condition)
        assert found.equals(whole.filter(condition).select(columns)), (str(condition), columns)
    assert dataset.count_rows(filter=pc.field("key").is_null()) == sum(sample.key is None for sample in SENT)
    frame = pl.scan_pyarrow_dataset(dataset).filter((pl.col("offset") < 5) & (pl.col("partition") == 2))
    assert frame.select("offset").collect()["offset"].to_list() == [0, 1, 2, 3, 4]


def test_conditions_reach_the_scan(
    scan_broker: BrokerProcess, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """What Rust is asked for: columns, offsets by partition, times, keys."""
    asked: list[tuple[set[str], ScanLimits | None]] = []
    narrowed = Scan.narrowed

    def spy(self: Scan, columns: Sequence[str], wanted: ScanLimits | None = None) -> Any:
        asked.append((set(columns), wanted))
        return narrowed(self, columns, wanted)

    monkeypatch.setattr(Scan, "narrowed", spy)
    query = f"""select max(offset) from samples where partition in (0, 2) and (key = 'key-1' or key is null)
        and offset between 5 and 20 and timestamp < '{START + timedelta(milliseconds=50)}'"""
    answered(capfd, query, scan_broker.log_dir, "--bootstrap-server", scan_broker.bootstrap)
    [(columns, limits)] = asked
    assert columns == {"partition", "offset", "key", "timestamp"}
    assert limits is not None
    assert limits.offsets == {0: (5, 20), 2: (5, 20)}
    assert limits.timestamps_us == (None, (START_TIME_MS + 50) * 1000 - 1)
    assert limits.keys == frozenset([b"key-1", None])


@pytest.fixture(scope="module")
def binary_log_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Topic `odd.topic-1`: JSON, but the record at offset 2 has a value that is no UTF-8."""
    factory = BrokerFactory("kafkastore", tmp_path_factory.mktemp("odd"))
    broker = factory()
    create_topic(broker.bootstrap, "odd.topic-1", 1)
    values = [b'{"a":{"b":1}}', b'{"a":{"b":2}}', b"\xff\xfe", '{"a":"\u00e4"}'.encode()]
    records = [Sample(b"k%d" % place, value, START_TIME_MS + place) for place, value in enumerate(values)]
    produce_samples(broker.bootstrap, "odd.topic-1", records)
    assert broker.stop() == 0
    return broker.log_dir


def test_values_are_texts_unless_bytes_are_asked_for(binary_log_dir: Path, capfd: pytest.CaptureFixture[str]) -> None:
    named = "select value->'a'->>'b' b, value->>'a' a from 'odd.topic-1' where"
    assert answered(capfd, f"{named} offset < 2", binary_log_dir)[1] == {"b": "2", "a": '{"b":2}'}
    assert answered(capfd, f"{named} key = 'k3'", binary_log_dir) == [{"b": None, "a": "ä"}]
    assert answered(capfd, "select count(key) n from 'odd.topic-1'", binary_log_dir) == [{"n": 4}]
    assert answered(capfd, f"{named} key <> 'k2' and offset >= 1", binary_log_dir)[1]["a"] == "ä", "dropped before"
    assert told(capfd, f"{named} true", binary_log_dir, status=1) == (
        "kafkastore sql: odd.topic-1-0: the record at offset 2 has a value that is no UTF-8; --binary reads keys and "
        "values as bytes\n"
    )
    query = "select hex(value) h, typeof(key) t from 'odd.topic-1' where key = 'k2'"
    assert answered(capfd, query, binary_log_dir, "--binary") == [{"h": "FFFE", "t": "BLOB"}]


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("select * fro samples", 'syntax error at or near "samples" (line 1, column 14)'),
        ("select offset, nosuch from samples", 'Referenced column "nosuch" not found'),
        ("select offset,\n nosuch from samples", "(line 2, column 2)"),
        ("select * from sample", "there is no topic sample; did you mean samples?"),
        ("select * from 'gone'", "there is no topic gone in"),
        ("select * from a join b using (x)", "there is no topic a in"),
        ("select * from odd.topic-1", "write 'odd.topic-1', in quotes"),
        ("select * from samples; select 1", "the query has 2 statements; give one"),
        ("", "the query has 0 statements; give one"),
        ("copy samples to 'stolen.csv'", "the query is COPY; give a SELECT"),
        ("set threads = 1", "the query is SET; give a SELECT"),
        ("select * from read_text('/etc/hostname')", "--external-access allows it"),
        ("select * from '/etc/hostname'", "there is no topic /etc/hostname in"),
        ("select value::int from samples", "Could not convert string 'value-0"),
        ("select $x", "x"),
    ],
)
def test_mistakes_in_a_query_are_one_sentence(
    stopped_log_dir: Path, binary_log_dir: Path, capfd: pytest.CaptureFixture[str], query: str, sentence: str
) -> None:
    said = told(capfd, query, stopped_log_dir, binary_log_dir, status=1)
    assert sentence in said
    assert said.startswith("kafkastore sql: ")
    assert said.count("\n") == 1
    assert not Path("stolen.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (["select 1"], 2, "no directory is given; name the entries of log.dirs after the query"),
        (["select 1", "missing"], 1, "missing: No such file or directory"),
        (["select 1", ".", "--format", "xml"], 2, "'xml' is not one of 'table', 'csv'"),
        (["select 1", ".", "--format", "parquet"], 2, "--format parquet needs --output FILE"),
        (["select 1", ".", "--param", "x"], 2, "'x' is no NAME=VALUE"),
        (["select 1", ".", "--max-rows", "0"], 2, "0 is not in the range 1<=x<=1000000"),
        (["select 1", ".", "--bootstrap-server"], 2, "--bootstrap-server"),
    ],
)
def test_wrong_usage_is_one_sentence(
    capfd: pytest.CaptureFixture[str], arguments: list[str], status: int, sentence: str
) -> None:
    assert cli.main(["sql", *arguments]) == status
    said = capfd.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1


def test_external_access_reads_other_files_beside_topics(
    stopped_log_dir: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "names.csv").write_text("key,name\nkey-1,one\n")
    query = f"select name, count(*) n from samples join '{tmp_path}/names.csv' using (key) group by name"
    expected = 5 * sum(sample.key == b"key-1" for sample in samples(50))
    assert answered(capfd, query, stopped_log_dir, "--external-access") == [{"name": "one", "n": expected}]


def test_reader_that_goes_away_and_a_failed_query_leave_a_clean_process(stopped_log_dir: Path) -> None:
    """A process of its own: threads that still read must not keep it from its end."""
    start = "import sys; from kafkastore.cli.main import main; sys.exit(main())"
    command = [sys.executable, "-c", start, "sql"]
    piped = [*command, "select value from segments", str(stopped_log_dir), "--format", "csv"]
    with subprocess.Popen(piped, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "value\n"
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""
    assert process.returncode == 128 + signal.SIGPIPE
    failed = [*command, "select value::int as x from segments", str(stopped_log_dir)]
    for form in ("table", "csv", "jsonl"):
        ended = subprocess.run([*failed, "--format", form], check=False, capture_output=True, text=True, timeout=30)
        assert (ended.returncode, ended.stdout) == (1, "")
        assert "Could not convert string" in ended.stderr
        assert ended.stderr.count("\n") == 1
    with socket.create_server(("127.0.0.1", 0)) as silent:
        asked = [*command, "select 1 from segments", str(stopped_log_dir), "--bootstrap-server"]
        with subprocess.Popen([*asked, f"127.0.0.1:{silent.getsockname()[1]}"], text=True) as process:
            connection, _ = silent.accept()
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=8) == 130, "a broker is asked for ten seconds"
            connection.close()
    endless = [*command, "select count(*) from segments a, segments b, segments c where a.value < b.value || c.value"]
    with subprocess.Popen([*endless, str(stopped_log_dir)], stderr=subprocess.PIPE, text=True) as process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=5)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 130
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_pandas_frame_has_the_rows_with_types_of_kafka(scan_broker: BrokerProcess) -> None:
    scan = kafkastore.scan(scan_broker.log_dir, "samples", columns=COLUMNS, bootstrap_servers=scan_broker.bootstrap)
    frame = scan.to_pandas()
    assert {name: str(kind) for name, kind in frame.dtypes.items()} == {
        "key": "object",
        "value": "object",
        "topic": "category",
        "partition": "int32",
        "offset": "int64",
        "timestamp": "datetime64[us, UTC]",
        "timestampType": "int32",
        "headers": "object",
    }
    placed = [sample for partition in range(3) for sample in SENT[partition::3]]
    assert list(frame["key"]) == [sample.key for sample in placed]
    assert list(frame["value"]) == [sample.value for sample in placed]
    assert [moment.timestamp() * 1000 for moment in frame["timestamp"]] == [sample.timestamp for sample in placed]
    assert list(frame["headers"]) == [list(sample.headers) or None for sample in placed]
    assert kafkastore.scan(scan_broker.log_dir, "samples", columns=["offset"], end=0).to_pandas().empty
