"""A scan is read as it is by pyarrow, DuckDB and Polars; columns, bounds, filters and shares mean what they say."""

from __future__ import annotations

import pickle
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import kafkastore
from clients.conftest import START_TIME_MS, samples
from kafkastore.scanning.bounds import COLUMNS, DEFAULT_COLUMNS
from peer.topics import create_topic
from scan.conftest import RECORDS
from scan.produce import produce_samples
from scan.rows import rows_of

if TYPE_CHECKING:
    from pathlib import Path

    from peer.broker_process import BrokerProcess

START = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=START_TIME_MS)
SENT = samples(RECORDS)


def scanned(broker: BrokerProcess, topic: str = "samples", **arguments: Any) -> kafkastore.Scan:
    return kafkastore.scan(broker.log_dir, topic, bootstrap_servers=broker.bootstrap, **arguments)


def offsets(scan: Any) -> list[tuple[int, int]]:
    table = pa.table(scan)
    return list(zip(table["partition"].to_pylist(), table["offset"].to_pylist(), strict=True))


def test_pyarrow_takes_a_scan_as_a_table(scan_broker: BrokerProcess) -> None:
    scan = scanned(scan_broker)
    table = pa.table(scan)
    assert table.column_names == list(DEFAULT_COLUMNS) == list(scan.columns)
    assert table.schema == scan.schema
    assert table.num_rows == scan.count() == RECORDS
    assert table == pa.table(scan), "a second stream gives the same rows"
    by_place = [SENT[partition::3][offset] for partition, offset in offsets(scan)]
    assert table["value"].to_pylist() == [sample.value for sample in by_place]
    assert table["key"].to_pylist() == [sample.key for sample in by_place]


