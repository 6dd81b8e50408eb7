"""The demo leaves Spark out, with a reason, where Java cannot run it; DuckDB's statement counts as the demo does."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from demo import from_files, spark_job
from demo.flights import Delays


@pytest.mark.parametrize(
    ("printed", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('java version "1.8.0_392"', 8),
        ("command not understood", None),
    ],
)
def test_version_of_java_is_read_from_what_it_prints(printed: str, major: int | None) -> None:
    assert from_files.java_major(printed) == major


def test_missing_java_is_reported_with_the_fix(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    reason = from_files.why_no_spark()
    assert reason is not None
    assert "no java on the PATH; install Java 17" in reason


@pytest.mark.parametrize(
    ("script", "told"),
    [("echo 'version \"11.0.2\"' >&2", "is version 11; install"), ("exit 1", "does not run; correct")],
)
def test_java_that_is_too_old_or_broken_is_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str, told: str
) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    reason = from_files.why_no_spark()
    assert reason is not None
    assert told in reason


def test_duckdb_statement_equals_flights_added_one_by_one() -> None:
    flights = [("AA", 10), ("AA", -3), ("AA", None), ("UA", None)]
    expected = Delays()
    for carrier, minutes in flights:
        expected.add(carrier, minutes)
    table = pa.table(
        {
            "key": pa.array([carrier.encode() for carrier, _ in flights], pa.binary()),
            "value": pa.array([json.dumps({"arr_delay": minutes}).encode() for _, minutes in flights], pa.binary()),
        }
    )
    assert Delays.of_rows(from_files.aggregate(table)) == expected


def test_job_that_ends_without_an_answer_gives_none() -> None:
    assert from_files.follow([b'{"started": 1.0}\n', b'{"done": 0.5}\n'], 10) is None


def test_failure_of_the_job_is_one_sentence() -> None:
    with pytest.raises(SystemExit, match=r"^Spark failed: path: missing$"):
        from_files.follow([b'{"failed": "path: missing"}\n'], 10)


def test_answer_of_the_job_has_every_time_that_it_printed() -> None:
    lines = [
        b'{"started": 4.0}\n',
        b'{"done": 0.5}\n',
        b'{"rows": [["AA", 3, 2, 7]], "first": 3.0}\n',
        b'{"again": 1.0, "text": 2.0}\n',
    ]
    answer = from_files.follow(lines, 3)
    assert answer == from_files.SparkAnswer(Delays.of_rows([("AA", 3, 2, 7)]), 1.0, 4.0, 3.0, 2.0)


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (
            "[FAILED] The source failed: Traceback (most recent call last):\n  File x\nValueError: path: missing\n",
            "path: missing",
        ),
        ("[NO_TABLE] There is no such table.\nat org.apache", "[NO_TABLE] There is no such table."),
        ("", "Spark did not say why"),
    ],
)
def test_a_message_of_spark_becomes_one_sentence(message: str, told: str) -> None:
    assert spark_job.sentence(message) == told
