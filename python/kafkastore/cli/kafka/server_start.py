"""``kafka-server-start``: runs a broker of ours with a server.properties, in the foreground or, with ``-daemon``, with
its output in a file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kafkastore.cli.kafka.run import KAFKA_VERSION
from kafkastore.errors import KafkastoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

USAGE: Final = "USAGE: kafka-server-start [-daemon] server.properties [--override property=value]*\n"
NAME: Final = "kafkaServer"
LOG_DIR: Final = "LOG_DIR"
"""The environment's name of the folder for the output of a daemon, as in Kafka's scripts."""


def main(arguments: Sequence[str]) -> int:
    words = list(arguments)
    if not words:
        sys.stdout.write(USAGE)
        return 1
    is_daemon, name = False, NAME
    while words and words[0] in ("-daemon", "-loggc", "-name"):
        option = words.pop(0)
        if option == "-name":
            name = words.pop(0) if words else NAME
        is_daemon = is_daemon or option == "-daemon"
    if words[:1] == ["--version"]:
        sys.stdout.write(f"{KAFKA_VERSION}\n")
        return 0
    if not words or words[0].startswith("-"):
        sys.stdout.write(USAGE)
        return 1
    if is_daemon:
        return _in_background(name, words)
    from kafkastore.cli import broker_start

    understood = broker_start.understood(words)
    if understood is None:
        raise KafkastoreError(f"kafka-server-start: {' '.join(words[1:])} is not understood; {USAGE.strip()}")
    return broker_start.run(*understood)


def _in_background(name: str, words: list[str]) -> int:
    """Starts a process of its own, as ``nohup`` does, and does not wait for it."""
    folder = Path(os.environ.get(LOG_DIR) or "logs")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / f"{name}.out").open("ab") as output:
            started = subprocess.Popen(  # noqa: S603 - this program
                [sys.executable, "-m", "kafkastore", "kafka-server-start", *words],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        started.returncode = 0  # it runs on: nobody here waits for it
    except OSError as error:
        raise KafkastoreError(
            f"the output of a daemon goes to {folder}, which cannot be written ({error.strerror}); set {LOG_DIR}"
        ) from None
    return 0
