"""The command line: arguments, help, refusals."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

from kafkastore.cli import main as cli
from kafkastore.cli.broker import parse_arguments


def test_broker_takes_a_file_and_overrides_as_kafka_server_start_does() -> None:
    assert parse_arguments([]) == (None, [])
    assert parse_arguments(["s.properties", "--override", "a=1", "--override=b=2"]) == ("s.properties", ["a=1", "b=2"])
    assert parse_arguments(["--override", "a=1", "s.properties"]) == ("s.properties", ["a=1"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--override"], "--override needs key=value"),
        (["--nonsense"], "unknown option --nonsense"),
        (["a", "b"], "unexpected argument b"),
    ],
)
def test_wrong_usage_is_named(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["broker", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_help_and_version_go_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    assert "kafkastore <command>" in capsys.readouterr().out
    assert cli.main(["broker", "s.properties", "--help"]) == 0
    assert "--override key=value" in capsys.readouterr().out
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"kafkastore {version('kafkastore')}\n"


@pytest.mark.parametrize("command", ["metadata", "stray", "cluster", "security", "spark"])
def test_help_names_every_verb_of_a_command(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    (line,) = re.findall(f"^  {command} (\\S+)$", capsys.readouterr().out, re.MULTILINE)
    assert cli.main([command, "--help"]) == 0
    verbs = re.findall(f"kafkastore {command} ([a-z-]+)", capsys.readouterr().out.partition("\n\n")[0])
    assert line.split("|") == list(dict.fromkeys(verbs))


def test_python_runs_the_package_as_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "kafkastore", "--version"], capture_output=True, check=True)
    assert done.stdout.startswith(b"kafkastore ")


def test_unknown_command_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["brokre"]) == 2
    assert "there is no command brokre" in capsys.readouterr().err


def test_wrong_configuration_is_one_sentence_and_no_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "server.properties"
    path.write_text("num.partitions=x\n")
    assert cli.main(["broker", str(path)]) == 1
    error = capsys.readouterr().err
    assert error.startswith("kafkastore: Invalid value x for configuration num.partitions: Not a number of type INT")
    assert error.count("\n") == 1


def test_help_imports_nothing_that_a_broker_needs() -> None:
    source = (
        "import sys; from kafkastore.cli.main import main; main(['--help']);"
        " print(sorted(sys.modules), file=sys.stderr)"
    )
    package = str(Path(cli.__file__).parents[2])
    ran = subprocess.run(
        [sys.executable, "-c", source], env={"PYTHONPATH": package}, capture_output=True, text=True, check=True
    )
    for module in ("asyncio", "logging", "sqlite3", "kafkastore.config"):
        assert f"'{module}'" not in ran.stderr


@pytest.mark.parametrize(("module", "heavy"), [("server.event_loop", "ssl")])
def test_module_of_the_broker_does_not_import_heavy_packages(module: str, heavy: str) -> None:
    source = f"import sys, kafkastore.{module}; print({heavy!r} in sys.modules); import {heavy}"
    package = str(Path(cli.__file__).parents[2])
    ran = subprocess.run(
        [sys.executable, "-c", source], env={"PYTHONPATH": package}, capture_output=True, text=True, check=False
    )
    assert ran.stdout == "False\n", ran.stderr
    assert not ran.stderr or f"No module named '{heavy}'" in ran.stderr


def _closed_pipe() -> int:
    reader, writer = os.pipe()
    os.close(reader)
    return writer


def _full_disk() -> int:
    return os.open("/dev/full", os.O_WRONLY)


def _ended(stdout: Callable[[], int], *arguments: str, unbuffered: str = "") -> subprocess.CompletedProcess[str]:
    code = f"from kafkastore.cli.main import main; exit(main({list(arguments)}))"
    with open(stdout(), "wb") as taken:
        return subprocess.run(
            [sys.executable, "-c", code],
            stdout=taken,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )


@pytest.mark.parametrize("arguments", [["--help"], *([each, "--help"] for each in cli.COMMANDS)], ids=" ".join)
def test_output_that_cannot_be_written_ends_with_a_sentence(arguments: list[str]) -> None:
    ended = _ended(_full_disk, *arguments, unbuffered="1" if arguments[0] == "check" else "")
    sentence = f"kafkastore {arguments[0]}: what it says cannot be written (No space left on device)\n"
    assert (ended.returncode, ended.stderr) == (1, sentence)


@pytest.mark.parametrize("command", ["check", "cluster", "sql"])
def test_output_that_nobody_reads_ends_quietly(command: str) -> None:
    ended = _ended(_closed_pipe, command, "--help")
    assert (ended.returncode, ended.stderr) == (128 + signal.SIGPIPE, "")
