"""``kafka-server-stop``: stops the brokers of this user on this host, or those whose file has a node id or a role."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkastore.cli.kafka.run import KAFKA_VERSION
from kafkastore.errors import KafkastoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS: Final = ("broker", "kafka-server-start", "kafka-server-start.sh")
CHOICES: Final = {"--node-id": ("node.id", "broker.id"), "--process-role": ("process.roles",)}
"""The keys of the file that a choice is compared with."""


class RunningBroker(NamedTuple):
    """``config`` is the properties file on its command line, as it stands there; None without one."""

    pid: int
    config: str | None


def main(arguments: Sequence[str]) -> int:
    if "--version" in arguments:
        sys.stdout.write(f"{KAFKA_VERSION}\n")
        return 0
    chosen = {}
    for word in arguments:
        name, equals, value = word.partition("=")
        if name not in CHOICES or not equals:
            raise KafkastoreError(f"{word} is not understood; give --node-id=N or --process-role=ROLE, or neither")
        chosen[name] = value
    if len(chosen) > 1:
        sys.stdout.write(
            "When both node-id and process-role are provided, the value for node-id will take precedence\n"
        )
        del chosen["--process-role"]
    brokers = running_brokers(_processes())
    if not brokers:
        sys.stdout.write("No kafka server to stop\n")
        return 1
    number = getattr(signal, f"SIG{os.environ.get('SIGNAL', 'TERM')}", signal.SIGTERM)
    for broker in brokers:
        if all(_has(broker, CHOICES[name], value) for name, value in chosen.items()):
            os.kill(broker.pid, number)
    return 0


def _processes() -> str:
    """The processes of this user: a number and a command line each."""
    user = str(os.getuid())
    try:
        return subprocess.run(  # noqa: S603 - nothing of a user
            [  # noqa: S607 - wherever the system has it
                "ps",
                "-u",
                user,
                "-o",
                "pid=",
                "-o",
                "args=",
                "-ww",
            ],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        raise KafkastoreError("ps, which names the running brokers, cannot be run; stop them with kill") from None


def running_brokers(processes: str) -> list[RunningBroker]:
    """The brokers of ours among the processes."""
    found = []
    for line in processes.splitlines():
        pid, *words = line.split()
        command = next((at for at, word in enumerate(words) if word in COMMANDS or _is_script(word)), None)
        if command is None or not _runs_ours(words[: command + 1]):
            continue
        rest = words[command + 1 :]
        files = [word for before, word in zip(["", *rest], rest, strict=False) if _is_file(before, word)]
        found.append(RunningBroker(int(pid), files[0] if files else None))
    return found


def _is_script(word: str) -> bool:
    return re.fullmatch(r".*/kafka-server-start(\.sh)?", word) is not None


def _runs_ours(words: list[str]) -> bool:
    """Whether the words up to a command are this program, by itself or as a script of Python's."""
    is_python = words[0].rpartition("/")[2].startswith("python")
    return _is_ours(words[0]) or (is_python and any(map(_is_ours, words[1:])))


def _is_ours(word: str) -> bool:
    return word == "kafkastore" or word.endswith("/kafkastore") or _is_script(word)


def _is_file(before: str, word: str) -> bool:
    return not word.startswith("-") and before not in ("--override", "-name")


def _has(broker: RunningBroker, keys: Sequence[str], value: str) -> bool:
    """Whether its file says so."""
    from kafkastore.config.properties import read_properties

    if broker.config is None:
        return False
    try:
        properties = read_properties(str(_folder_of(broker.pid) / broker.config))
    except (OSError, ValueError):
        sys.stderr.write(
            f"Can not find the configuration file {broker.config} of process {broker.pid}. Please make sure the kafka "
            "stop process and the start process are called in the same directory.\n"
        )
        return False
    return any(properties.get(key) == value for key in keys)


def _folder_of(pid: int) -> Path:
    """The folder that a process was started in, where the system says it; else the one of this process."""
    try:
        return Path(f"/proc/{pid}/cwd").readlink()
    except OSError:
        return Path()
