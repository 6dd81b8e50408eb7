"""Random damage to the files of a metadata store after a kill -9: what each start says, and whether any record is lost.

``python -m crash.metadata_damage --world alone|sqlite|zookeeper --rounds 200 --seed 1`` prints one line a round and a
summary. Each round begins with the same folder: brokers that were killed (with ``--clean``: stopped), with topics of
which a default would delete every record (records of last month; ``retention.ms=-1``, and ``cleanup.policy=compact``),
one of them configured after it was made. One file of the store is flipped in one bit, cut, emptied or deleted; the
brokers are started, and those that start run their retention. A record is lost when nobody serves it and no log, set
aside or not, has it.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, ResourceType

from cluster.cluster import Cluster
from kafkastore.metadata.marks import DIRECTORY_FILE
from parity.raw_client import RawClient
from peer.broker_process import BrokerFailedError, wait_until
from peer.kafkastore_broker import KafkastoreBroker
from peer.topics import end_offsets, read_topic
from peer.zookeeper import ZookeeperProcess

WORLDS = ("alone", "sqlite", "zookeeper")
KINDS = ("flip", "cut", "empty", "delete")
LIMIT_S = 30.0
MONTH_MS = 30 * 86_400_000
PER_PARTITION = 60
PARTITIONS = 2
TOPICS = {"kept": {"retention.ms": "-1"}, "compacted": {"cleanup.policy": "compact"}, "changed": {}}
SETTINGS = {
    "log.retention.check.interval.ms": "150",
    "log.initial.task.delay.ms": "50",
    "log.segment.delete.delay.ms": "100",
    "log.index.size.max.bytes": "4096",
    "zookeeper.session.timeout.ms": "1500",
}
CLUSTER_FILE = "metadata.sqlite"
ALONE_FILE = "kafkastore-metadata.sqlite"


class SmallZookeeper(ZookeeperProcess):
    """Of several logs and snapshots, so that damage finds older ones behind it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, extra={"snapCount": "60", "preAllocSize": "64"})


class DamagedCluster(Cluster):
    def new_zookeeper(self) -> ZookeeperProcess:
        return SmallZookeeper(self.folder / "zookeeper")


class Round(NamedTuple):
    number: int
    damage: str
    said: list[str]
    """One sentence for each broker, and what it warned of."""
    lost: int


