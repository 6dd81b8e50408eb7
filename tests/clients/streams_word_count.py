"""Kafka Streams with ``processing.guarantee=exactly_once_v2`` counts words while it, and a broker, are killed.

    cd tests; python -m clients.streams_word_count [--records N] [--kills N] [--brokers 1|3] [--store memory|rocksdb]
        [--rate N] [--seed N] [--against kafkastore|kafka] [--folder DIR]

The program (``peer/java/streams``) passes the words through a repartition topic and counts them in a store with a
changelog. Every second kill is of the program, the others are of a broker. At the end the counts of each word in the
output, read committed, are 1, 2, ... n in this order, each once, and the changelog has the same. The exit status is 1
when they are not. (H11, H14)
"""

from __future__ import annotations

import argparse
import random
import shutil
import struct
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import KafkaError, Message, Producer

from clients.exactly_once import CommittedReader, Servers, running
from peer.broker_process import BrokerProcess
from peer.java_programs import STREAMS, STREAMS_POM, JavaProcess, classpath
from peer.topics import place_of, read_topic, wait_until_stable

APPLICATION, INPUT, OUTPUT = "word-count", "numbered", "counts-of-words"
CHANGELOG, REPARTITION = f"{APPLICATION}-counts-changelog", f"{APPLICATION}-words-repartition"
PARTITIONS = 4
WORDS = 200
LIMIT_S = 60.0
TICK_S = 0.01


@dataclass(frozen=True)
class Asked:
    records: int
    kills: int
    brokers: int = 1
    store: str = "memory"
    rate: int = 5000
    """Words a second that are written to the input."""
    seed: int = 1
    against: str = "kafkastore"


@dataclass
class Outcome:
    kills: Counter[str] = field(default_factory=Counter)
    replaced_threads: int = 0
    output: int = 0
    changelog: int = 0
    aborted: int = 0
    """Records of the output in aborted transactions: without any, the kills have proven little."""
    seconds: float = 0.0
    broken: list[str] = field(default_factory=list)


def word_list(asked: Asked) -> list[str]:
    """The words of the input; some are far more frequent than others."""
    chance = random.Random(asked.seed)
    return [f"word-{min(chance.randrange(WORDS), chance.randrange(WORDS))}" for _ in range(asked.records)]


class Feeder(threading.Thread):
    """Writes the words to the input, the first at once, the others at the rate after ``go_on``; the key of a record is
    its number."""

    def __init__(self, bootstrap: str, words: Sequence[str], rate: int) -> None:
        super().__init__(name="feeder", daemon=True)
        self.errors: list[str] = []
        self.go_on = threading.Event()
        self._words, self._rate = words, rate
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 5,
                "reconnect.backoff.ms": 10,
                "reconnect.backoff.max.ms": 200,
                "log_level": 0,
            }
        )

    def run(self) -> None:
        began = time.monotonic()
        for number, word in enumerate(self._words):
            if number == 1:
                self._producer.flush(LIMIT_S)
                self.go_on.wait(LIMIT_S)
                began = time.monotonic()
            while number > (time.monotonic() - began) * self._rate:
                self._producer.poll(TICK_S)
            self._producer.produce(INPUT, word, key=str(number), on_delivery=self._delivered)
        self._producer.flush(LIMIT_S)

    def _delivered(self, error: KafkaError | None, _: Message) -> None:
        if error is not None:
            self.errors.append(str(error))


def program(folder: Path, bootstrap: str, store: str) -> JavaProcess:
    settings = {
        "application.id": APPLICATION,
        "bootstrap.servers": bootstrap,
        "state.dir": str(folder / "state"),
        "processing.guarantee": "exactly_once_v2",
        "num.stream.threads": "2",
        "statestore.cache.max.bytes": "0",  # each count is a record
        "commit.interval.ms": "100",
        "producer.linger.ms": "5",  # the records are written before the commit, so a kill leaves some to abort
        "repartition.purge.interval.ms": "1000",
        "consumer.session.timeout.ms": "3000",
        "consumer.heartbeat.interval.ms": "300",
        "producer.transaction.timeout.ms": "5000",
        "reconnect.backoff.max.ms": "200",
    }
    path = folder / "streams.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    at = ["-cp", classpath(STREAMS, STREAMS_POM), f"-Djava.io.tmpdir={folder}", "StreamsWordCount"]
    return JavaProcess(folder / "streams.log", [*at, str(path), INPUT, OUTPUT, store])


