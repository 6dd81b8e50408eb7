"""``kafkastore migrate``: a mirror has every record once, also when it is killed, and groups where they were."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AclBinding, AclOperation, AclPermissionType, ResourcePatternType, ResourceType

from kafkastore.admin.admin_client import AdminClient, KafkaError
from kafkastore.admin.group_offsets import CommittedOffset, alter_offsets, committed_offsets
from kafkastore.cli.cluster_options import ClusterSettings
from peer.apache_kafka import ApacheKafka
from peer.broker_factory import BrokerFactory
from peer.broker_process import BrokerProcess, wait_until
from peer.topics import admin_client, create_topic, end_offsets
from tools.comparison import ours
from tools.guarded import Guarded
from unit.metadata.test_kafka_metadata import batch, compact, config_record, write

LIMIT_S = 30
TESTS = Path(__file__).parents[1]
TIME_MS = (int(time.time()) - 3600) * 1000
"""An hour ago: retention keeps it."""
Record = tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...], tuple[int, int]]
"""Key, value, headers, and type and value of the time."""


class Mirror:
    """Of the topics with a prefix, from one broker to another."""

    def __init__(self, source: str, target: str, prefix: str, folder: Path) -> None:
        self.source, self.target, self.prefix = source, target, prefix
        self.file = folder / f"{prefix}.json"

    def plan(self, *words: str) -> dict[str, Any]:
        chosen = ["--topics", f"{self.prefix}-.*", "--groups", f"{self.prefix}-.*", "--id", self.prefix, *words]
        done = ours(
            "migrate", "plan", "--from-bootstrap-server", self.source, "-b", self.target, "-o", str(self.file), *chosen
        )
        assert done.exit == 0, done.err
        planned: dict[str, Any] = json.loads(self.file.read_text())
        planned["said"] = done.err
        return planned

    def words(self, *words: str) -> list[str]:
        return ["migrate", "run", str(self.file), "-b", self.target, "--interval", "0.5", *words]

    def run(self, *words: str) -> list[dict[str, Any]]:
        """The events of a run that ends well."""
        done = ours(*self.words(*words))
        assert done.exit == 0, (done.err, done.out)
        return [json.loads(line) for line in done.out.splitlines()]

    def start(self, *program: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, *program, *self.words()]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=TESTS)

    def assert_same(self, *topics: str) -> None:
        for topic in topics:
            expected, found = (read(one, topic) for one in (self.source, self.target))
            assert contents(found) == contents(expected), topic

    def committed(self, *groups: str) -> dict[str, dict[tuple[str, int], CommittedOffset]]:
        """In the target."""
        answers = ClusterSettings(self.target, {}).ask(lambda client: committed_offsets(client, groups))
        return {name: one for name, one in answers.items() if not isinstance(one, KafkaError)}


def read(bootstrap: str, topic: str) -> dict[int, list[Message]]:
    """The committed records of each partition."""
    ends = {number: end for number, (_, end) in end_offsets(bootstrap, topic, "read_committed").items()}
    found: dict[int, list[Message]] = {number: [] for number in ends}
    settings = {"bootstrap.servers": bootstrap, "group.id": "unused", "isolation.level": "read_committed"}
    with closing(Consumer(settings | {"enable.partition.eof": True, "fetch.wait.max.ms": 5})) as consumer:
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in ends])
        at_end: set[int] = set()
        deadline = time.monotonic() + LIMIT_S
        while len(at_end) < len(ends):
            assert time.monotonic() < deadline, f"{topic} is not read to its end"
            for message in consumer.consume(1000, 0.05):
                number = message.partition()
                assert number is not None
                if message.error() is None:
                    found[number].append(message)
                else:
                    at_end.add(number)
    return found


def content(message: Message) -> Record:
    return message.key(), message.value(), tuple(message.headers() or ()), message.timestamp()


def contents(found: Mapping[int, list[Message]]) -> dict[int, list[Record]]:
    return {number: [content(one) for one in messages] for number, messages in found.items()}


def producer(bootstrap: str, **settings: str) -> Producer:
    named = {key.replace("_", "."): value for key, value in settings.items()}
    return Producer({"bootstrap.servers": bootstrap, "linger.ms": 1, **named})


def write_transactions(bootstrap: str, topic: str, name: str, count: int = 6) -> None:
    """Every second one is aborted; records of no transaction are between them."""
    plain, made = producer(bootstrap), producer(bootstrap, transactional_id=name)
    made.init_transactions(LIMIT_S)
    for number in range(count):
        made.begin_transaction()
        for at in range(5):
            made.produce(topic, b"%d of %d" % (at, number), b"k%d" % at, partition=at % 2, timestamp=TIME_MS + at)
        if number % 2:
            assert made.flush(LIMIT_S) == 0
            made.abort_transaction(LIMIT_S)
        else:
            made.commit_transaction(LIMIT_S)
        plain.produce(topic, b"plain %d" % number, partition=0)
        assert plain.flush(LIMIT_S) == 0


def commit(bootstrap: str, groups: Mapping[str, Mapping[tuple[str, int], int]]) -> None:
    """The metadata of each offset says which it is."""

    async def work(client: AdminClient) -> None:
        for group, offsets in groups.items():
            texts = {key: f"metadata of {offset}" for key, offset in offsets.items()}
            assert await alter_offsets(client, group, offsets, texts) == {}

    ClusterSettings(bootstrap, {}).ask(work)


@pytest.fixture
def mirror(apache_kafka: BrokerProcess, kafkastore_broker: BrokerProcess, tmp_path: Path) -> Iterator[Mirror]:
    """From Apache Kafka to ours."""
    found = Mirror(apache_kafka.bootstrap, kafkastore_broker.bootstrap, f"mg{time.time_ns()}", tmp_path)
    yield found
    for bootstrap in (found.source, found.target):
        ours("topics", "delete", f"(kafkastore-migrate-)?{found.prefix}.*", "--regex", "--yes", "-b", bootstrap)


def test_mirror_of_apache_kafka_has_its_records_and_groups(mirror: Mirror) -> None:
    prefix = mirror.prefix
    plain = create_topic(mirror.source, f"{prefix}-plain", 3, {"retention.ms": "-1", "cleanup.policy": "delete"})
    transactions = create_topic(mirror.source, f"{prefix}-tx", 2, {"retention.ms": "-1"})
    stamped = create_topic(mirror.source, f"{prefix}-append", 1, {"message.timestamp.type": "LogAppendTime"})
    empty = create_topic(mirror.source, f"{prefix}-empty", 1)
    for codec in ("none", "zstd"):
        made = producer(mirror.source, compression_type=codec)
        headers = [("a", b"1"), ("a", None), ("ü", b"")]
        for at in range(300):
            made.produce(plain, None if at % 7 == 0 else b"%d" % at * 9, None if at % 5 == 0 else b"k", at % 3,
                         timestamp=TIME_MS - at, headers=headers if at % 2 else None)  # fmt: skip
            made.produce(stamped, b"%d" % at)
        assert made.flush(LIMIT_S) == 0
    write_transactions(mirror.source, transactions, f"{prefix}-writer")
    ends = end_offsets(mirror.source, transactions)
    open_one = producer(mirror.source, transactional_id=f"{prefix}-open")
    open_one.init_transactions(LIMIT_S)
    open_one.begin_transaction()
    open_one.produce(transactions, b"aborted", partition=1)
    assert open_one.flush(LIMIT_S) == 0
    offsets = range(ends[0][1] + 1)  # also those of markers and of aborted records, and the end
    commit(mirror.source, {f"{prefix}-g{one}": {(transactions, 0): one, (empty, 0): 0} for one in offsets})
    planned = {one["name"]: one for one in mirror.plan()["topics"]}
    assert planned[plain]["compression"] == "zstd"
    assert planned[plain]["configs"].items() >= {"retention.ms": "-1"}.items()
    assert planned[stamped]["later_configs"] == {"message.timestamp.type": "LogAppendTime"}
    mirror.run("--until-caught-up")
    open_one.abort_transaction(LIMIT_S)
    events = mirror.run("--cut-over", "--stable-for", "0")
    assert events[-1]["message"].startswith(f"now set bootstrap.servers={mirror.target}")
    mirror.assert_same(plain, transactions, empty)
    times = [
        [(one.value(), one.timestamp()[1]) for one in read(at, stamped)[0]] for at in (mirror.source, mirror.target)
    ]
    assert times[0] == times[1]
    [described] = json.loads(ours("topics", "describe", stamped, "--json", "-b", mirror.target).out)
    assert {"key": "message.timestamp.type", "value": "LogAppendTime", "source": "topic"} in described["configs"]
    assert_groups_go_on_with_the_same_record(mirror, transactions, offsets)
    again = mirror.run("--until-caught-up")
    assert [one["records"] for one in again if one["event"] == "progress"][-1] == 0


def assert_groups_go_on_with_the_same_record(mirror: Mirror, topic: str, offsets: Collection[int]) -> None:
    """Groups that are named after their offset in the source, the last one at its end."""
    expected, found = read(mirror.source, topic)[0], read(mirror.target, topic)[0]
    committed = mirror.committed(*(f"{mirror.prefix}-g{one}" for one in offsets))
    for offset in offsets:
        at = committed[f"{mirror.prefix}-g{offset}"][topic, 0]
        theirs = [content(one) for one in expected if (one.offset() or 0) >= offset]
        assert [content(one) for one in found if (one.offset() or 0) >= at.offset] == theirs, offset
        assert at.metadata == f"metadata of {offset}"
    assert at.offset == end_offsets(mirror.target, topic)[0][1], "a group without lag has none in the target"


KILLS = (
    "commit_transaction 1 before",
    "commit_transaction 1 after",  # of where partitions begin
    "begin_transaction 2 after",
    "send 2 after",
    "flush 1 after",
    "send 6 after",
    "flush 2 after",
    "send_offsets_to_transaction 2 before",
    "send_offsets_to_transaction 2 after",
    "commit_transaction 2 before",
    "commit_transaction 3 after",
)


def test_killed_mirror_goes_on_where_it_stood(mirror: Mirror) -> None:
    """With SIGKILL around each step of a transaction, while the source is written."""
    topic = create_topic(mirror.source, f"{mirror.prefix}-bulk", 2)
    made = producer(mirror.source)
    for at in range(20_000):
        made.produce(topic, b"%d" % at * 10, b"k%d" % at, at % 2)
    assert made.flush(LIMIT_S) == 0
    mirror.plan()
    for kill in KILLS:
        dying = mirror.start("-m", "tools.dying_mirror", *kill.split())
        assert dying.wait(LIMIT_S) == -signal.SIGKILL, (kill, dying.communicate()[1])
        dying.communicate()
    write_transactions(mirror.source, topic, f"{mirror.prefix}-writer")
    stopped = mirror.start("-m", "kafkastore")
    wait_until_written(mirror, topic, 20_000, stopped)
    stopped.send_signal(signal.SIGINT)
    said = stopped.communicate(timeout=LIMIT_S)[1].decode()
    assert (stopped.returncode, said) == (130, "stopped; the same command goes on where this one ended\n")
    offsets = [0, 1, 777, 4_999, 9_998, 10_003, end_offsets(mirror.source, topic)[0][1]]
    commit(mirror.source, {f"{mirror.prefix}-g{one}": {(topic, 0): one} for one in offsets})
    mirror.run("--cut-over", "--stable-for", "0")
    mirror.assert_same(topic)
    assert_groups_go_on_with_the_same_record(mirror, topic, offsets)


def wait_until_written(mirror: Mirror, topic: str, least: int, running: subprocess.Popen[bytes]) -> None:
    def is_written() -> bool:
        assert running.poll() is None, running.stderr and running.stderr.read()
        return written(mirror.target, topic) >= least

    wait_until(is_written, LIMIT_S, "it mirrors")


def written(bootstrap: str, topic: str) -> int:
    if topic not in admin_client(bootstrap).list_topics(timeout=LIMIT_S).topics:
        return 0
    return sum(end for _, end in end_offsets(bootstrap, topic).values())


GUARD = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "log.cleaner.backoff.ms": "100",
    "log.initial.task.delay.ms": "100",
    "log.retention.hours": "100",
}


def test_mirror_of_ours_has_security_compacted_topics_and_what_changes_meanwhile(
    broker_factory: BrokerFactory, tmp_path: Path
) -> None:
    source, target = (broker_factory(GUARD, kind="kafkastore") for _ in range(2))
    mirror = Mirror(source.bootstrap, target.bootstrap, "own", tmp_path)
    policy = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "segment.ms": "200"}
    compacted = create_topic(mirror.source, "own-compacted", 1, policy)
    growing = create_topic(mirror.source, "own-growing", 1)
    write_with_gaps(mirror.source, compacted)
    give_security(mirror.source)
    create_topic(mirror.target, growing)
    commit(mirror.source, {"own-group": {(compacted, 0): 1, (growing, 0): 0}, "own-ahead": {(growing, 0): 0}})
    commit(mirror.target, {"own-ahead": {(growing, 0): 5}})
    planned = mirror.plan()
    found = {one["name"]: one for one in planned["topics"]}
    assert found[growing]["in_target"] == "empty"
    assert found[compacted]["configs"].items() >= {**policy, "retention.ms": "360000000"}.items()
    assert "the passwords of 2 SCRAM credentials cannot be read" in planned["said"]
    passwords = tmp_path / "passwords"
    passwords.write_text("alice=secret\n")
    mirror.run("--until-caught-up", "--passwords", str(passwords))
    assert said_of(mirror.target, "acls", "list") == said_of(mirror.source, "acls", "list")
    assert said_of(mirror.target, "quotas", "list") == said_of(mirror.source, "quotas", "list")
    assert [one["user"] for one in said_of(mirror.target, "users", "list")] == ["alice"]

    ours("topics", "add-partitions", growing, "-p", "1", "-b", mirror.source)
    assert len(read(mirror.source, growing)) == 2
    made = producer(mirror.source)
    made.produce(growing, b"of the new partition", partition=1)
    for at in range(3):
        made.produce(growing, b"%d" % at, partition=0)
    assert made.flush(LIMIT_S) == 0
    assert ours("records", "delete", f"{growing}:0", "--before", "2", "--execute", "-b", mirror.source).exit == 0
    assert ours("groups", "delete", "kafkastore-migrate-own", "--yes", "-b", mirror.target).exit == 0  # as if expired
    with member(mirror.target, "own-group", growing):
        events = mirror.run("--cut-over", "--stable-for", "0")
    messages = [one.get("message") for one in events]
    assert "own-growing-0: the source has deleted its records from 0 to 1" in messages
    assert "own-ahead: 1 offsets were further in the target and stay" in messages
    assert "own-group: has members in the target and was left alone" in messages
    mirror.assert_same(growing)
    latest = {content(one)[0]: content(one) for one in read(mirror.source, compacted)[0]}
    assert {content(one)[0]: content(one) for one in read(mirror.target, compacted)[0]} == latest


@contextmanager
def member(bootstrap: str, group: str, topic: str) -> Iterator[None]:
    """A consumer that has joined."""
    settings = {"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False}
    with closing(Consumer(settings)) as consumer:
        consumer.subscribe([topic])

        def has_joined() -> bool:
            consumer.poll(0.05)
            return bool(consumer.assignment())

        wait_until(has_joined, LIMIT_S, f"a member in {group}")
        yield


def write_with_gaps(bootstrap: str, topic: str) -> None:
    """Keys again and again, until the cleaner has left holes."""

    def has_holes() -> bool:
        made = producer(bootstrap)
        for at in range(40):
            made.produce(topic, b"%d" % time.time_ns(), b"key-%d" % (at % 7))
        assert made.flush(LIMIT_S) == 0
        return len(read(bootstrap, topic)[0]) < end_offsets(bootstrap, topic)[0][1]

    wait_until(has_holes, LIMIT_S, "the cleaner compacts")


def give_security(bootstrap: str) -> None:
    acl = AclBinding(
        ResourceType.TOPIC, "own-", ResourcePatternType.PREFIXED, "User:alice", "*", AclOperation.READ,
        AclPermissionType.ALLOW,
    )  # fmt: skip
    admin = admin_client(bootstrap)
    for future in admin.create_acls([acl]).values():
        future.result(LIMIT_S)
    for user in ("alice", "bob"):
        done = ours("users", "set", user, "--password", "old", "-m", "scram-sha-256", "-b", bootstrap)
        assert done.exit == 0, done.err
    done = ours("quotas", "set", "--user", "alice", "producer_byte_rate=1000000", "-b", bootstrap)
    assert done.exit == 0, done.err


def said_of(bootstrap: str, *words: str) -> Any:
    done = ours(*words, "--json", "-b", bootstrap)
    assert done.exit == 0, done.err
    return json.loads(done.out)


def test_run_refuses_what_would_mix_or_lose_records(mirror: Mirror) -> None:
    topic = create_topic(mirror.source, f"{mirror.prefix}-filled")
    create_topic(mirror.target, topic)
    for bootstrap in (mirror.source, mirror.target):
        made = producer(bootstrap)
        made.produce(topic, b"value")
        assert made.flush(LIMIT_S) == 0
    assert "has records" in mirror.plan()["said"]
    refused = ours(*mirror.words("--until-caught-up"))
    assert (refused.exit, "has records that this migration did not write" in refused.err) == (1, True)
    turned = ours("migrate", "run", str(mirror.file), "-b", mirror.source)
    assert (turned.exit, "plan is for cluster" in turned.err) == (1, True)
    mirror.plan("-r", "2")
    assert '"replication_factor": 2' in mirror.file.read_text()
    mirror.plan()
    same = ours("migrate", "plan", "--from-bootstrap-server", mirror.source, "-b", mirror.source, "-t", topic)
    assert (same.exit, "are the same cluster" in same.err) == (1, True)
    away = ours(*mirror.words("--from-bootstrap-server", "127.0.0.1:1"))
    assert (away.exit, "--from-bootstrap-server: no broker answers" in away.err) == (1, True)
    mirror.file.write_text(mirror.file.read_text().replace('"append": false', '"append": true'))
    mirror.run("--until-caught-up")
    assert [content(one)[1] for one in read(mirror.target, topic)[0]] == [b"value", b"value"]


def test_plan_of_a_user_who_may_only_read_says_what_it_was_not_told(guarded: Guarded, mirror: Mirror) -> None:
    topic = create_topic(guarded.bootstrap, f"{mirror.prefix}-seen")
    admin = admin_client(guarded.bootstrap)
    allowed = [
        AclBinding(
            ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, "User:alice", "*", one, AclPermissionType.ALLOW
        )
        for one in (AclOperation.READ, AclOperation.DESCRIBE_CONFIGS)
    ]
    for future in admin.create_acls(allowed).values():
        future.result(LIMIT_S)
    _, servers, _, config = guarded.login("alice")
    mirror.source = servers
    planned = mirror.plan("--from-command-config", config)
    assert [one["name"] for one in planned["topics"]] == [topic]
    for what in ("how many bytes its topics have", "its ACLs", "its SCRAM users", "its quotas"):
        assert what in planned["said"]
    mirror.run("--from-command-config", config, "--until-caught-up")
    mirror.source = guarded.bootstrap
    whole = ours("migrate", "plan", "--from-bootstrap-server", guarded.bootstrap, "-b", mirror.target, "-t", topic)
    assert "ACLs are left out: the target has no authorizer.class.name" in whole.err


# ---- check
def checked(*paths: Path) -> tuple[int, dict[str, Any]]:
    done = ours("migrate", "check", *map(str, paths), "--json", "--no-files")
    return done.exit, json.loads(done.out)


def test_check_of_a_broker_that_runs(apache_kafka: BrokerProcess) -> None:
    create_topic(apache_kafka.bootstrap, name := f"mg-check-{time.time_ns()}")
    status, found = checked(apache_kafka.properties_file)
    assert (status, found["reasons"], found["mode"], found["is_running"]) == (0, [], "KRaft", True)
    assert found["features"]["metadata.version"].startswith("4.")
    assert found["topics"] >= 1
    text = ours("migrate", "check", str(apache_kafka.log_dir))
    assert (text.exit, "a broker serves it as it is:\n  stop the broker" in text.out) == (0, True)
    assert ours("topics", "delete", name, "--yes", "-b", apache_kafka.bootstrap).exit == 0


def meta(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "meta.properties").write_text(text)
    return folder


V1 = "version=1\ncluster.id=A\nnode.id=1\n"


def test_check_names_what_is_not_served(tmp_path: Path) -> None:
    first = meta(tmp_path / "first", V1)
    broker = b"\x01\x00\x03" + (2).to_bytes(4, "big")
    topic = b"\x01\x02\x00" + compact("tiered") + bytes(range(16)) + b"\0"
    write(first, f"{0:020d}.log", batch(0, broker, topic, config_record(2, "tiered", "remote.storage.enable", "true")))
    status, found = checked(first)
    assert status == 1
    assert [reason.split(";")[0] for reason in found["reasons"]] == [
        "the cluster has other brokers (2), and one broker alone is taken over by its directory",
        "records of tiered are in remote storage (remote.storage.enable=true), which is not read here",
    ]
    other = meta(tmp_path / "other", "version=0\ncluster.id=B\nbroker.id=1\n")
    assert checked(first, other)[1]["reasons"][0].startswith("the directories belong to different clusters (A, B)")
    status, found = checked(other)
    assert (status, found["mode"]) == (0, "ZooKeeper")
    assert "are in ZooKeeper and not in the directory" in found["without_effect"][0]
    properties = tmp_path / "server.properties"
    properties.write_text(f"log.dirs={other}\nsecurity.providers=x\nremote.log.storage.system.enable=true\nnode.id=1\n")
    status, found = checked(properties)
    assert (status, found["log_dirs"]) == (1, [str(other)])
    assert found["reasons"][0].startswith("remote.log.storage.system.enable")


def test_directory_that_check_approves_is_served(broker_factory: BrokerFactory, tmp_path: Path) -> None:
    source = broker_factory(kind="kafka")
    assert isinstance(source, ApacheKafka)
    made = producer(source.bootstrap, compression_type="lz4")
    for at in range(10):
        made.produce(create_topic(source.bootstrap, "mg-kept") if at == 0 else "mg-kept", b"%d" % at * 50)
    assert made.flush(LIMIT_S) == 0
    source.stop()
    status, found = checked(source.log_dir)
    assert (status, found["was_stopped_cleanly"], found["is_running"]) == (0, True, False)
    assert found["compression"]["lz4"] >= 1
    target = broker_factory(log_dirs=[source.log_dir], kind="kafkastore")
    assert [one.value() for one in read(target.bootstrap, "mg-kept")[0]] == [b"%d" % at * 50 for at in range(10)]
    assert "it has been taken over already" in checked(source.log_dir)[1]["steps"][1]
    assert os.path.exists(tmp_path)
