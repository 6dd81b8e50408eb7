"""A worker of Kafka Connect with ``exactly.once.source.support=enabled`` copies the lines of a file while it, and a
broker, are killed.

    cd tests; python -m clients.connect_file_source [--lines N] [--kills N] [--brokers 1|3] [--seed N]
        [--against kafkastore|kafka] [--folder DIR]

FileStreamSource writes each poll of lines and their source offsets in one transaction. Every second kill is of the
worker, the others are of a broker. At the end the topic has each line exactly once, in the file's order, for a reader
of committed records. The exit status is 1 when it has not. (H11, H14)

A task whose producer sent EndTxn before the records of its transaction (``RACE``) is restarted, as an operator would.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from clients.exactly_once import CommittedReader, Servers, running
from peer.broker_process import free_port, wait_until
from peer.java_programs import JavaProcess, connect_classpath
from peer.topics import read_topic, wait_until_stable

CONNECTOR, TOPIC = "lines", "lines-of-the-file"
POLL_LINES = 20
"""The lines of one transaction."""

TAIL_LINES = 200
"""FileStreamSource holds lines back in its buffer at the end of the file until more come: lines that may be copied."""

LIMIT_S = 60.0
ASK_S = 5.0

RACE = "InvalidTxnStateException"
"""How a task fails by a race in Java's producer 4.3 and 4.4, on Apache Kafka's brokers too: its sender looks whether
records are unsent, then waits for the lock while the application sends some and commits, then sends EndTxn of a
transaction to which the brokers have added nothing."""


@dataclass(frozen=True)
class Asked:
    lines: int
    kills: int
    brokers: int = 1
    seed: int = 1
    against: str = "kafkastore"


@dataclass
class Outcome:
    kills: Counter[str] = field(default_factory=Counter)
    committed: int = 0
    aborted: int = 0
    """Records in aborted transactions: without any, the kills have proven little."""
    seconds: float = 0.0
    broken: list[str] = field(default_factory=list)


class Worker(JavaProcess):
    """One distributed worker; its REST listener is on loopback."""

    def __init__(self, folder: Path, bootstrap: str, replicas: int) -> None:
        self.address = f"http://127.0.0.1:{free_port()}"
        settings = {
            "bootstrap.servers": bootstrap,
            "group.id": "connect-workers",
            "listeners": self.address,
            "exactly.once.source.support": "enabled",
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "value.converter": "org.apache.kafka.connect.storage.StringConverter",
            "plugin.discovery": "service_load",
            "session.timeout.ms": "3000",
            "heartbeat.interval.ms": "300",
            "scheduled.rebalance.max.delay.ms": "0",
            "reconnect.backoff.max.ms": "200",
            "producer.transaction.timeout.ms": "5000",
        }
        for kind in ("offset", "config", "status"):
            settings[f"{kind}.storage.topic"] = f"connect-{kind}"
            settings[f"{kind}.storage.replication.factor"] = str(replicas)
        path = folder / "worker.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        main = "org.apache.kafka.connect.cli.ConnectDistributed"
        super().__init__(folder / "worker.log", ["-cp", connect_classpath(), main, str(path)])

    def ask(self, method: str, path: str, body: object = None) -> str:
        """The answer; empty while the worker does not serve requests, or rebalances."""
        request = urllib.request.Request(
            self.address + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=ASK_S) as answer:
                return str(answer.read().decode())
        except (OSError, urllib.error.HTTPError):
            return ""

    def submit(self, source: Path) -> None:
        config = {
            "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
            "tasks.max": "1",
            "file": str(source),
            "topic": TOPIC,
            "batch.size": str(POLL_LINES),
            "exactly.once.support": "required",
            "transaction.boundary": "poll",
        }
        path = f"/connectors/{CONNECTOR}/config"
        wait_until(lambda: self.ask("PUT", path, config), LIMIT_S, f"the worker has the connector: {self.log}")

    def alarm(self) -> str:
        return self._status() + self.end_of_log()

    def restart_after_race(self) -> bool:
        """Whether the task had failed by a ``RACE`` and is restarted."""
        is_race = RACE in self._status()
        if is_race:
            self.ask("POST", f"/connectors/{CONNECTOR}/tasks/0/restart")
            print("the task is restarted after a race of its producer", flush=True)
        return is_race

    def _status(self) -> str:
        return self.ask("GET", f"/connectors/{CONNECTOR}/status")


def run(folder: Path, asked: Asked) -> Outcome:
    """Starts all in the folder, and returns what the kills did to the lines."""
    outcome = Outcome()
    chance = random.Random(asked.seed)
    lines = [f"line {number} of {asked.lines}" for number in range(asked.lines + TAIL_LINES)]
    source = folder / "lines.txt"
    source.write_text("".join(f"{line}\n" for line in lines))
    began = time.monotonic()
    with running(folder / "brokers", asked.brokers, asked.against) as servers:
        servers.create(TOPIC)
        worker = Worker(folder, servers.bootstrap, len(servers.brokers))
        try:
            worker.start()
            worker.submit(source)
            with closing(CommittedReader(servers.bootstrap, TOPIC, 1)) as reader:
                step = asked.lines // (asked.kills + 1)
                for number in range(asked.kills):
                    reader.read_until(step * (number + 1), worker.alarm, worker.restart_after_race)
                    reader.wait_for_open_transaction()
                    if number % 2 == 0:
                        worker.kill()
                        worker.start()
                        outcome.kills["worker"] += 1
                    else:
                        broker = chance.choice(servers.brokers)
                        broker.kill()
                        broker.start()
                        outcome.kills["broker"] += 1
                    print(f"kill {number + 1} after {len(reader.messages)} lines", flush=True)
                reader.read_until(asked.lines, worker.alarm, worker.restart_after_race)
                worker.kill()
                outcome.seconds = time.monotonic() - began
                _judge(outcome, lines, asked.lines, servers)
        finally:
            worker.kill()
    return outcome


def values(servers: Servers, isolation: str) -> list[str]:
    messages = read_topic(servers.bootstrap, TOPIC, LIMIT_S, isolation_level=isolation, check_crcs=True)
    return [(message.value() or b"").decode() for message in messages]


def wrong_lines(found: list[str], expected: list[str]) -> list[str]:
    """Sentences for lines that are missing, there more than once, or out of order."""
    counts = Counter(found)
    wrong = [f"{line!r} is there {counts[line]} times" for line in expected if counts[line] != 1]
    wrong += [f"{line!r} is of no file" for line in counts.keys() - set(expected)]
    if not wrong and found != expected:
        wrong = ["the lines are not in the order of the file"]
    return wrong


def _judge(outcome: Outcome, lines: list[str], needed: int, servers: Servers) -> None:
    wait_until_stable(servers.bootstrap, TOPIC, LIMIT_S)
    committed = values(servers, "read_committed")
    outcome.committed = len(committed)
    outcome.aborted = len(values(servers, "read_uncommitted")) - len(committed)
    outcome.broken += wrong_lines(committed, lines[: max(needed, len(committed))])


def main() -> int:
    parser = argparse.ArgumentParser(prog="clients.connect_file_source", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--lines", type=int, default=20_000)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--brokers", type=int, choices=(1, 3), default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--against", choices=("kafkastore", "kafka"), default="kafkastore")
    parser.add_argument("--folder", type=Path, help="where all lives; by default a temporary one")
    given = vars(parser.parse_args())
    chosen = given.pop("folder")
    folder = chosen or Path(tempfile.mkdtemp(prefix="connect-"))
    folder.mkdir(parents=True, exist_ok=True)
    outcome = run(folder, Asked(**given))
    print(f"{outcome}")
    if outcome.broken:
        print(f"what the brokers and the worker printed is in {folder}")
        return 1
    if chosen is None:
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
