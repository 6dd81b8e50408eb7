"""The command line: arguments, help, refusals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import click
import pytest

from kafkastore.cli import main as cli
from kafkastore.cli.broker_start import understood
from kafkastore.cli.commands import MODULES, SECTIONS, root


def test_broker_takes_a_file_and_overrides_as_kafka_server_start_does() -> None:
    assert understood([]) == (None, [])
    assert understood(["s.properties", "--override", "a=1", "--override=b=2"]) == ("s.properties", ["a=1", "b=2"])
    assert understood(["--override", "a=1", "s.properties"]) == ("s.properties", ["a=1"])


WRONG_USAGE = {
    "nonsense": "kafkastore: No such command 'nonsense'; see kafkastore --help",
    "topic": "kafkastore: No such command 'topic'. Did you mean 'topics'? see kafkastore --help",
    "status": "kafkastore: No such command 'status'. Did you mean 'cluster status'? see kafkastore --help",
    "users rm": "kafkastore users: No such command 'rm'. Did you mean 'delete'? see kafkastore users --help",
    "kafka-nonsense": "kafkastore: No such command 'kafka-nonsense'; see kafkastore --help",
    "kafka-topic": "kafkastore: No such command 'kafka-topic'. Did you mean 'kafka-topics'? see kafkastore --help",
    "consume t --from-beginning": "kafkastore consume: No such option '--from-beginning'. Did you mean '--offset begin",
    "topics list --brokers": "kafkastore topics list: No such option '--brokers'. Did you mean '--bootstrap-server'?",
    "topics create --topic t": "kafkastore topics create: No such option '--topic'. Did you mean TOPIC without an opt",
    "topics list --jsno": "kafkastore topics list: No such option '--jsno'. Did you mean '--json'? see kafkastore ",
    "configs set user a b=c": "kafkastore configs set: Invalid value for 'KIND': user has quotas, see kafkastore quot",
    "configs set topics a b 1": "kafkastore configs set: b is no key=value; write it as key=value; see kafkastore con",
    "completion": "kafkastore completion: Missing argument '{bash|zsh|fish}'. Choose from: bash, zsh, fish; see ",
    "broker --override": "kafkastore broker: Option '--override' requires an argument; see kafkastore broker --help",
    "broker --nonsense": "kafkastore broker: No such option '--nonsense'; see kafkastore broker --help",
    "broker a b": "kafkastore broker: Got unexpected extra argument (b); see kafkastore broker --help",
    "metadata nonsense": "kafkastore metadata: No such command 'nonsense'; see kafkastore metadata --help",
    "metadata restore --override": "kafkastore metadata restore: Option '--override' requires an argument; see ",
    "metadata check a b": "kafkastore metadata check: Got unexpected extra argument (b); see kafkastore metadata check",
    "stray adopt": "kafkastore stray adopt: Missing argument 'TOPIC'; see kafkastore stray adopt --help",
    "cluster remove-brokers": "kafkastore cluster remove-brokers: Missing option '--brokers'; see ",
    "cluster add-brokers --frob": "kafkastore cluster add-brokers: No such option '--frob'; see ",
    "security renew": "kafkastore security renew: Missing option '--folder'; see kafkastore security renew --help",
    "dump --format parquet d": "kafkastore dump: --format parquet needs --output FILE; see kafkastore dump --help",
    "load t": "kafkastore load: Missing argument 'FILE...'; see kafkastore load --help",
}


@pytest.mark.parametrize("line", WRONG_USAGE)
def test_wrong_usage_is_one_sentence(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(line.split()) == 2
    said = capsys.readouterr()
    assert not said.out
    assert said.err.startswith(WRONG_USAGE[line])
    assert said.err.count("\n") == 1


@pytest.mark.parametrize("command", ["", "metadata", "stray", "cluster", "security", "spark", "sql", "export"])
def test_help_is_the_answer_where_no_argument_makes_no_sense(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(command.split()) == 2
    said = capsys.readouterr()
    assert not said.out
    assert said.err.startswith(f"Usage: kafkastore {command}".rstrip())
    assert cli.main([*command.split(), "-h"]) == 0
    assert capsys.readouterr() == (said.err, "")


def test_help_and_version_go_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["broker", "s.properties", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "--override KEY=VALUE" in shown
    assert cli.main(["help", "broker"]) == 0
    assert capsys.readouterr().out == shown
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"kafkastore {version('kafkastore')}\n"


def test_first_line_of_a_commands_help_is_what_the_list_of_commands_says() -> None:
    context = click.Context(root)
    said = {name: text for commands in SECTIONS.values() for name, text in commands.items()}
    there = [name for name in root.list_commands(context) if find_spec(f"kafkastore.cli.{MODULES[name]}")]
    own = {name: root.get_command(context, name) for name in there}
    assert {name: one and (one.help or "").partition("\n")[0] for name, one in own.items()} == {
        name: text for name, text in said.items() if name in own
    }
    assert {name: one and one.name for name, one in own.items()} == {name: name for name in own}


def test_python_runs_the_package_as_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "kafkastore", "--version"], capture_output=True, check=True)
    assert done.stdout.startswith(b"kafkastore ")


def test_wrong_configuration_is_one_sentence_and_no_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "server.properties"
    path.write_text("num.partitions=x\n")
    assert cli.main(["broker", str(path)]) == 1
    error = capsys.readouterr().err
    assert error.startswith("kafkastore: Invalid value x for configuration num.partitions: Not a number of type INT")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "unneeded"),
    [
        (["--help"], ("asyncio", "logging", "rich", "sqlite3", "kafkastore._core", "kafkastore.config")),
        (["topics", "--help"], ("asyncio", "rich", "kafkastore._core", "kafkastore.config")),
        (["broker", "--override", "num.partitions=x"], ("click", "rich", "argparse")),
    ],
    ids=" ".join,
)
def test_command_imports_nothing_that_it_does_not_need(arguments: list[str], unneeded: tuple[str, ...]) -> None:
    source = f"import sys; from kafkastore.cli.main import main; main({arguments}); print('#', *sys.modules)"
    package = str(Path(cli.__file__).parents[2])
    ran = subprocess.run(
        [sys.executable, "-c", source], env={"PYTHONPATH": package}, capture_output=True, text=True, check=True
    )
    imported = ran.stdout.rpartition("#")[2].split()
    assert "kafkastore.cli" in imported
    assert set(unneeded) & set(imported) == set()


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


def test_closed_stdin_is_an_empty_one() -> None:
    code = "import sys; from kafkastore.cli import main; main.main(['--help']); print([sys.stdin.read()])"
    ended = subprocess.run(
        ["/bin/sh", "-c", 'exec "$0" -c "$1" <&-', sys.executable, code], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout.splitlines()[-1:]) == (0, ["['']"]), ended.stderr


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


@pytest.mark.parametrize("arguments", [["--help"], ["broker", "--help"], ["check", "--help"]], ids=" ".join)
def test_output_that_cannot_be_written_ends_with_a_sentence(arguments: list[str]) -> None:
    ended = _ended(_full_disk, *arguments, unbuffered="1" if arguments[0] == "check" else "")
    sentence = f"kafkastore {arguments[0]}: what it says cannot be written (No space left on device)\n"
    assert (ended.returncode, ended.stderr) == (1, sentence)


@pytest.mark.parametrize("tool", ["kafka-topics", "kafka-log-dirs.sh"])
def test_tool_of_kafkas_whose_output_nobody_reads_ends_as_if_somebody_did(tool: str) -> None:
    ended = _ended(_closed_pipe, tool, "--version")
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("command", ["check", "spark"])
def test_output_that_nobody_reads_ends_quietly(command: str) -> None:
    ended = _ended(_closed_pipe, command, "--help")
    assert (ended.returncode, ended.stderr) == (128 + signal.SIGPIPE, "")
