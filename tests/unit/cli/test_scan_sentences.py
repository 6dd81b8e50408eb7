"""Errors of scans and loads in the words of the command line. That the commands use them: tests/scan."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkastore.cli import main as cli
from kafkastore.cli.scan_sentences import option_names


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("bootstrap_servers: x is no server; give it", "--bootstrap-server: x is no server; give it"),
        (
            "bootstrap_servers is empty; give it, or leave it out",
            "--bootstrap-server is empty; give it, or leave it out",
        ),
        ("x; leave bootstrap_servers out to go on", "x; leave --bootstrap-server out to go on"),
        ("command_config /x cannot be read: gone", "--command-config /x cannot be read: gone"),
        ("command_config-0: offset 5 cannot be read: gone", "command_config-0: offset 5 cannot be read: gone"),
        ("/a/bootstrap_servers: gone", "/a/bootstrap_servers: gone"),
        (
            "x; ignore_corrupt_batches (Spark: ignoreCorruptBatches) goes on behind it",
            "x; --ignore-corrupt-batches goes on behind it",
        ),
    ],
)
def test_argument_of_python_is_the_option_of_the_command(said: str, shown: str) -> None:
    assert option_names(said) == shown


def test_sql_names_its_own_option_for_a_broker_that_does_not_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / f"{0:020}.log").touch()
    query = ["sql", "select count(*) from t", str(tmp_path), "--bootstrap-server", "localhost:x"]
    assert cli.main(query) == 1
    said = capsys.readouterr().err
    assert said.startswith("kafkastore sql: --bootstrap-server: ")
    assert "bootstrap_servers" not in said
