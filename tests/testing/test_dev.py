"""The process of ``kafkastore dev``: what its file makes, the line that it prints, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

import kafkastore
from kafkastore.errors import StartupError
from kafkastore.testing.dev_file import Description, read_description
from testing.clients import LIMIT_S, QUIET, produce

PACKAGES = str(Path(kafkastore.__file__).parents[1])
RUN = "import sys; from kafkastore.testing.dev import run; sys.exit(run(**eval(sys.argv[1])))"

FILE = """
security_protocol = "SASL_PLAINTEXT"
sasl_mechanism = "SCRAM-SHA-512"

[config]
"auto.create.topics.enable" = false

[users]
admin = "admin-secret"
alice = "alice-secret"

[[topics]]
name = "orders"
partitions = 3
config = { "cleanup.policy" = "compact" }

[[topics]]
name = "hers"

[[acls]]
principal = "User:alice"
operation = "Write"
resource_type = "TOPIC"
resource_name = "her"
pattern_type = "PREFIXED"
"""


@contextmanager
def running(stdin: int = subprocess.PIPE, **arguments: Any) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    environment = os.environ | {"PYTHONPATH": PACKAGES}
    command = [sys.executable, "-c", RUN, repr(arguments)]
    with subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            yield process, json.loads(process.stdout.readline())
        finally:
            process.kill()


def client(ready: dict[str, Any], **settings: str) -> Producer:
    given = {name.replace("_", "."): value for name, value in settings.items()}
    return Producer(ready["librdkafka"] | QUIET | given)


def test_file_says_what_there_is_and_a_closed_stdin_ends_it(tmp_path: Path) -> None:
    path = tmp_path / "dev.toml"
    path.write_text(FILE)
    with running(file=str(path)) as (process, ready):
        assert ready["pid"] == process.pid
        assert ready["topics"] == ["orders", "hers"]
        assert ready["client.properties"]["sasl.mechanism"] == "SCRAM-SHA-512"
        admin = client(ready)
        assert produce(admin, "hers", [b"a"]) == [None]
        alice = client(ready, sasl_username="alice", sasl_password="alice-secret")
        assert produce(alice, "hers", [b"a"]) == [None]
        (refused,) = produce(alice, "orders", [b"a"])
        assert refused is not None
        assert refused.name() == "TOPIC_AUTHORIZATION_FAILED"
        directory = Path(ready["brokers"][0]["log.dir"])
        assert len(admin.list_topics("orders", LIMIT_S).topics["orders"].partitions) == 3
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(LIMIT_S) == 0
        assert not directory.exists()


def test_ends_with_its_parent(tmp_path: Path) -> None:
    """The parent has given it no pipe, and dies without a word."""
    parent = (
        "import subprocess, sys\n"
        f"child = subprocess.Popen([sys.executable, '-c', {RUN!r}, '{{}}'], stdin=subprocess.DEVNULL)\n"
        "sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", parent],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": PACKAGES},
    ) as process:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        process.kill()
        assert process.stdout.read() == ""  # returns when the child has ended, too
    assert not Path(ready["brokers"][0]["log.dir"]).exists()


def test_signal_ends_a_cluster_and_a_named_directory_is_kept(tmp_path: Path) -> None:
    with running(stdin=subprocess.DEVNULL, brokers=2, directory=str(tmp_path), topics={"t": 1}) as (process, ready):
        assert len(ready["brokers"]) == ready["bootstrap.servers"].count(":") == 2
        assert produce(client(ready), "t", [b"a"]) == [None]
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT_S) == 0
    with running(brokers=2, directory=str(tmp_path), topics={"t": 1}) as (_, again):
        assert again["cluster.id"] == ready["cluster.id"]


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("a.toml", "brokers = ", "is no TOML"),
        ("a.json", "[1]", "is no table of keys"),
        ("a.toml", "borkers = 1", "borkers is no key; give brokers"),
        ("a.toml", 'brokers = "3"', 'brokers="3" is no number'),
        ("a.toml", "[[topics]]\npartitions = 3", "give a table with name"),
        ("a.toml", '[[topics]]\nname = "t"\nparts = 3', "parts is no key; give name"),
        ("a.toml", "[[topics]]\nname = 1", "topics: name=1 is no text"),
        ("a.toml", '[[topics]]\nname = "t"\npartitions = 2147483648', "partitions=2147483648 is no number"),
        ("a.toml", "brokers = -1", "brokers=-1 is no number of brokers"),
        ("a.toml", "[users]\na = 1", "users: a=1 is no text"),
        ("a.json", "[" * 100_000, "is no JSON: it nests too deeply"),
        ("a.toml", "a = " + "[" * 10_000, "is no TOML: it nests too deeply"),
        ("a.toml", '[[acls]]\nprincipal = "User:a"', r"acls need \[users\]"),
    ],
)
def test_wrong_file_is_refused_with_a_sentence(tmp_path: Path, name: str, text: str, sentence: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(StartupError, match=sentence):
        read_description(str(tmp_path / name))


def test_wrong_name_of_an_operation_is_refused() -> None:
    with pytest.raises(StartupError, match="operation=Reed is none of All, Read"):
        list(Description(acls=[{"operation": "Reed"}]).requests())


def test_file_that_is_not_there_is_refused() -> None:
    with pytest.raises(StartupError, match="--file /none cannot be read: No such file"):
        read_description("/none")
