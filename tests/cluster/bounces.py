"""Rounds in which all three brokers end and come back under idempotent producers: none of them may die, nothing may be
lost or doubled.

    cd tests; python -m cluster.bounces [--rounds N] [--seed N] [--store sqlite|zookeeper] [--folder DIR]

Each round is one of: all stop at once (SIGTERM), all are killed at once, one after the other is stopped and started,
two are stopped and the third follows, one is killed while the others stop. Two producers write meanwhile, librdkafka's
and Kafka's own, with ``acks=all``; at the end every partition is read whole. The exit status is 1 when a promise was
broken.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from cluster.cluster import Cluster
from peer import class_data
from peer.broker_process import wait_until
from peer.jars import classpath
from peer.java_programs import QUICK_JVM
from peer.topics import acked_place, place_of, read_topic

TOPIC = "bounced"
PARTITIONS = 2
IN_FLIGHT = 200
BATCH_RECORDS = 2
"""The records of one batch: so few that five batches of each partition are in flight all the time."""

BETWEEN = 150
"""The acknowledgements that each producer gets between two rounds."""

LIMIT_S = 120.0


class RdWriter(threading.Thread):
    """librdkafka's idempotent producer."""

    name = "librdkafka"

    def __init__(self, bootstrap: str) -> None:
        super().__init__(daemon=True)
        self.fatal: list[str] = []
        self.producer = Producer(
            {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 1,
             "batch.num.messages": BATCH_RECORDS, "retry.backoff.ms": 20, "retry.backoff.max.ms": 200,
             "message.timeout.ms": int(LIMIT_S * 1000),
             "reconnect.backoff.ms": 10, "reconnect.backoff.max.ms": 200, "topic.metadata.refresh.interval.ms": 500,
             "log_level": 0, "error_cb": self._on_error}
        )  # fmt: skip
        self.sent = 0
        self.acked: dict[str, tuple[int, int | None]] = {}
        self.errors: list[str] = []
        self._enough = threading.Event()

    def _on_error(self, error: KafkaError) -> None:
        if error.fatal() or error.code() == KafkaError._FATAL:
            self.fatal.append(str(error))

    def run(self) -> None:
        try:
            while not self._enough.is_set():
                while len(self.producer) < IN_FLIGHT:
                    self._send()
                self.producer.poll(0.01)
            self.producer.flush(LIMIT_S)
        except KafkaException as error:
            self.fatal.append(str(error))

    def _send(self) -> None:
        name = f"rd-{self.sent}"
        self.producer.produce(
            TOPIC,
            f"{name}.".ljust(160),
            partition=self.sent % PARTITIONS,
            on_delivery=lambda error, message: self._delivered(name, error, message),
        )
        self.sent += 1

    def _delivered(self, name: str, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self.acked[name] = acked_place(message)
        else:
            self.errors.append(f"{name}: {error}")

    def finish(self) -> None:
        self._enough.set()
        self.join()


class JavaWriter:
    """Kafka's own producer, in a process of its own (peer/java/JavaWriter.java)."""

    name = "Java"

    def __init__(self, bootstrap: str) -> None:
        archive = class_data.options(class_data.PROGRAM)
        command = ["java", "-Xmx128m", *QUICK_JVM, *archive, "-cp", classpath(), "JavaWriter", bootstrap]
        self.process = subprocess.Popen(
            [*command, TOPIC, str(PARTITIONS), str(IN_FLIGHT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.sent = -1
        self.acked: dict[str, tuple[int, int | None]] = {}
        self.errors: list[str] = []
        self.fatal: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)

    def start(self) -> None:
        self._reader.start()

    def _read(self) -> None:
        out: IO[bytes] | None = self.process.stdout
        assert out is not None
        for line in out:
            first, rest = line.decode().strip().split(" ", 1)
            if first == "end":
                self.sent = int(rest)
            elif rest.startswith("error:"):
                self.errors.append(f"java-{first}: {rest}")
            else:
                partition, offset = rest.split()
                self.acked[f"java-{first}"] = (int(partition), int(offset))

    def finish(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"\n")
        self.process.stdin.close()
        try:
            self.process.wait(LIMIT_S + 30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.fatal.append("it did not end")
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()


@dataclass
class Outcome:
    """What the rounds did and found."""

    rounds: int = 0
    acked: int = 0
    done: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)


# ---- what a round does to the brokers
def stop_all(cluster: Cluster, chance: random.Random) -> None:
    cluster.stop()
    cluster.start_brokers()


def kill_all(cluster: Cluster, chance: random.Random) -> None:
    for broker in cluster.brokers:
        assert broker.process is not None
        broker.process.kill()
    for broker in cluster.brokers:
        broker.kill()
    cluster.start_brokers()


def bounce_each(cluster: Cluster, chance: random.Random) -> None:
    for broker in chance.sample(cluster.brokers, len(cluster.brokers)):
        broker.stop()
        broker.start()


def stop_two_then_one(cluster: Cluster, chance: random.Random) -> None:
    *first, last = chance.sample(cluster.brokers, len(cluster.brokers))
    with ThreadPoolExecutor(len(first)) as pool:
        list(pool.map(lambda broker: broker.stop(), first))
    last.stop()
    cluster.start_brokers()


def kill_one_stop_rest(cluster: Cluster, chance: random.Random) -> None:
    killed = chance.choice(cluster.brokers)
    killed.kill()
    cluster.stop()
    cluster.start_brokers()


ROUNDS: tuple[Callable[[Cluster, random.Random], None], ...] = (
    stop_all, kill_all, bounce_each, stop_two_then_one, kill_one_stop_rest,
)  # fmt: skip


# ---- the run
def run(folder: Path, rounds: int, seed: int, store: str = "sqlite") -> Outcome:
    """Starts a cluster in the folder, runs the rounds, and returns which promises were broken."""
    chance = random.Random(seed)
    outcome = Outcome()
    cluster = Cluster(folder, store)
    writers: list[RdWriter | JavaWriter] = []
    try:
        cluster.start()
        cluster.create(TOPIC, PARTITIONS, 3, {"segment.bytes": str(1 << 20)})
        writers = [RdWriter(cluster.bootstrap), JavaWriter(cluster.bootstrap)]
        for writer in writers:
            writer.start()
        for _ in range(rounds):
            _go_on(writers)
            do = ROUNDS[outcome.rounds % len(ROUNDS)] if rounds < 2 * len(ROUNDS) else chance.choice(ROUNDS)
            began = time.monotonic()
            do(cluster, chance)
            outcome.rounds += 1
            outcome.done[do.__name__] += 1
            dead = [f"round {outcome.rounds}, {do.__name__}: {w.name} died: {w.fatal[0]}" for w in writers if w.fatal]
            print(f"round {outcome.rounds} {do.__name__} {time.monotonic() - began:.1f} s", *dead, flush=True)
            if dead:
                break
        if not any(writer.fatal for writer in writers):
            _go_on(writers)
        for writer in writers:
            writer.finish()
        _judge(outcome, writers, cluster)
    finally:
        for writer in writers:
            if isinstance(writer, JavaWriter) and writer.process.poll() is None:
                writer.process.kill()
        cluster.stop()
        cluster.close()
    return outcome


def _go_on(writers: list[RdWriter | JavaWriter]) -> None:
    before = [len(writer.acked) for writer in writers]

    def have_gone_on() -> bool:
        return all(
            writer.fatal or writer.errors or len(writer.acked) >= at + BETWEEN
            for writer, at in zip(writers, before, strict=True)
        )

    wait_until(have_gone_on, LIMIT_S, f"each producer has {BETWEEN} more records acknowledged")


def _judge(outcome: Outcome, writers: list[RdWriter | JavaWriter], cluster: Cluster) -> None:
    cluster.wait_in_sync(TOPIC, 3)
    read: dict[str, list[tuple[int, int]]] = {}
    for message in read_topic(cluster.bootstrap, TOPIC, limit_s=180, check_crcs=True):
        name = (message.value() or b"").split(b".", 1)[0].decode()
        read.setdefault(name, []).append(place_of(message))
    for writer in writers:
        outcome.acked += len(writer.acked)
        outcome.broken += [f"{writer.name} died: {what}" for what in writer.fatal]
        outcome.broken += [f"{writer.name} was refused {what}" for what in writer.errors]
        missing = writer.sent - len(writer.acked) - len(writer.errors)
        if missing and not writer.fatal:
            outcome.broken.append(f"{writer.name} never heard of {missing} of {writer.sent} records")
        lost = {name: place for name, place in writer.acked.items() if not _is_there(place, read.get(name, []))}
        outcome.broken += [f"lost: {name} of {writer.name}, acknowledged at {place}" for name, place in lost.items()]
    outcome.broken += [f"duplicated: {name} at {places}" for name, places in read.items() if len(places) > 1]


def _is_there(acked: tuple[int, int | None], read: list[tuple[int, int]]) -> bool:
    return any(place == acked or (acked[1] is None and place[0] == acked[0]) for place in read)


def main() -> int:
    parser = argparse.ArgumentParser(prog="cluster.bounces", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--store", choices=("sqlite", "zookeeper"), default="sqlite")
    parser.add_argument("--folder", type=Path, help="where the brokers live; by default a temporary one")
    asked = parser.parse_args()
    folder = asked.folder or Path(tempfile.mkdtemp(prefix="bounces-"))
    outcome = run(folder, asked.rounds, asked.seed, asked.store)
    counts = ", ".join(f"{count} {name}" for name, count in sorted(outcome.done.items()))
    print(
        f"{outcome.rounds} rounds ({counts}), seed {asked.seed}: {outcome.acked} acknowledged, {len(outcome.broken)} "
        "broken"
    )
    for line in outcome.broken[:20]:
        print(f"  {line}")
    if outcome.broken:
        print(f"what the brokers printed is in {folder}")
        return 1
    if asked.folder is None:
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
