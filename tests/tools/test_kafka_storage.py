"""``kafka-storage`` prints what Kafka's prints, of directories of its own; a broker starts with what it made, by
``kafka-server-start``, and ends by ``kafka-server-stop``."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from pathlib import Path
from unittest import mock

import pytest

from kafkastore.cli.kafka import server_stop
from peer.broker_process import free_port
from peer.java_tools import JavaTools, ToolResult
from tools.comparison import ours

ID = "MkU3OEVBNTcwNTJENDM2Qg"
LIMIT_S = 20
STEPS = [
    "info -c {f}",
    "format -c {f} -t ID",
    "format -c {f} -t ID --standalone",
    "format -c {f} -t ID --standalone",
    "format -c {f} -t ID --standalone --ignore-formatted",
    "format -c {f} -t other --standalone -g",
    "format -c {f} -t ID --standalone --no-initial-controllers",
    "format -c {f} -t ID --standalone -g --feature none=1",
    "format -c {f} -t ID --standalone -g --feature group.version=9",
    "format -c {f} -t ID --standalone -g --feature metadata.version=20 --release-version 3.8",
    "format -c {f} -t ID --standalone -g --release-version 4.5-IV0",
    "format -c {f} -t ID --standalone -g --add-scram none",
    "format -c {f} -t ID -g --initial-controllers none",
    "format -c {f}",
    "info -c {f}",
    "info -c {two}",
    "format -c {two} -t ID",
    "format -c {two} -t ID --standalone",
    "format -c {two} -t ID -g",
    "info -c {two}",
    "info -c {node}",
    "format -c {node} -t ID -g",
    "version-mapping -r 4.0",
    "version-mapping -r none",
    "feature-dependencies -f group.version=1 -f eligible.leader.replicas.version=1",
    "feature-dependencies -f group.version=9",
    "feature-dependencies -f none",
    "feature-dependencies -f group.version=x",
    "random-uuid",
    "none",
    "",
]


def _properties(folder: Path, port: int, node: int = 1) -> dict[str, str]:
    """Files of config/server.properties' kind: one combined node."""
    common = (
        f"process.roles=broker,controller\nlisteners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{port + 1}\n"
        f"advertised.listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{port + 1}\n"
        "inter.broker.listener.name=PLAINTEXT\ncontroller.listener.names=CONTROLLER\n"
        "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n"
    )
    dynamic = f"controller.quorum.bootstrap.servers=127.0.0.1:{port + 1}\n"
    files = {
        "f": f"{common}node.id={node}\n{dynamic}log.dirs={folder}/d\n",
    }
    for name, one in (("two", 1), ("node", 2)):
        voter = f"controller.quorum.voters={one}@127.0.0.1:{port + 1}\n"
        files[name] = f"{common}node.id={one}\n{voter}log.dirs={folder}/d1,{folder}/d2\n"
    for name, text in files.items():
        (folder / name).write_text(text)
    return {name: str(folder / name) for name in files}


def _plain(result: ToolResult, folder: Path) -> tuple[int, str]:
    out = re.sub(r"Bootstrap metadata: .*\n", "", result.out).replace(str(folder), "F")
    return result.exit, re.sub(r"directory.id=[\w-]{22}|^[\w-]{22}$", "ID", out)


def test_steps_print_and_end_as_kafkas(java: JavaTools, tmp_path: Path) -> None:
    """The same steps with directories of their own; Kafka's also tells of the records that it writes."""
    done = []
    folder = tmp_path / "same"  # the order of directories is of their names
    for run in (lambda *words: java.tool("kafka-storage", *words), lambda *words: ours("kafka-storage", *words)):
        folder.mkdir()
        files = _properties(folder, 9092)
        lines = [step.format(**files).replace("ID", ID) for step in STEPS]
        done.append([_plain(run(*line.split()), folder) for line in lines])
        shutil.rmtree(folder)
    for step, theirs, mine in zip(STEPS, *done, strict=True):
        assert mine == theirs, step


def test_directories_and_their_files_are_on_the_disk_before_it_ends(tmp_path: Path) -> None:
    synced: list[str] = []
    files = _properties(tmp_path, 9092)
    with (
        mock.patch(
            "os.fsync", side_effect=lambda descriptor: synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        ),
    ):
        assert ours("kafka-storage", "format", "-c", files["f"], "-t", ID, "--standalone").exit == 0
    assert synced == [f"{tmp_path}/d/.meta.properties.{os.getpid()}", f"{tmp_path}/d"]


def test_users_and_other_controllers_are_refused_with_a_way_out(tmp_path: Path) -> None:
    given = ("kafka-storage", "format", "-c", _properties(tmp_path, 9092)["f"], "-t", ID)
    scram = ours(*given, "--standalone", "--add-scram", "SCRAM-SHA-256=[name=a,password=b]")
    assert (scram.exit, "kafka-configs --alter --entity-type users" in scram.err) == (1, True)
    others = ours(*given, "--initial-controllers", "1@a:1:u4VjcTH6SvWTNeTn2qLCow,2@b:1:u4VjcTH6SvWTNeTn2qLCow")
    assert (others.exit, "give the brokers of a cluster one metadata store" in others.err) == (1, True)
    assert not (tmp_path / "d").exists()


def test_broker_starts_behind_the_format_and_is_stopped_by_its_node_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port, node = free_port(), 60000 + os.getpid() % 5000
    path = _properties(tmp_path, port, node)["f"]
    monkeypatch.setenv("LOG_DIR", str(tmp_path / "logs"))
    assert ours("kafka-storage", "format", "-c", path, "-t", ID, "--standalone").exit == 0
    assert ours("kafka-server-start", "-daemon", path, "--override", "num.partitions=2").exit == 0
    output = tmp_path / "logs" / "kafkaServer.out"

    def wait_for(text: str) -> None:
        deadline = time.monotonic() + LIMIT_S
        while text not in output.read_text():
            assert time.monotonic() < deadline, output.read_text()
            time.sleep(0.02)

    try:
        wait_for("is ready")
        assert ours("kafka-cluster", "cluster-id", "-b", f"127.0.0.1:{port}").out == f"Cluster ID: {ID}\n"
    finally:
        stopped = ours("kafka-server-stop", f"--node-id={node}")
    assert stopped.exit == 0
    wait_for("Stopped (kafkastore.server.broker)")


def test_brokers_of_ours_are_found_among_the_processes() -> None:
    lines = f"""\
  11 {sys.executable} -m kafkastore kafka-server-start -name x s.properties --override a=b
  12 /venv/bin/python /venv/bin/kafkastore broker --override a=b b.properties
  13 /venv/bin/python /venv/bin/kafka-server-start c.properties
  14 kafkastore broker
  15 vim broker kafkastore.txt
  16 java -cp x kafka.Kafka s.properties
  17 grep kafkastore broker
"""
    assert server_stop.running_brokers(lines) == [
        (11, "s.properties"),
        (12, "b.properties"),
        (13, "c.properties"),
        (14, None),
    ]


def test_server_start_and_stop_say_how_they_are_called() -> None:
    assert ours("kafka-server-start").exit == 1
    assert ours("kafka-server-start", "-daemon").out.startswith("USAGE: ")
    assert ours("kafka-server-stop", "--none").err.startswith("--none is not understood; give --node-id=N")
