"""Names by which a topic is asked for on every way: those that Kafka keeps for itself, that a file, a link or a folder
has in the log directory, that no file system takes; and whether a broker serves after it."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

from confluent_kafka import Producer

from parity.raw_client import RawClient
from peer.broker_process import BrokerProcess
from peer.topics import read_topic

ALIVE = "alive"
"""The topic that must be served, whatever becomes of the others."""

TAKEN = ("file", "link", "loop", "pipe", "folder", "full")
"""Topics whose first partition's name something else has in the log directory, which the topic is named after."""

RESERVED = ("__cluster_metadata",)
ILLEGAL = (
    *(
        "",
        ".",
        "..",
        "/",
        "a/b",
        "../../up",
        "a b",
        " a",
        "a\n",
        "a\x00b",
        "ä",
        "名",
        "\u200b",
        "a:b",
        "a,b",
        "~",
        "%00",
    ),
    *("x" * 250, "x" * 300),
)
ODD = (
    *("x" * 249, "...", "-", "--", "_", "0", "-1", "null", "a-0", "a-0.b-delete", "a-0.b-future", "a-0.b-stray"),
    *("meta.properties", "kafkastore-metadata.sqlite", ".lock", "a.b", "a_b", "__consumer_offsets"),
)
"""Names that topics may have."""

NAMES = (*TAKEN, *RESERVED, *ILLEGAL, *ODD)


def take_place(path: Path, kind: str) -> None:
    """Puts something of this kind, one of TAKEN, at ``path``."""
    if kind == "file":
        path.write_bytes(b"mine")
    elif kind in ("link", "loop"):
        path.symlink_to("nowhere" if kind == "link" else path.name)
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
        if kind == "full":
            (path / "mine").write_bytes(b"mine")


def take_places(folder: Path) -> None:
    """Puts something else where the logs of the topics in TAKEN would be made."""
    for kind in TAKEN:
        take_place(folder / f"{kind}-0", kind)


def known_names(broker: BrokerProcess) -> set[str]:
    """The topics in the broker's metadata."""
    with closing(RawClient(broker.host, broker.port)) as client:
        return {str(topic.name) for topic in client.ask("metadata", 8, {"topics": None}).topics}


def failed_log_dirs(broker: BrokerProcess) -> list[str]:
    with closing(RawClient(broker.host, broker.port)) as client:
        found = client.ask("describe_log_dirs", 4, {"topics": None}).results
    return [one.log_dir for one in found if int(one.error_code)]


def assert_serves(broker: BrokerProcess, count: int) -> None:
    """A record more can be written to ALIVE, and all of before are there; no log directory has failed, and no topic has
    a name that none may have."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "message.timeout.ms": 20_000})
    producer.produce(ALIVE, f"{count}")
    assert producer.flush(20) == 0
    found = [int(message.value() or b"") for message in read_topic(broker.bootstrap, ALIVE)]
    assert found == list(range(count + 1))
    known = known_names(broker)
    assert ALIVE in known
    assert not known & {*RESERVED, *ILLEGAL}
    assert failed_log_dirs(broker) == []