def test_duckdb_reads_a_scan_by_its_name(scan_broker: BrokerProcess) -> None:
    scan = scanned(scan_broker)  # noqa: F841 - DuckDB finds it by its name
    totals = 'select count(*), count(value), sum("offset"), min(partition), max(partition) from scan'
    values = sum(sample.value is not None for sample in SENT)
    assert rows_of_sql(duckdb.sql(totals)) == [(RECORDS, values, 3 * sum(range(RECORDS // 3)), 0, 2)]
    one_key = "select key, count(*) from scan where key = 'key-1'::blob group by key"
    assert rows_of_sql(duckdb.sql(one_key)) == [(b"key-1", sum(sample.key == b"key-1" for sample in SENT))]


def rows_of_sql(relation: Any) -> list[tuple[Any, ...]]:
    return list(relation.fetchall())


def test_polars_reads_a_scan(scan_broker: BrokerProcess) -> None:
    scan = scanned(scan_broker, columns=COLUMNS)
    frame = pl.DataFrame(scan)
    assert frame.columns == list(COLUMNS)
    assert frame.height == RECORDS
    assert frame["timestamp"].dtype == pl.Datetime("us", "UTC")
    assert frame["timestamp"].min() == START
    with_headers = frame.filter(pl.col("headers").is_not_null())
    assert with_headers.height == sum(bool(sample.headers) for sample in SENT)
    as_structs = pl.from_arrow(scan)  # Polars makes a series of structs of a stream
    assert isinstance(as_structs, pl.Series)
    assert as_structs.struct.unnest().equals(frame)


def test_columns_come_in_the_order_they_are_named(scan_broker: BrokerProcess) -> None:
    scan = scanned(scan_broker, columns=["offset", "value", "topic"])
    table = pa.table(scan)
    assert table.column_names == ["offset", "value", "topic"]
    assert table.schema.types == [pa.int64(), pa.binary(), pa.string()]
    assert set(table["topic"].to_pylist()) == {"samples"}
    assert table["value"].to_pylist() == pa.table(scanned(scan_broker))["value"].to_pylist()


def test_empty_topic_gives_a_table_with_columns_and_no_rows(scan_broker: BrokerProcess) -> None:
    scan = scanned(scan_broker, "empty", columns=COLUMNS)
    assert pa.table(scan).num_rows == scan.count() == 0
    assert pa.table(scan).column_names == list(COLUMNS)
    assert pl.DataFrame(scan).height == 0
    assert rows_of_sql(duckdb.sql("select count(*) from scan")) == [(0,)]
    assert all(
        one.start_offset == one.end_offset == 0 for one in scan.partitions()
    )  # those whose files are made by now
    assert scan.splits(4) == []


def test_bounds_by_offset_for_all_and_by_partition(scan_broker: BrokerProcess) -> None:
    assert offsets(scanned(scan_broker, start=98, end=99)) == [(0, 98), (1, 98), (2, 98)]
    scan = scanned(scan_broker, partitions=[2, 0], start={0: 97, 2: -2}, end={0: -1, 2: 3})
    assert offsets(scan) == [(0, 97), (0, 98), (0, 99), (2, 0), (2, 1), (2, 2)]
    assert scan.count() == 6
    assert [(one.partition, one.start_offset, one.end_offset) for one in scan.partitions()] == [(0, 97, 100), (2, 0, 3)]
    assert offsets(scanned(scan_broker, start=50, end=50)) == []


def test_bounds_by_time_are_the_first_offset_that_is_as_late(scan_broker: BrokerProcess) -> None:
    moment = START + timedelta(milliseconds=30)  # record i of partition p was sent 3 i + p milliseconds after START
    assert offsets(scanned(scan_broker, start=moment))[:1] == [(0, 10)]
    late = scanned(scan_broker, start=moment + timedelta(microseconds=1), partitions=[0])
    assert offsets(late)[0] == (0, 11)
    assert offsets(scanned(scan_broker, end=moment, partitions=[1]))[-1] == (1, 9)
    assert offsets(scanned(scan_broker, start=START + timedelta(days=2))) == []
    assert len(offsets(scanned(scan_broker, end=START + timedelta(days=2)))) == RECORDS


def test_timestamp_and_key_filters_drop_records_one_by_one(scan_broker: BrokerProcess) -> None:
    least, end = START + timedelta(milliseconds=10), START + timedelta(milliseconds=20)
    scan = scanned(scan_broker, min_timestamp=least, end_timestamp=end)
    wanted_times = [START + timedelta(milliseconds=number) for number in range(10, 20)]
    assert sorted(pa.table(scan)["timestamp"].to_pylist()) == wanted_times
    assert scan.count() == 10
    keyed = scanned(scan_broker, keys=["key-1", None])
    assert set(pa.table(keyed)["key"].to_pylist()) == {b"key-1", None}
    wanted = sum(sample.key in (b"key-1", None) for sample in SENT)
    assert len(pa.table(keyed)) == keyed.count() == wanted
    assert len(pa.table(scanned(scan_broker, keys=[]))) == 0
    assert len(pa.table(scanned(scan_broker, keys=[b"key"]))) == 0


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_rows_and_their_order_do_not_depend_on_threads_or_batches(scan_broker: BrokerProcess, threads: int) -> None:
    expected = rows_of(scanned(scan_broker, columns=COLUMNS, threads=1))
    scan = scanned(scan_broker, columns=COLUMNS, threads=threads, batch_rows=7, batch_bytes=1000)
    assert rows_of(scan) == expected
    batches = list(pa.RecordBatchReader.from_stream(scan))
    assert max(batch.num_rows for batch in batches) <= 7


@pytest.mark.parametrize("count", [1, 2, 3, 50])
def test_shares_are_the_scan_cut_and_survive_pickling(scan_broker: BrokerProcess, count: int) -> None:
    scan = scanned(scan_broker, "segments", columns=COLUMNS)
    shares = pickle.loads(pickle.dumps(scan.splits(count)))
    assert 1 <= len(shares) <= count
    assert [row for share in shares for row in rows_of(share)] == rows_of(scan)
    if count == 3:
        assert len(shares) == 3


def test_records_produced_after_the_plan_are_not_read(scan_broker: BrokerProcess) -> None:
    create_topic(scan_broker.bootstrap, "growing")
    produce_samples(scan_broker.bootstrap, "growing", samples(4))
    scan = scanned(scan_broker, "growing")
    produce_samples(scan_broker.bootstrap, "growing", samples(5))
    assert pa.table(scan).num_rows == scan.count() == 4
    assert scanned(scan_broker, "growing").count() == 9


def test_files_that_end_below_the_high_watermark_are_a_loss(scan_broker: BrokerProcess, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(scan_broker.log_dir, copy, ignore=shutil.ignore_patterns("*checkpoint"))
    create_topic(scan_broker.bootstrap, "copied")
    produce_samples(scan_broker.bootstrap, "copied", samples(4))
    shutil.copytree(scan_broker.log_dir / "copied-0", copy / "copied-0")
    produce_samples(scan_broker.bootstrap, "copied", samples(5))
    with pytest.raises(
        kafkastore.DataLossError, match="copied-0: offsets 4 to 9 are lost: the broker has them"
    ) as raised:
        kafkastore.scan(copy, "copied", bootstrap_servers=scan_broker.bootstrap)
    assert (raised.value.partition, raised.value.start_offset, raised.value.end_offset) == (0, 4, 9)
    assert kafkastore.scan(copy, "copied", bootstrap_servers=scan_broker.bootstrap, end=4).count() == 4
    assert kafkastore.scan(copy, "copied").count() == 4
    shutil.rmtree(copy / "copied-0")
    with pytest.raises(FileNotFoundError, match="copied-0 has records at the broker and no directory in"):
        kafkastore.scan(copy, "copied", bootstrap_servers=scan_broker.bootstrap)


def test_rows_are_the_same_without_an_arrow_library(scan_broker: BrokerProcess) -> None:
    scan = scanned(scan_broker, columns=["offset", "key", "headers", "timestamp"])
    table = pa.table(scan)
    rows = list(scan.rows())
    assert [row[0] for row in rows] == table["offset"].to_pylist()
    assert [row[1] for row in rows] == table["key"].to_pylist()
    assert [row[3] for row in rows] == table["timestamp"].cast(pa.int64()).to_pylist()
    listed = [None if one is None else [(h["key"], h["value"]) for h in one] for one in table["headers"].to_pylist()]
    assert [row[2] for row in rows] == listed


def test_scan_and_topics_say_what_they_are(scan_broker: BrokerProcess) -> None:
    assert repr(scanned(scan_broker)).startswith("<kafkastore.Scan of samples: 3 partitions, 300 offsets, ")
    found = {topic.name: topic for topic in kafkastore.topics(scan_broker.log_dir)}
    assert repr(found["samples"]).startswith("<Topic samples: 3 partitions, 300 offsets, ")
    assert not found["samples"].is_internal
    assert found["samples"].first_timestamp == START
    assert found["samples"].max_timestamp == START + timedelta(milliseconds=RECORDS - 1)
    assert [one.partition for one in found["samples"].partitions] == [0, 1, 2]
    assert [(one.start_offset, one.end_offset) for one in found["samples"].partitions] == [(0, 100)] * 3
    assert found["segments"].partitions[0].segments > 2
    assert found["segments"].size_bytes > 2_000_000


def test_import_needs_neither_pyarrow_nor_the_broker() -> None:
    source = (
        "import sys, kafkastore; before = set(sys.modules)\n"
        "assert not any(name.startswith(('kafkastore.', 'pyarrow')) and name != 'kafkastore.exports' for name in "
        "before)\nsys.modules['pyarrow'] = None\nfrom kafkastore import scan, topics, DataLossError, ScanError\nassert "
        "callable(kafkastore.scan) and callable(kafkastore.topics) and issubclass(DataLossError, ScanError)\nassert "
        "not any(name in sys.modules for name in ('asyncio', 'kafkastore.server', 'sqlite3'))\nassert "
        "sorted(kafkastore.__all__) == kafkastore.__all__\nfor name in kafkastore.__all__: getattr(kafkastore, name)\n"
    )
    ran = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_schema_without_pyarrow_is_an_arrow_schema(scan_broker: BrokerProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    scan = scanned(scan_broker)
    expected = scan.schema
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert pa.schema(scan.schema) == expected
