"""``kafkastore spark``: its command lines, and what it says before a JVM is started. What the commands do is tested in
``tests/spark``."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from kafkastore.cli import main as cli
from kafkastore.cli import spark_export, spark_replay
from kafkastore.cli.option_types import SIZE
from kafkastore.cli.spark_arguments import Bound
from spark.verb_arguments import parsed


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nonsense"], "kafkastore spark: No such command 'nonsense'; see kafkastore spark --help"),
        (["export"], "kafkastore spark export: no directory is given; name the entries of log.dirs"),
        (["export", "d", "--output", "o"], "export: give either --topic NAME, once or more often, or --topic-pattern"),
        (["export", "d", "--topic", "t"], "export: --output is missing; name a folder for the files"),
        (["export", "d", "--topic", "t", "--output", "o", "--format", "avro"], "--format avro is none; give parquet,"),
        (["export", "d", "--topic", "t", "--output", "o", "--target-file-size", "big"], "'big' is no size; give bytes"),
        (["export", "d", "--topic", "t", "--output", "o", "--to", "2026-01-31T12:00:00"], "has no time zone; add Z"),
        (["export", "d", "--topic", "t", "--output", "o", "--from", "monday"], "'monday' is no time; write a time as"),
        (["export", "d", "--topic", "t", "--output", "o", "--from", "{0:1}"], "{0:1} is no JSON; write it as"),
        (
            ["export", "d", "--topic", "t", "--output", "o", "--option", "x"],
            "Invalid value for '--option': 'x' is no NAME=VALUE",
        ),
        (["export", "d", "--nonsense"], "No such option '--nonsense'; see kafkastore spark export --help"),
        (["verify", "d", "--topic", "a", "--topic", "b"], "verify: give one --topic NAME, or none to check all"),
        (["stats", "d", "--top-keys", "-1"], "Invalid value for '--top-keys': -1 is not in the range x>=0"),
        (["replay", "d", "--topic", "t", "--to-topic", "t"], "--to-topic t is the topic that is read; name another"),
        (["replay", "d", "--topic", "t", "--to-topic", "u"], "--to-bootstrap-server is missing; name a broker"),
    ],
    ids=lambda value: " ".join(value)[:50] if isinstance(value, list) else "",
)
def test_wrong_usage_is_one_sentence(arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["spark", *arguments]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1


def test_without_pyspark_one_sentence_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    assert cli.main(["spark", "stats", "d"]) == 1
    said = capsys.readouterr().err
    assert "this command needs PySpark" in said
    assert "install it with pip install 'kafkastore[spark]'" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(("command", "status"), [("stats", 1), ("nonsense", 2)])
def test_without_pyspark_a_new_process_says_one_sentence(command: str, status: int) -> None:
    program = (
        "import sys; sys.modules['pyspark'] = None; from kafkastore.cli.main import main; "
        f"sys.exit(main(['spark', '{command}', 'd']))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (status, 1), done.stderr


def test_an_export_has_a_checkpoint_beside_its_output_and_the_options_of_the_source() -> None:
    given = ["a", "b", "--topic", "t,u", "--output", "/lake/", "--from", "2026-01-31T12:00:00Z", "--option", "x=y=z"]
    export = spark_export.understand(parsed(spark_export.command, *given))
    assert (export.output, export.checkpoint, export.file_bytes) == ("/lake", "/lake.checkpoint", 128 << 20)
    assert export.options == {
        "path": "a,b",
        "subscribe": "t,u",
        "startingTimestamp": "1769860800000",
        "startingOffsetsByTimestampStrategy": "latest",
        "x": "y=z",
    }


def test_a_replay_has_bounds_and_a_rate() -> None:
    given = ["d", "--topic", "t", "--to-topic", "u", "--bootstrap-server", "h:1", "--to", '{"t":{"0":5}}']
    more: Any = ["--max-records-per-second", "100", "--keep-partitions"]
    replay = spark_replay.understand(parsed(spark_replay.command, *given, *more))
    assert replay.options["endingOffsets"] == '{"t":{"0":5}}'
    assert (replay.target, replay.max_records_per_second, replay.keep_partitions) == ("u", 100, True)
    assert replay.write_options == {"kafka.bootstrap.servers": "h:1"}


def test_sizes_and_bounds() -> None:
    sizes = [SIZE.convert(text, None, None) for text in ("5", "2k", "3M", "1G", "1T")]
    assert sizes == [5, 2048, 3 << 20, 1 << 30, 1 << 40]
    assert Bound("ending").convert("latest", None, None) == {"endingOffsets": "latest"}
