"""The notebooks of ``docs/notebooks`` run as they stand, against a real broker's files."""

from __future__ import annotations

import json
from pathlib import Path

from pyspark.sql import SparkSession

from spark.notebooks import flights, notebooks, run


def test_notebooks_run_and_show_what_they_are_kept_with(spark: SparkSession, tmp_path: Path) -> None:
    assert len(notebooks()) == 3
    with flights(tmp_path / "broker") as log_dir:
        for path in notebooks():
            work = tmp_path / path.stem
            work.mkdir()
            now, kept = run(path, log_dir, work), json.loads(path.read_text())
            for one, other in zip(now["cells"], kept["cells"], strict=True):
                assert kinds(one) == kinds(other), f"{path.name} shows something else: run python -m spark.notebooks"


def kinds(cell: dict[str, list[dict[str, object]]]) -> list[object]:
    return [output["output_type"] for output in cell.get("outputs", [])]