class Damage:
    """One world on a folder; ``base`` is what each round begins with. Whoever makes one closes it."""

    def __init__(self, folder: Path, world: str, *, is_clean: bool = False) -> None:
        self.is_clean = is_clean
        self.world, self.folder, self.base = world, folder / "live", folder / "base"
        self.folder.mkdir(parents=True)
        self.zookeeper: ZookeeperProcess | None = None
        if world == "alone":
            self.brokers = [KafkastoreBroker(self.folder / "broker-1", SETTINGS)]
        else:
            cluster = DamagedCluster(self.folder, world, overrides=SETTINGS)
            self.brokers, self.zookeeper = cluster.brokers, cluster.zookeeper
        self.records: dict[str, set[bytes]] = {}
        try:
            self._make_base()
        except BaseException:
            self.close()
            raise

    @property
    def bootstrap(self) -> str:
        return ",".join(broker.bootstrap for broker in self.brokers)

    def close(self) -> None:
        for broker in self.brokers:
            broker.kill()
        if self.zookeeper is not None:
            self.zookeeper.kill()

    # ---- the folder that each round begins with
    def _make_base(self) -> None:
        """A part of the metadata is in the store's main file when a clean stop has left it there, the rest is in what
        follows it."""
        if self.zookeeper is not None:
            self.zookeeper.start()
        admin = self._start_whole()
        for topic in ("kept", "compacted"):
            self._create(admin, topic)
        for broker in self.brokers:
            broker.stop()
        admin = self._start_whole()
        self._create(admin, "changed")
        change = ConfigResource(
            ResourceType.TOPIC,
            "changed",
            incremental_configs=[ConfigEntry("retention.ms", "-1", incremental_operation=AlterConfigOpType.SET)],
        )
        admin.incremental_alter_configs([change])[change].result(LIMIT_S)
        changed_at = time.time()
        for broker in self.brokers:  # one that leads and does not know it yet would delete what is old
            wait_until(partial(_keeps_all, broker.port, "changed"), LIMIT_S, "the change is known")
        for topic in TOPICS:
            self.records[topic] = produce_old(self.bootstrap, topic, PARTITIONS, PER_PARTITION)
        assert self._read() == self.records
        marks = [directory / DIRECTORY_FILE for broker in self.brokers for directory in broker.log_dirs]
        # a store in ZooKeeper has no generation yet of the changes of the last seconds
        wait_until(lambda: all(one.stat().st_mtime > changed_at for one in marks), LIMIT_S, "marks of the change")
        for broker in self.brokers:
            if self.is_clean:
                broker.stop()
            broker.kill()
        if self.zookeeper is not None:
            self._let_sessions_end()
            self.zookeeper.kill()
        shutil.copytree(self.folder, self.base)

    def _start_whole(self) -> AdminClient:
        for broker in self.brokers:
            broker.launch()
        for broker in self.brokers:
            broker.wait_until_ready()
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        self._wait_for_brokers(admin, len(self.brokers))
        return admin

    def _create(self, admin: AdminClient, topic: str) -> None:
        new = NewTopic(topic, PARTITIONS, len(self.brokers), config=TOPICS[topic])
        admin.create_topics([new])[topic].result(LIMIT_S)

    def _let_sessions_end(self) -> None:
        from kazoo.client import KazooClient

        assert self.zookeeper is not None
        client = KazooClient(f"{self.zookeeper.address}/kafkastore")
        client.start()
        wait_until(lambda: not client.get_children("/brokers/ids"), LIMIT_S, "the sessions of the killed are over")
        client.stop()
        client.close()

    def _wait_for_brokers(self, admin: AdminClient, count: int) -> None:
        def are_there() -> bool:
            return len(admin.list_topics(timeout=10).brokers) == count

        wait_until(are_there, LIMIT_S, f"{count} brokers know each other")

    # ---- a round
    def run(self, number: int, kind: str, random_: random.Random) -> Round:
        self.close()
        shutil.rmtree(self.folder)
        shutil.copytree(self.base, self.folder)
        for broker in self.brokers:
            (broker.folder / "out.log").unlink(missing_ok=True)
        damage = damage_one(self.store_files(), kind, random_)
        said = self._start()
        running = [broker for broker in self.brokers if broker.is_running()]
        served: dict[str, set[bytes]] = {}
        if running:
            self._run_retention(number, running)
            served = self._read()
        for broker in self.brokers:
            broker.kill()
        on_disk = self._on_disk()
        lost = 0
        for topic, values in self.records.items():  # what is served is served whole
            missing = len(values - (served[topic] if topic in served else on_disk.get(topic, set())))
            lost += missing
            if missing:
                said.append(f"{topic}: {missing} records are lost")
        return Round(number, damage, said, lost)

    def store_files(self) -> list[Path]:
        """Of the metadata store alone; ``-mark`` is beside the SQLite file."""
        if self.zookeeper is not None:
            folder = self.zookeeper.folder / "data" / "version-2"
            return sorted(folder.iterdir())
        path = self.brokers[0].log_dir / ALONE_FILE if self.world == "alone" else self.folder / CLUSTER_FILE
        return sorted(path.parent.glob(path.name + "*"))

    def _start(self) -> list[str]:
        if self.zookeeper is not None:
            try:
                self.zookeeper.start(8.0)
            except AssertionError:
                self.zookeeper.kill()
                return ["ZooKeeper does not start"]
        for broker in self.brokers:
            broker.launch()
        said = []
        for broker in self.brokers:
            try:
                broker.wait_until_ready(LIMIT_S)
            except BrokerFailedError:
                lines = broker.output().strip().splitlines()
                assert not re.search("Traceback|panicked", broker.output()), broker.output()
                said.append("refused: " + lines[-1])
            else:
                said.append("serves")
            said += [line for line in broker.output().splitlines() if re.search(r"\] (WARN|ERROR)", line)]
        return said

    def _run_retention(self, number: int, running: Sequence[KafkastoreBroker]) -> None:
        """Each broker has looked at all of its logs when it has deleted what was written after it started."""
        canary = f"canary-{number}"
        bootstrap = ",".join(broker.bootstrap for broker in running)
        admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        self._wait_for_brokers(admin, len(running))
        ids = sorted(admin.list_topics(timeout=10).brokers)
        new = NewTopic(canary, len(ids), replica_assignment=[[one] for one in ids], config={"retention.ms": "1000"})
        admin.create_topics([new])[canary].result(LIMIT_S)
        produce_old(bootstrap, canary, len(ids), 1)

        def is_deleted() -> bool:
            return all(low > 0 for low, _ in end_offsets(bootstrap, canary).values())

        wait_until(is_deleted, LIMIT_S, "retention has run")

    def _read(self) -> dict[str, set[bytes]]:
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        found = {}
        for topic in TOPICS:
            known = admin.list_topics(timeout=10).topics.get(topic)
            if known is None:
                continue
            try:
                found[topic] = {message.value() or b"" for message in read_topic(self.bootstrap, topic)}
            except (AssertionError, KafkaException):  # without a leader: its broker was refused
                continue
        return found

    def _on_disk(self) -> dict[str, set[bytes]]:
        """Values in any log, those set aside as well."""
        found: dict[str, set[bytes]] = {}
        for broker in self.brokers:
            for topic in TOPICS:
                for path in broker.log_dir.glob(f"{topic}-[0-9]*/*.log"):
                    if not path.parent.name.endswith("-delete"):
                        content = path.read_bytes()
                        found.setdefault(topic, set()).update(re.findall(rb"%s-\d+-\d+" % topic.encode(), content))
        return found


