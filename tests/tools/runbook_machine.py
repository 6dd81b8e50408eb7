"""Runs the snippets of ``runbooks.py`` on a machine of their own, as they stand there.

The machine is a part of this one (``cluster/faults/private_machine.py``) with its own network, in which port 9092 of
``localhost`` is the broker's, and its own ``/tmp``, ``/opt`` and ``/var/lib``, in which the broker's log directory and
our commands are where runbooks look for them. A ``docker`` of ours runs what is to run in a container here.

    python -m tools.runbook_machine FOLDER [java] [NAME ...]

writes ``FOLDER/outcomes.json``: what each snippet printed. With ``java`` the commands are those of Apache Kafka's jars:
that is how the table was compared.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from cluster.faults.private_machine import COMMAND, INSIDE, is_inside, run
from peer.kafkastore_broker import KafkastoreBroker
from tidy.sources import ROOT
from tools.comparison import ours
from tools.runbooks import RUNBOOKS, Runbook

if TYPE_CHECKING:
    from collections.abc import Sequence

HOME: Final = Path("/run/runbooks")
"""Where the test's folder is inside."""
LOGS: Final = Path("/tmp/kafka-logs")
OVERRIDES: Final = {
    "node.id": "0",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
LIMIT_S: Final = 30.0
SIOCSIFFLAGS: Final = 0x8914
UP: Final = 1
DOCKER: Final = """#!/bin/sh
# docker exec [options] CONTAINER COMMAND, docker-compose exec ...: the container is this machine
shift
while [ "${1#-}" != "$1" ]; do shift; done
shift
exec "$@"
"""


class Outcome(NamedTuple):
    status: int
    out: str
    err: str
    seconds: float


def commands() -> list[str]:
    """The names that ``pip install 'kafkastore[tools]'`` puts on the PATH."""
    project = tomllib.loads((ROOT / "packaging" / "tools" / "pyproject.toml").read_text())["project"]
    return sorted(project["scripts"])


# ---- the machine
def prepare(folder: str) -> None:
    """The loopback, and folders under the names that runbooks use."""
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", UP))
    run("mount", "-t", "tmpfs", "none", "/run")
    HOME.mkdir()
    run("mount", "--bind", folder, str(HOME))
    for path in (Path("/tmp"), Path("/opt"), Path("/var/lib")):
        _cover(path)
    programs = HOME / "programs"
    bitnami, kafka = Path("/opt/bitnami"), Path("/var/lib/kafka")
    for place in (Path("/opt/kafka"), bitnami, LOGS, kafka):
        place.unlink(missing_ok=True)  # a link to what this machine has there
        place.mkdir()
    (bitnami / "kafka").mkdir()
    for place in (Path("/opt/kafka"), bitnami / "kafka"):
        (place / "bin").symlink_to(programs)
    (kafka / "data").symlink_to(LOGS)


def _cover(path: Path) -> None:
    """A folder of our own in the place of one, with what was in it."""
    old = Path("/run/covered") / path.relative_to("/")
    old.mkdir(parents=True)
    run("mount", "--rbind", str(path), str(old))
    run("mount", "-t", "tmpfs", "none", str(path))
    for entry in old.iterdir():
        (path / entry.name).symlink_to(entry)


def write_programs(is_java: bool) -> None:
    """As the entry points of ``packaging/tools``, which have no code but this."""
    programs = HOME / "programs"
    programs.mkdir()
    for name in commands():
        _write(programs / name, _java(name) if is_java else _entry_point())
    for name in ("docker", "docker-compose"):
        _write(programs / name, DOCKER)


def _entry_point() -> str:
    return (
        f"#!{sys.executable}\nimport sys\nfrom kafkastore.cli.main import kafka_tool\n\nif __name__ == '__main__':\n"
        "    sys.exit(kafka_tool())\n"
    )


def _java(name: str) -> str:
    from peer.jars import classpath
    from peer.java_tools import TOOLS

    more = {"kafka-run-class": "", "kafka-server-start": "kafka.Kafka"}
    more |= {f"kafka-verifiable-{one}": f"org.apache.kafka.tools.Verifiable{one.title()}" for one in TYPES}
    main = (TOOLS | more).get(name.removesuffix(".sh"), name)
    quick = "-Xshare:auto -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    return f'#!/bin/sh\nexec java {quick} -cp "{classpath()}" {main} "$@"\n'


TYPES: Final = ("producer", "consumer")


def _write(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


# ---- a snippet
def set_scene(runbook: Runbook, folder: Path) -> None:
    """What must exist before."""
    (folder / "bin").symlink_to(HOME / "programs")
    for program in (HOME / "programs").iterdir():
        (folder / program.name).symlink_to(program)
    for name, text in runbook.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for topic, partitions in runbook.topics.items():
        _ours("kafka-topics", "--create", "--if-not-exists", "--topic", topic, "--partitions", str(partitions))
    for topic, lines in runbook.records.items():
        keyed = ("--reader-property", "parse.key=true", "--reader-property", "key.separator=:")
        _ours("kafka-console-producer", "--topic", topic, *keyed, stdin=lines)
    for group, (topic, offset) in runbook.groups.items():
        words = ("--reset-offsets", "--topic", topic, "--to-offset", str(offset), "--execute")
        _ours("kafka-consumer-groups", "--group", group, *words)


def _ours(tool: str, *words: str, stdin: str = "") -> None:
    said = ours(tool, "--bootstrap-server", "localhost:9092", *words, stdin=stdin)
    assert said.exit == 0, said


def played(runbook: Runbook) -> Outcome:
    folder = HOME / runbook.name
    folder.mkdir()
    set_scene(runbook, folder)
    own = {"PATH": f"{HOME / 'programs'}:/usr/local/bin:/usr/bin:/bin", "HOME": str(folder)}
    own |= {"KAFKA_HOME": str(folder), "LOG_DIR": str(folder / "logs"), **runbook.environment}
    own |= {name: os.environ[name] for name in ("PYTHONPATH", "JAVA_HOME", "LD_LIBRARY_PATH") if name in os.environ}
    begun = time.monotonic()
    shell = subprocess.Popen(
        ["bash", "-euo", "pipefail", "-c", runbook.lines],
        cwd=folder,
        env=own,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if runbook.until else (folder / "err").open("w"),
        start_new_session=True,
    )
    late = threading.Timer(LIMIT_S, os.killpg, (shell.pid, signal.SIGKILL))
    late.start()
    assert shell.stdin is not None
    shell.stdin.write(runbook.typed)
    shell.stdin.close()
    out = _read(shell, runbook.until)
    status = shell.wait()
    late.cancel()
    err = "" if runbook.until else (folder / "err").read_text()
    return Outcome(status, out, err, round(time.monotonic() - begun, 2))


def _read(shell: subprocess.Popen[str], until: str) -> str:
    """What is printed, to its end or, with ``until``, to what matches, at which Ctrl-C is pressed."""
    assert shell.stdout is not None
    out = ""
    for line in shell.stdout:
        out += line
        if until and re.search(until, out):
            os.killpg(shell.pid, signal.SIGINT)
            until = ""
    return out


def main(folder: str, words: Sequence[str]) -> None:
    is_java, names = "java" in words, [word for word in words if word != "java"]
    prepare(folder)
    write_programs(is_java)
    broker = KafkastoreBroker(HOME / "broker", OVERRIDES, [LOGS])
    broker.port = 9092
    broker.start()
    outcomes = {one.name: played(one)._asdict() for one in RUNBOOKS if not names or one.name in names}
    broker.stop()
    (HOME / "outcomes.json").write_text(json.dumps(outcomes, indent=1))


if __name__ == "__main__":
    if not is_inside():
        os.execvpe(
            COMMAND[0],
            [*COMMAND, sys.executable, "-m", "tools.runbook_machine", *sys.argv[1:]],
            os.environ | {INSIDE: "1"},
        )
    main(sys.argv[1], sys.argv[2:])
