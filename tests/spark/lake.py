"""An export as readers see it that know nothing of Spark: plain Parquet files, and what the manifests say of them."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.dataset as ds
import pyarrow.parquet as pq

from spark.conftest import Record


def parquet_files(output: Path) -> list[Path]:
    return sorted(output.rglob("*.parquet"))


def rows(output: Path) -> list[Record]:
    """Every row of every file below the folder, by topic, partition and offset; the topic is in the folders' names."""
    if not parquet_files(output):
        return []
    table = ds.dataset(output, format="parquet", partitioning="hive").to_table()
    found = [
        Record(
            row["key"],
            row["value"],
            row["topic"],
            row["partition"],
            row["offset"],
            int(row["timestamp"].timestamp() * 1000 + 0.5),
            row["timestampType"],
            tuple((one["key"], one["value"]) for one in row["headers"]) if row["headers"] is not None else None,
        )
        for row in table.to_pylist()
    ]
    return sorted(found, key=lambda one: one[2:5])


def manifests(checkpoint: Path) -> list[dict[str, object]]:
    return [json.loads(path.read_text()) for path in sorted((checkpoint / "batches").glob("*.json"))]


def is_tidy(output: Path, checkpoint: Path) -> None:
    """Only the files of the manifests are in the output, each whole; nothing is left in the checkpoint."""
    named = {file["name"]: file for one in manifests(checkpoint) for file in one["files"]}  # type: ignore[attr-defined]
    found = {str(path.relative_to(output)) for path in output.rglob("*") if path.is_file()}
    assert found == named.keys()
    for name, file in named.items():
        assert (output / name).stat().st_size == file["bytes"]
        assert pq.read_metadata(output / name).num_rows == file["records"]
    assert not (checkpoint / "staging").exists()