def _keeps_all(port: int, topic: str) -> bool:
    """Whether this broker has retention.ms=-1 for the topic."""
    with closing(RawClient("127.0.0.1", port)) as client:
        resource = {"resource_type": 2, "resource_name": topic, "configuration_keys": ["retention.ms"]}
        answer = client.ask("describe_configs", 4, {"resources": [resource]})
    configs = answer.results[0].configs
    return [config.value for config in configs] == ["-1"]


def produce_old(bootstrap: str, topic: str, partitions: int, count: int, age_ms: int = MONTH_MS) -> set[bytes]:
    """Records of last month, acknowledged by all; their values."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, "acks": "all", "log_level": 0})
    values = set()
    then = int(time.time() * 1000) - age_ms
    for partition in range(partitions):
        for number in range(count):
            value = b"%s-%d-%d" % (topic.encode(), partition, number)
            values.add(value)
            producer.produce(topic, value, key=value, partition=partition, timestamp=then + number)
    assert producer.flush(LIMIT_S) == 0
    return values


def damage_one(files: Sequence[Path], kind: str, random_: random.Random) -> str:
    """Damages one of them; what was done."""
    path = random_.choice(files)
    content = path.read_bytes()
    used = len(content.rstrip(b"\0")) or len(content)  # ZooKeeper's logs end in room for more
    if kind == "flip" and content:
        at, bit = random_.randrange(used), random_.randrange(8)
        changed = bytearray(content)
        changed[at] ^= 1 << bit
        path.write_bytes(changed)
        return f"flip bit {bit} of byte {at} of {len(content)} in {path.name}"
    if kind == "cut" and content:
        size = random_.randrange(used)
        path.write_bytes(content[:size])
        return f"cut {path.name} from {len(content)} to {size} bytes"
    if kind == "delete":
        path.unlink()
        return f"delete {path.name}"
    path.write_bytes(b"")
    return f"empty {path.name}"


def plain(sentence: str) -> str:
    """Without what differs from round to round."""
    sentence = re.sub(r"^\[[^]]*\] ", "", sentence)
    sentence = re.sub(r"\S*/(broker-\d/data|zookeeper|live)\S*", "PATH", sentence)
    sentence = re.sub(r"\(node [^)]*\)|'[^']*'|127\.0\.0\.1:\d+", "…", sentence)
    return re.sub(r"[0-9a-f]{32}|\d+", "N", sentence)


def summary_of(rounds: Sequence[Round]) -> list[str]:
    said: Counter[str] = Counter()
    for one in rounds:
        said.update({plain(sentence) for sentence in one.said})
    return [f"{count:5}  {sentence}" for sentence, count in said.most_common()]


def run(
    folder: Path,
    world: str,
    rounds: int,
    seed: int,
    tell: Callable[[Round], None] = lambda _: None,
    *,
    is_clean: bool = False,
) -> list[Round]:
    """The kinds come in turn, in each world from another one on: two rounds in each world have them all."""
    damage = Damage(folder, world, is_clean=is_clean)
    first = 2 * WORLDS.index(world)
    done = []
    with closing(damage):
        for number in range(rounds):
            kind = KINDS[(first + number) % len(KINDS)]
            done.append(damage.run(number, kind, random.Random(f"{seed}-{number}")))
            tell(done[-1])
    return done


def main() -> int:
    parser = argparse.ArgumentParser(description="damage to metadata stores")
    parser.add_argument("--world", choices=WORLDS, default="alone")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--clean", action="store_true", help="stop the brokers before the damage, instead of killing them"
    )
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="meta-damage-"))

    def tell(one: Round) -> None:
        print(f"{one.number}: {one.damage}: {one.said[0]}; {one.lost} lost", flush=True)

    try:
        rounds = run(folder, given.world, given.rounds, given.seed, tell, is_clean=given.clean)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    records = sum(len(TOPICS) * PARTITIONS * PER_PARTITION for _ in rounds)
    lost = sum(one.lost for one in rounds)
    print(
        f"\n{given.world}, seed {given.seed}: {len(rounds)} rounds, {records} records, {lost} lost. In so many rounds "
        "it was said:"
    )
    print("\n".join(summary_of(rounds)))
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
