"""State files that are none: a directory, a named pipe, a link that leads nowhere or back to itself, a file that cannot
be read.

Each file that a broker reads or writes in a log directory, or beside its metadata, is replaced by each of these. The
broker starts, says what it left aside and has every record; or it refuses in one sentence that names the path, what
stands there and the way out, and has changed no record. Never a traceback, never a start that hangs.
`make test` replaces each file once, and puts each kind of thing in the place of some seven; `make proof`, and
``--every-state-file``, tries all pairs.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from confluent_kafka import Producer

from peer.broker_factory import BrokerFactory
from peer.broker_process import BrokerFailedError, BrokerProcess, wait_until
from peer.topics import create_topic, read_topic
from proof.scope import played

TOPIC: Final = "orders"
RECORDS: Final = 60
LIMIT_S: Final = 30.0


def _unreadable(path: Path) -> None:
    """Root reads a file of any mode; this one fails whoever reads it."""
    path.symlink_to("/proc/self/mem")


KINDS: Final[dict[str, Callable[[Path], None]]] = {
    "directory": lambda path: path.mkdir(),
    "pipe": os.mkfifo,
    "dangling": lambda path: path.symlink_to(path.parent / "nowhere" / "gone"),
    "loop": lambda path: path.symlink_to(path),
    "unreadable": _unreadable,
}

SAID: Final = {
    "directory": "it is a directory, not a file",
    "pipe": "it is a named pipe, not a file",
    "dangling": "where nothing is",
    "loop": "leads back to itself",
    "unreadable": "",  # each part says it in its own words
}

KILLED: Final = (
    ".lock",
    "meta.properties",
    "recovery-point-offset-checkpoint",
    "recovery-point-offset-checkpoint.tmp",
    "replication-offset-checkpoint",
    "replication-offset-checkpoint.tmp",
    "log-start-offset-checkpoint",
    "cleaner-offset-checkpoint",
    "kafkastore-metadata.sqlite",
    "kafkastore-metadata.sqlite-wal",
    "kafkastore-metadata.sqlite-shm",
    "kafkastore-metadata.sqlite-mark",
    "kafkastore-metadata.mark",
    "kafkastore-topic-configs",
    "kafkastore-topic-configs.tmp",
    "{topic}/{first}.log",
    "{topic}/{last}.log",
    "{topic}/{first}.index",
    "{topic}/{first}.timeindex",
    "{topic}/{first}.txnindex",
    "{topic}/{last}.snapshot",
    "{topic}/{first}.7.cut",
    "{topic}/{first}.log.deleted",
    "{topic}/{first}.log.swap",
    "{topic}/leader-epoch-checkpoint",
    "{topic}/leader-epoch-checkpoint.tmp",
    "{topic}/partition.metadata",
)
STOPPED: Final = (
    ".kafka_cleanshutdown",
    "kafkastore-closed-logs",
    "{topic}/{first}.index",
    "{topic}/{last}.index",
    "{topic}/{last}.timeindex",
    "{topic}/{last}.snapshot",
    "{topic}/leader-epoch-checkpoint",
)
CASES: Final = [(name, False) for name in KILLED] + [(name, True) for name in STOPPED]


@pytest.fixture(autouse=True)
def _ours(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--against") != "kafkastore":
        pytest.skip("the files are ours")


class World(NamedTuple):
    """A broker, and its directory as it was after a kill and after a clean stop."""

    broker: BrokerProcess
    killed: Path
    stopped: Path

    def restore(self, *, is_stopped: bool) -> None:
        shutil.rmtree(self.broker.log_dir)
        shutil.copytree(self.stopped if is_stopped else self.killed, self.broker.log_dir)
        (self.broker.folder / "out.log").unlink(missing_ok=True)

    def path(self, name: str) -> Path:
        bases = sorted(path.stem for path in (self.broker.log_dir / f"{TOPIC}-0").glob("*.log"))
        return self.broker.log_dir / name.format(topic=f"{TOPIC}-0", first=bases[0], last=bases[-1])


def values(broker: BrokerProcess) -> list[bytes | None]:
    return [message.value() for message in read_topic(broker.bootstrap, TOPIC)]


EXPECTED: Final = [b"%d." % number + b" " * 40_000 for number in range(RECORDS)]


@pytest.fixture
def world(broker_factory: BrokerFactory) -> World:
    settings = {
        "replica.high.watermark.checkpoint.interval.ms": "200",
        "log.flush.offset.checkpoint.interval.ms": "200",
    }
    broker = broker_factory(settings)
    create_topic(broker.bootstrap, TOPIC, 1, {"segment.bytes": str(1 << 20)})
    producer = Producer({"bootstrap.servers": broker.bootstrap, "batch.num.messages": 1, "enable.idempotence": True})
    for value in EXPECTED:
        producer.produce(TOPIC, value, partition=0)
    assert producer.flush(60) == 0
    checkpoint = broker.log_dir / "replication-offset-checkpoint"
    wait_until(
        lambda: checkpoint.exists() and f"{TOPIC} 0 {RECORDS}" in checkpoint.read_text(), 30, "the watermark is written"
    )
    broker.kill()
    killed, stopped = broker.folder / "killed", broker.folder / "stopped"
    shutil.copytree(broker.log_dir, killed)
    broker.start()
    assert broker.stop() == 0
    shutil.copytree(broker.log_dir, stopped)
    return World(broker, killed, stopped)


def replace(path: Path, kind: str) -> bool:
    """Whether something was there before."""
    was_there = path.exists()
    with suppress(FileNotFoundError):
        path.unlink()
    KINDS[kind](path)
    return was_there


def records(directory: Path, but: Path) -> dict[str, bytes]:
    """The bytes of all segments but the one that was replaced, wherever they are now."""
    return {
        path.name: path.read_bytes() for path in directory.glob(f"{TOPIC}-0/*.log") if path != but and path.is_file()
    }


def check(world: World, name: str, kind: str, *, is_stopped: bool) -> str:
    """Gives what is wrong; nothing when all is well."""
    broker = world.broker
    world.restore(is_stopped=is_stopped)
    path = world.path(name)
    before = records(broker.log_dir, path)
    replace(path, kind)
    broker.launch()
    try:
        broker.wait_until_ready(LIMIT_S)
    except BrokerFailedError:
        is_ready = False
    except Exception as error:  # noqa: BLE001 - it neither serves nor ends
        broker.kill()
        return f"it hangs: {error}"
    else:
        is_ready = True
    found, code = None, 0
    if is_ready:
        with suppress(Exception):  # it may end when it writes first
            found = values(broker)
        if broker.is_running():
            code = broker.stop()
        else:
            is_ready = False
    broker.kill()
    said = broker.output()
    last = said.strip().splitlines()[-1] if said.strip() else ""
    is_named = str(path).removesuffix("-wal").removesuffix("-shm") in last and SAID[kind] in last
    if is_ready and found != EXPECTED:
        return f"{found and len(found)} of {RECORDS} records: {said}"
    if (code != 0 or not is_ready) and not is_named:
        return f"the end names not what stands there: {said}"
    if records(broker.log_dir, path) != before:
        return "records have changed"
    if re.search("Traceback|panicked", said):
        return f"a traceback: {said}"
    return ""


@pytest.mark.timeout(played(120, 900))
@pytest.mark.parametrize("kind", KINDS)
def test_start_with_something_else_in_the_place_of_a_state_file_loses_nothing(
    world: World, kind: str, request: pytest.FixtureRequest
) -> None:
    is_every = request.config.getoption("--every-state-file")
    at = list(KINDS).index(kind)
    chosen = [case for number, case in enumerate(CASES) if is_every or number % len(KINDS) == at]
    wrong = {}
    for name, is_stopped in chosen:
        found = check(world, name, kind, is_stopped=is_stopped)
        if is_every:
            print(f"{kind:10} {'stopped' if is_stopped else 'killed':7} {name}: {found or 'well'}")
        if found:
            wrong[name, is_stopped] = found
    assert not wrong, wrong
