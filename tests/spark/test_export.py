"""``kafkastore spark export``: plain files equal the topic row by row after several runs, whatever was killed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from kafkastore.spark.pipeline.export import Export, ExportReport, export_topics
from kafkastore.spark.pipeline.files import Folder
from kafkastore.spark.pipeline.session import PipelineError
from peer.topics import create_topic, read_topic
from proof.seeds import first_seed
from spark.conftest import SMALL_SEGMENTS, Record, Written, produce
from spark.export_kills import trial
from spark.lake import is_tidy, manifests, parquet_files, rows
from spark.test_stream import grow

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from peer.broker_factory import BrokerFactory
    from peer.broker_process import BrokerProcess

pytestmark = pytest.mark.timeout(300)  # the first test of a run starts a JVM and a broker


def export_of(path: str, folder: Path, topic: str = "flights", **changes: Any) -> Export:
    options = {"path": path, "subscribe": topic}
    export = Export(options, str(folder / "lake"), str(folder / "lake.checkpoint"), partition_by="hour")
    return replace(export, **changes)


def records_of(broker: BrokerProcess, topic: str) -> list[Record]:
    return sorted(map(Record.of, read_topic(broker.bootstrap, topic)), key=lambda one: one[2:5])


def test_each_run_exports_what_came_since_the_last_and_plain_files_equal_the_topic(
    spark: SparkSession, broker_factory: BrokerFactory, tmp_path: Path
) -> None:
    broker = broker_factory(kind="kafkastore")
    create_topic(broker.bootstrap, "flights", 2, SMALL_SEGMENTS)
    export = export_of(str(broker.log_dir), tmp_path)
    export = replace(export, options={**export.options, "kafka.bootstrap.servers": broker.bootstrap})
    produce(broker, "flights", 2, 300, "zstd")
    assert export_topics(spark, export).records == 300
    produce(broker, "flights", 2, 100, "none", start=300, size=1000)
    grow(broker, "flights", 3)
    produce(broker, "flights", 3, 90, "lz4", start=400)
    report = export_topics(spark, export)
    assert report.records == 190
    ends = {str(one): end for one, (_, end) in _ends(broker).items()}
    assert report.up_to == {"flights": ends}, "where the next run begins"
    assert export_topics(spark, export) == ExportReport(), "nothing is new"
    output = tmp_path / "lake"
    assert rows(output) == records_of(broker, "flights")
    is_tidy(output, tmp_path / "lake.checkpoint")
    hours = {path.parent for path in parquet_files(output)}
    assert len(parquet_files(output)) <= 2 * len(hours), "the files that tasks wrote were put together"
    asked = f"SELECT count(*), count(DISTINCT (partition, \"offset\")), min(topic) FROM '{output}/**/*.parquet'"
    with duckdb.connect() as connection:
        assert connection.execute(asked).fetchall() == [(490, 490, "flights")]


def _ends(broker: BrokerProcess) -> dict[int, tuple[int, int]]:
    from peer.topics import end_offsets

    return end_offsets(broker.bootstrap, "flights")


@pytest.fixture
def path(written: Written) -> str:
    return written.path


class _DiedError(Exception):
    """Stands for a kill."""


@pytest.mark.parametrize(
    "moves", [0, 1, 3, 1000], ids=["before the manifest", "then", "within the files", "then Spark"]
)
def test_a_run_that_dies_in_a_commit_is_ended_by_the_next(
    spark: SparkSession, written: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moves: int
) -> None:
    """The moves of a first run with one batch: the state file, the manifest, then each file; and last Spark's note."""
    topics = ("append-time", "codecs", "flights")
    export = export_of(written.path, tmp_path, ",".join(topics), partition_by="none")
    expected = [one for topic in topics for one in written.records[topic]]
    done: list[str] = []

    def move(self: Folder, name: str, target: Folder, new_name: str) -> None:
        if "-merged" not in name:
            if len(done) == moves + 1:
                raise _DiedError
            done.append(new_name)
        original(self, name, target, new_name)

    original = Folder.move
    monkeypatch.setattr(Folder, "move", move)
    if moves == 1000:
        from kafkastore.spark.pipeline.publishing import Publication

        commit = Publication.commit

        def dies(self: Publication, batch: int, staging: str) -> Any:
            commit(self, batch, staging)
            raise _DiedError

        monkeypatch.setattr(Publication, "commit", dies)
    with pytest.raises(_DiedError):
        export_topics(spark, export)
    seen = rows(tmp_path / "lake")
    assert (len(seen) == len(expected)) == (moves == 1000)
    assert bool(seen) == (moves > 1)
    monkeypatch.undo()
    report = export_topics(spark, export)
    assert rows(tmp_path / "lake") == expected
    is_tidy(tmp_path / "lake", tmp_path / "lake.checkpoint")
    assert len(manifests(tmp_path / "lake.checkpoint")) == 1, "the batch was exported once"
    assert report.records == (0 if moves == 1000 else len(expected))


@pytest.mark.proof  # each kill costs a start of Spark; a run that dies in a commit is played above, without them
@pytest.mark.timeout(900)
def test_kills_at_random_places_lose_and_double_nothing(tmp_path: Path) -> None:
    """`python -m spark.export_kills --kills 100` in tests/ does more of it."""
    trial(tmp_path, kills=10, seed=first_seed())


def test_several_topics_ends_and_sizes(spark: SparkSession, written: Written, tmp_path: Path) -> None:
    flights = written.records["flights"]
    end = flights[len(flights) // 2].timestamp_ms
    export = export_of(written.path, tmp_path, "flights,codecs", end_timestamp_ms=end, file_bytes=1 << 20)
    export = replace(export, batch_bytes=2 << 20)
    report = export_topics(spark, export)
    both = [*written.records["codecs"], *flights]
    expected = sorted((one for one in both if one.timestamp_ms < end), key=lambda one: one[2:5])
    assert rows(tmp_path / "lake") == expected
    assert report.records == len(expected) < len(both)
    assert report.batches >= 2, "a batch is about as large as was said"


def test_mistakes_are_one_sentence_and_change_nothing(spark: SparkSession, path: str, tmp_path: Path) -> None:
    export = export_of(path, tmp_path)
    export_topics(spark, export)
    before = parquet_files(tmp_path / "lake")
    for changes, sentence in (
        ({"partition_by": "day"}, "--partition-by: this export began with hour, not day; give the same, or another"),
        ({"end_timestamp_ms": 5}, "--to: this export began with none, not 5; give the same"),
        ({"output": f"{tmp_path}/other"}, "--output: this export began with .*lake, not .*other; give the same"),
        ({"checkpoint": f"{tmp_path}/new"}, "lake has Parquet files, but .*new knows nothing of them"),
        (
            {"format": "delta"},
            "--format delta: Spark has no io.delta.* on its class path; add --conf spark.jars.packages",
        ),
    ):
        with pytest.raises(PipelineError, match=sentence):
            export_topics(spark, replace(export, **changes))
    assert parquet_files(tmp_path / "lake") == before
    for file in before:
        file.unlink()
    for folder in sorted((tmp_path / "lake").rglob("*"), reverse=True):
        folder.rmdir()
    (tmp_path / "lake").rmdir()
    with pytest.raises(PipelineError, match=r"lake is gone, but .*checkpoint says what was exported there"):
        export_topics(spark, export)