def run(folder: Path, asked: Asked) -> Outcome:
    """Starts all in the folder, and returns what the kills did to the counts."""
    outcome = Outcome()
    chance = random.Random(asked.seed)
    words = word_list(asked)
    began = time.monotonic()
    with running(folder / "brokers", asked.brokers, asked.against) as servers:
        for topic in (INPUT, OUTPUT):
            servers.create(topic, PARTITIONS)
        streams = program(folder, servers.bootstrap, asked.store)
        feeder = Feeder(servers.bootstrap, words, asked.rate)
        try:
            streams.start()
            feeder.start()
            with closing(CommittedReader(servers.bootstrap, OUTPUT, PARTITIONS)) as reader:
                reader.read_until(1, streams.end_of_log)
                feeder.go_on.set()
                step = asked.records // (asked.kills + 1)
                for number in range(asked.kills):
                    reader.read_until(step * (number + 1), streams.end_of_log)
                    reader.wait_for_open_transaction()
                    if number % 2 == 0:
                        streams.kill()
                        streams.start()
                        outcome.kills["program"] += 1
                    else:
                        _kill_broker(chance.choice(servers.brokers), servers, reader, step, streams)
                        outcome.kills["broker"] += 1
                    print(f"kill {number + 1} after {len(reader.messages)} counts", flush=True)
                reader.read_until(asked.records, streams.end_of_log)
                feeder.join(LIMIT_S)
                streams.stop(LIMIT_S)
                outcome.seconds = time.monotonic() - began
                _judge(outcome, words, servers, reader)
            outcome.broken += feeder.errors
            outcome.replaced_threads = streams.log.read_text(errors="replace").count("a stream thread is replaced")
        finally:
            streams.kill()
    return outcome


def _kill_broker(
    broker: BrokerProcess, servers: Servers, reader: CommittedReader, step: int, streams: JavaProcess
) -> None:
    """With other brokers, it comes back after they have gone on for a while."""
    broker.kill()
    if len(servers.brokers) > 1:
        reader.read_until(len(reader.messages) + step // 4, streams.end_of_log)
    broker.start()


# ---- the judgement
def counts_in(messages: list[Message]) -> list[tuple[str, int]]:
    """(word, count) of each record, by partition and offset."""
    return [
        ((message.key() or b"").decode(), struct.unpack(">q", message.value() or b"")[0])
        for message in sorted(messages, key=place_of)
    ]


def wrong_counts(where: str, found: Sequence[tuple[str, int]], words: Sequence[str]) -> list[str]:
    """A sentence for each word whose counts are not 1, 2, ... n, each once."""
    by_word: dict[str, list[int]] = defaultdict(list)
    for word, count in found:
        by_word[word].append(count)
    expected, wrong = Counter(words), []
    for word in sorted(by_word.keys() | expected.keys()):
        counts, last = by_word.get(word, []), expected[word]
        if counts != list(range(1, last + 1)):
            twice = [one for one, times in Counter(counts).items() if times > 1]
            missing = sorted(set(range(1, last + 1)) - set(counts))
            found_of = f"{len(counts)} counts up to {max(counts, default=0)}"
            wrong.append(f"{where}: {word} of {last}: {found_of}, twice {twice[:5]}, missing {missing[:5]}")
    return wrong


def _judge(outcome: Outcome, words: Sequence[str], servers: Servers, reader: CommittedReader) -> None:
    read = {}
    for topic in (OUTPUT, CHANGELOG):
        wait_until_stable(servers.bootstrap, topic, LIMIT_S)
        read[topic] = counts_in(
            read_topic(servers.bootstrap, topic, LIMIT_S, isolation_level="read_committed", check_crcs=True)
        )
        outcome.broken += wrong_counts(topic, read[topic], words)
    outcome.output, outcome.changelog = len(read[OUTPUT]), len(read[CHANGELOG])
    written = read_topic(servers.bootstrap, OUTPUT, LIMIT_S, isolation_level="read_uncommitted")
    outcome.aborted = len(written) - outcome.output
    outcome.broken += wrong_counts("what was read meanwhile", counts_in(reader.messages), words)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="clients.streams_word_count", description=(__doc__ or "").split("\n", maxsplit=1)[0]
    )
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--brokers", type=int, choices=(1, 3), default=3)
    parser.add_argument("--store", choices=("memory", "rocksdb"), default="memory")
    parser.add_argument("--rate", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--against", choices=("kafkastore", "kafka"), default="kafkastore")
    parser.add_argument("--folder", type=Path, help="where all lives; by default a temporary one")
    given = vars(parser.parse_args())
    chosen = given.pop("folder")
    folder = chosen or Path(tempfile.mkdtemp(prefix="word-count-"))
    folder.mkdir(parents=True, exist_ok=True)
    outcome = run(folder, Asked(**given))
    print(f"{outcome}")
    if outcome.broken:
        print(f"what the brokers and the program printed is in {folder}")
        return 1
    if chosen is None:
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
