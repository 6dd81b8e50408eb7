"""The requests that both brokers are sent, in this order, on a fresh broker each.

A case is (name, API, versions, request as plain dicts). ``TopicId("t")`` stands for the id that the asked broker
gave topic ``t``; ``BROKER`` for its node id; ``LogDir(1)`` for its second log directory. Cases without a name are
set-up: sent, not compared.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from parity.batch import record_batch

Given = dict[str, Any]


@dataclass(frozen=True)
class TopicId:
    topic: str


@dataclass(frozen=True)
class LogDir:
    """By its place among the broker's, in the order of their paths."""

    place: int
    suffix: str = ""


class _Broker:
    pass


BROKER = _Broker()
BROKER_NAME = _Broker()  # its node id as text, for config resources
UNKNOWN_ID = uuid.UUID("00000000-0000-4000-8000-00000000beef")
TOPIC, BROKER_TYPE, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32


@dataclass(frozen=True)
class Case:
    name: str
    api: str
    versions: tuple[int, ...]
    given: Given
    is_settled: bool = False
    """Asked again while a replica in the answer moves, or a coordinator is busy."""
    awaited: str = ""
    """Asked again until the answer, as JSON, has this text."""

    @property
    def is_setup(self) -> bool:
        return not self.name


CASES: list[Case] = []


def case(name: str, api: str, versions: int | tuple[int, ...], **given: Any) -> None:
    CASES.append(Case(name, api, (versions,) if isinstance(versions, int) else versions, given))


def topic(name: str, partitions: int = 1, factor: int = 1, **more: Any) -> Given:
    configs = [{"name": k, "value": v} for k, v in more.pop("configs", {}).items()]
    return {"name": name, "num_partitions": partitions, "replication_factor": factor, "configs": configs, **more}


def assigned(name: str, replicas: dict[int, list[Any]] | list[tuple[int, list[Any]]], **more: Any) -> Given:
    pairs = replicas.items() if isinstance(replicas, dict) else replicas
    assignments = [{"partition_index": p, "broker_ids": b} for p, b in pairs]
    return topic(name, more.pop("partitions", -1), more.pop("factor", -1), assignments=assignments, **more)


def create(name: str, *topics: Given, versions: int | tuple[int, ...] = 7, **more: Any) -> None:
    case(name, "create_topics", versions, topics=list(topics), **more)


# ---- CreateTopics -------------------------------------------------------------------------------------------------
create("create: one topic with two partitions", topic("p-a", 2))
create("create: existing topic", topic("p-a", 2), versions=(2, 3, 4, 5, 6, 7))
create("create: existing topic, validate only", topic("p-a", 2), validate_only=True)
create("create: no topics")
create("create: defaults for partitions and factor", topic("p-defaults", -1, -1))
create("create: validate only leaves nothing", topic("p-dry", 3), validate_only=True)
create("create: validate only, again (so it was not created)", topic("p-dry", 3), validate_only=True)
create("create: empty name", topic(""))
create("create: '.'", topic("."))
create("create: '..'", topic(".."))
create("create: slash in the name", topic("a/b"))
create("create: space in the name", topic("a b"))
create("create: not ASCII", topic("café"))
create("create: 249 characters", topic("n" * 249))
create("create: 250 characters", topic("n" * 250))
create("create: with a dot", topic("p.dot_a"))
create("create: collides by dot and underscore", topic("p_dot.a"))
create("create: collision and bad name at once", topic("p.dot/a"))
create(
    "create: two new ones collide with each other, validate only", topic("p.new"), topic("p_new"), validate_only=True
)
create("create: same name twice", topic("p-twice"), topic("p-twice"))
create("create: same name three times, another once", topic("p-3"), topic("p-3"), topic("p-3"), topic("p-once"))
create("create: zero partitions", topic("p-0", 0))
create("create: minus two partitions", topic("p-0", -2))
create("create: factor zero", topic("p-0", 1, 0))
create("create: factor minus two", topic("p-0", 1, -2))
create("create: factor two of one broker", topic("p-rf2", 1, 2))
create("create: factor two of one broker, validate only", topic("p-rf2", 1, 2), validate_only=True)
create("create: zero partitions and factor zero", topic("p-0", 0, 0))
create("create: a bad one does not stop a good one", topic("p-0", 0), topic("p-good"))
create("create: manual assignment", assigned("p-man", {0: [BROKER], 1: [BROKER]}))
create("create: manual assignment and partitions", assigned("p-man2", {0: [BROKER]}, partitions=1))
create("create: manual assignment and factor", assigned("p-man2", {0: [BROKER]}, factor=1))
create("create: manual assignment and both", assigned("p-man2", {0: [BROKER]}, partitions=1, factor=1))
create("create: manual assignment, unknown broker", assigned("p-man2", {0: [4711]}))
create("create: manual assignment, no replicas", assigned("p-man2", {0: []}))
create("create: manual assignment, broker twice", assigned("p-man2", {0: [BROKER, BROKER]}))
create("create: manual assignment, partition twice", assigned("p-man2", [(0, [BROKER]), (0, [BROKER])]))
create("create: manual assignment, gap", assigned("p-man2", {0: [BROKER], 2: [BROKER]}))
create("create: manual assignment, does not begin at zero", assigned("p-man2", {1: [BROKER]}))
create("create: manual assignment, negative partition", assigned("p-man2", {-1: [BROKER]}))
create("create: with configs", topic("p-conf", configs={"retention.ms": "1000", "cleanup.policy": "compact"}))
create("create: unknown config", topic("p-conf2", configs={"no.such.config": "1"}))
create("create: config value of the wrong type", topic("p-conf2", configs={"retention.ms": "soon"}))
create("create: config value out of range", topic("p-conf2", configs={"segment.bytes": "1"}))
create("create: config value not in the list", topic("p-conf2", configs={"cleanup.policy": "burn"}))
create("create: compression type unknown", topic("p-conf2", configs={"compression.type": "rar"}))
create("create: boolean config wrong", topic("p-conf2", configs={"preallocate": "maybe"}))
create("create: min.insync.replicas zero", topic("p-conf2", configs={"min.insync.replicas": "0"}))
create("create: ratio above one", topic("p-conf2", configs={"min.cleanable.dirty.ratio": "1.5"}))
create("create: null config value", topic("p-conf2", configs={"retention.ms": None}))
create("create: two null config values", topic("p-conf2", configs={"retention.ms": None, "segment.ms": None}))
create("create: config of a broker", topic("p-conf2", configs={"log.retention.ms": "1"}))
create(
    "create: min compaction lag above max",
    topic("p-conf2", configs={"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"}),
)
create("create: remote storage asked, not there", topic("p-conf2", configs={"remote.storage.enable": "true"}))
create("create: more partitions than one request may have", topic("p-many", 10_001), validate_only=True)
create("create: no time", topic("p-hurry"), timeout_ms=0)
create("create: negative time", topic("p-hurry-2"), timeout_ms=-1)
create("create: __cluster_metadata", topic("__cluster_metadata"))
create("create: __consumer_offsets by hand", topic("__consumer_offsets", 1, configs={"cleanup.policy": "compact"}))
for version in range(2, 7):
    create(f"create: version {version}", topic(f"p-version-{version}", 2), versions=version)

# ---- CreatePartitions ---------------------------------------------------------------------------------------------


def grow(name: str, *topics: Given, versions: int | tuple[int, ...] = 3, **more: Any) -> None:
    case(name, "create_partitions", versions, topics=list(topics), **more)


def count(name: str, partitions: int, assignments: list[list[Any]] | None = None) -> Given:
    given = None if assignments is None else [{"broker_ids": ids} for ids in assignments]
    return {"name": name, "count": partitions, "assignments": given}


grow("grow: nothing asked")
grow("grow: unknown topic", count("p-nope", 5), versions=(0, 1, 2, 3))
grow("grow: same number", count("p-a", 2), versions=(0, 3))
grow("grow: fewer", count("p-a", 1))
grow("grow: zero", count("p-a", 0))
grow("grow: negative", count("p-a", -1))
grow("grow: validate only", count("p-a", 4), validate_only=True)
grow("grow: to three", count("p-a", 3))
grow("grow: to three again", count("p-a", 3))
grow("grow: same topic twice", count("p-a", 4), count("p-a", 5))
grow("grow: with an assignment", count("p-a", 4, [[BROKER]]))
grow("grow: assignment of the wrong length", count("p-a", 6, [[BROKER]]))
grow("grow: empty assignments", count("p-a", 6, []))
grow("grow: assignment with no replicas", count("p-a", 5, [[]]))
grow("grow: assignment with an unknown broker", count("p-a", 5, [[4711]]))
grow("grow: assignment with another factor", count("p-a", 5, [[BROKER, 4711]]))
grow("grow: assignment with a broker twice", count("p-a", 5, [[BROKER, BROKER]]))
grow("grow: bad name", count("a/b", 5))
grow("grow: empty name", count("", 5))
grow("grow: more partitions than one request may have", count("p-good", 10_002), validate_only=True)
grow("grow: one good, one bad", count("p-good", 2), count("p-nope", 2))

# ---- DescribeConfigs ----------------------------------------------------------------------------------------------


def describe(
    name: str, kind: int, resource: Any, keys: list[str] | None = None, versions: int | tuple[int, ...] = 4, **more: Any
) -> None:
    resources = [{"resource_type": kind, "resource_name": resource, "configuration_keys": keys}]
    case(name, "describe_configs", versions, resources=resources, **more)


describe("describe: every config of a topic", TOPIC, "p-a", versions=(1, 2, 3, 4))
describe("describe: every config of a topic with synonyms", TOPIC, "p-conf", include_synonyms=True)
describe("describe: two configs of a topic", TOPIC, "p-conf", ["retention.ms", "cleanup.policy"], include_synonyms=True)
describe("describe: unknown config asked of a topic", TOPIC, "p-conf", ["no.such.config"])
describe("describe: no keys (empty list)", TOPIC, "p-conf", [])
describe("describe: unknown topic", TOPIC, "p-nope")
describe("describe: bad topic name", TOPIC, "a/b")
describe("describe: empty topic name", TOPIC, "")
describe(
    "describe: some configs of the broker",
    BROKER_TYPE,
    BROKER_NAME,
    [
        "log.retention.ms",
        "log.retention.hours",
        "num.partitions",
        "background.threads",
        "compression.type",
        "node.id",
        "min.insync.replicas",
        "log.cleaner.threads",
        "ssl.keystore.password",
        "message.max.bytes",
        "auto.create.topics.enable",
    ],
    include_synonyms=True,
)
describe(
    "describe: types of broker configs",
    BROKER_TYPE,
    BROKER_NAME,
    [
        "num.io.threads",
        "log.flush.interval.messages",
        "log.cleaner.min.cleanable.ratio",
        "log.cleanup.policy",
        "authorizer.class.name",
        "ssl.key.password",
        "delete.topic.enable",
        "sasl.server.max.receive.size",
    ],
)
describe("describe: every config of the broker", BROKER_TYPE, BROKER_NAME)
describe("describe: documentation", TOPIC, "p-conf", ["retention.ms", "cleanup.policy"], include_documentation=True)
describe(
    "describe: documentation of broker configs",
    BROKER_TYPE,
    BROKER_NAME,
    ["log.retention.ms"],
    include_documentation=True,
)
describe("describe: cluster-wide default broker", BROKER_TYPE, "")
describe("describe: another broker", BROKER_TYPE, "4711")
describe("describe: broker name not a number", BROKER_TYPE, "one")
describe("describe: logger of no broker", LOGGER, "")
describe("describe: logger of another broker", LOGGER, "4711")
describe("describe: unknown resource type", 3, "p-a")
describe("describe: resource type zero", 0, "p-a")
describe("describe: client metrics without a name", METRICS, "")
describe("describe: client metrics never set", METRICS, "m1")
describe("describe: group without a name", GROUP, "")
case(
    "describe: two resources, one bad",
    "describe_configs",
    4,
    resources=[
        {"resource_type": TOPIC, "resource_name": "p-conf", "configuration_keys": ["retention.ms"]},
        {"resource_type": TOPIC, "resource_name": "p-nope", "configuration_keys": None},
    ],
)
case("describe: nothing asked", "describe_configs", 4, resources=[])

# ---- IncrementalAlterConfigs --------------------------------------------------------------------------------------
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3


def alter(
    name: str,
    kind: int,
    resource: Any,
    *ops: tuple[str, int, str | None],
    versions: int | tuple[int, ...] = 1,
    **more: Any,
) -> None:
    configs = [{"name": n, "config_operation": o, "value": v} for n, o, v in ops]
    case(
        name,
        "incremental_alter_configs",
        versions,
        resources=[{"resource_type": kind, "resource_name": resource, "configs": configs}],
        **more,
    )


def shows(name: str, kind: int, resource: Any, *keys: str) -> None:
    describe(name, kind, resource, list(keys), include_synonyms=True)


alter("alter: set", TOPIC, "p-a", ("retention.ms", SET, "60000"), versions=(0, 1))
shows("alter: set is seen", TOPIC, "p-a", "retention.ms")
alter("alter: validate only", TOPIC, "p-a", ("retention.ms", SET, "70000"), validate_only=True)
shows("alter: validate only is not seen", TOPIC, "p-a", "retention.ms")
alter("alter: append", TOPIC, "p-a", ("cleanup.policy", APPEND, "compact"))
shows("alter: append is seen", TOPIC, "p-a", "cleanup.policy")
alter("alter: append what is there", TOPIC, "p-a", ("cleanup.policy", APPEND, "compact"))
shows("alter: append what is there changes nothing", TOPIC, "p-a", "cleanup.policy")
alter("alter: subtract", TOPIC, "p-a", ("cleanup.policy", SUBTRACT, "delete"))
shows("alter: subtract is seen", TOPIC, "p-a", "cleanup.policy")
alter("alter: subtract what is not there", TOPIC, "p-a", ("cleanup.policy", SUBTRACT, "delete"))
alter("alter: subtract the last", TOPIC, "p-a", ("cleanup.policy", SUBTRACT, "compact"))
alter("alter: append to a config that is no list", TOPIC, "p-a", ("retention.ms", APPEND, "1"))
alter("alter: subtract from a config that is no list", TOPIC, "p-a", ("retention.ms", SUBTRACT, "1"))
alter("alter: append to an unknown config", TOPIC, "p-a", ("no.such.config", APPEND, "1"))
alter("alter: delete", TOPIC, "p-a", ("retention.ms", DELETE, None), ("cleanup.policy", DELETE, ""))
shows("alter: delete is seen", TOPIC, "p-a", "retention.ms", "cleanup.policy")
alter("alter: delete what is not set", TOPIC, "p-a", ("retention.ms", DELETE, None))
alter("alter: delete unknown config", TOPIC, "p-a", ("no.such.config", DELETE, None))
alter("alter: set unknown config", TOPIC, "p-a", ("no.such.config", SET, "1"))
alter("alter: set to null", TOPIC, "p-a", ("retention.ms", SET, None))
alter("alter: set two to null", TOPIC, "p-a", ("retention.ms", SET, None), ("segment.ms", SET, None))
alter("alter: invalid value", TOPIC, "p-a", ("retention.ms", SET, "soon"))
alter("alter: value out of range", TOPIC, "p-a", ("min.insync.replicas", SET, "0"))
alter("alter: same key twice", TOPIC, "p-a", ("retention.ms", SET, "1"), ("retention.ms", SET, "2"))
alter("alter: unknown operation", TOPIC, "p-a", ("retention.ms", 9, "1"))
alter("alter: no configs", TOPIC, "p-a")
alter("alter: unknown topic", TOPIC, "p-nope", ("retention.ms", SET, "1"))
alter("alter: unknown topic and bad value", TOPIC, "p-nope", ("retention.ms", SET, "soon"))
alter("alter: empty topic name", TOPIC, "", ("retention.ms", SET, "1"))
alter("alter: bad topic name", TOPIC, "a/b", ("retention.ms", SET, "1"))
alter("alter: unknown resource type", 3, "p-a", ("retention.ms", SET, "1"))
case(
    "alter: same resource twice",
    "incremental_alter_configs",
    1,
    resources=[
        {
            "resource_type": TOPIC,
            "resource_name": "p-a",
            "configs": [{"name": "retention.ms", "config_operation": 0, "value": "1"}],
        },
        {
            "resource_type": TOPIC,
            "resource_name": "p-a",
            "configs": [{"name": "segment.ms", "config_operation": 0, "value": "1000"}],
        },
        {
            "resource_type": TOPIC,
            "resource_name": "p-conf",
            "configs": [{"name": "segment.ms", "config_operation": 0, "value": "1000"}],
        },
    ],
)
alter("alter: broker, cluster-wide", BROKER_TYPE, "", ("log.retention.ms", SET, "86400000"))
case("", "metadata", 12, topics=[])
shows("alter: cluster-wide is seen at the default broker", BROKER_TYPE, "", "log.retention.ms")
shows("alter: cluster-wide is seen at the broker", BROKER_TYPE, BROKER_NAME, "log.retention.ms", "log.retention.hours")
shows("alter: cluster-wide is seen at a topic", TOPIC, "p-a", "retention.ms")
alter("alter: broker, this one", BROKER_TYPE, BROKER_NAME, ("log.retention.ms", SET, "3600000"))
shows("alter: this broker's is seen", BROKER_TYPE, BROKER_NAME, "log.retention.ms")
shows("alter: this broker's is seen at a topic", TOPIC, "p-a", "retention.ms")
alter("alter: broker, delete at this one", BROKER_TYPE, BROKER_NAME, ("log.retention.ms", DELETE, None))
alter("alter: broker, delete cluster-wide", BROKER_TYPE, "", ("log.retention.ms", DELETE, None))
shows("alter: broker's default is back", BROKER_TYPE, BROKER_NAME, "log.retention.ms", "log.retention.hours")
alter("alter: broker, key of no config", BROKER_TYPE, "", ("num.partitions.x", SET, "1"))
alter("alter: broker, read-only config (node.id)", BROKER_TYPE, BROKER_NAME, ("node.id", SET, "7"))
alter("alter: broker, read-only config cluster-wide", BROKER_TYPE, "", ("auto.create.topics.enable", SET, "false"))
alter("alter: broker, wrong type", BROKER_TYPE, "", ("log.retention.ms", SET, "soon"))
alter("alter: broker, out of range", BROKER_TYPE, "", ("num.io.threads", SET, "0"))
alter("alter: broker, more than double the threads", BROKER_TYPE, "", ("num.io.threads", SET, "1000"))
alter("alter: broker, less than half the threads", BROKER_TYPE, "", ("num.io.threads", SET, "1"))
alter(
    "alter: broker, per-broker config cluster-wide",
    BROKER_TYPE,
    "",
    ("advertised.listeners", SET, "PLAINTEXT://127.0.0.1:1"),
)
alter("alter: broker, append", BROKER_TYPE, "", ("log.cleanup.policy", APPEND, "compact"))
shows("alter: broker, append is seen", BROKER_TYPE, "", "log.cleanup.policy")
alter("alter: broker, subtract", BROKER_TYPE, "", ("log.cleanup.policy", SUBTRACT, "compact"))
alter("alter: broker, append to no list", BROKER_TYPE, "", ("log.retention.ms", APPEND, "1"))
alter("alter: broker, delete list", BROKER_TYPE, "", ("log.cleanup.policy", DELETE, None))
alter("alter: another broker", BROKER_TYPE, "4711", ("log.retention.ms", SET, "1"))
alter("alter: broker name not a number", BROKER_TYPE, "one", ("log.retention.ms", SET, "1"))
alter("alter: broker, unknown operation", BROKER_TYPE, "", ("log.retention.ms", 9, "1"))
alter("alter: broker, validate only", BROKER_TYPE, "", ("log.retention.ms", SET, "5"), validate_only=True)
alter("alter: broker, unknown config is taken", BROKER_TYPE, "", ("my.plugin.key", SET, "x"))
alter("alter: broker, unknown config is deleted", BROKER_TYPE, "", ("my.plugin.key", DELETE, None))
alter("alter: group without a name", GROUP, "", ("consumer.session.timeout.ms", SET, "1"))
case("alter: nothing asked", "incremental_alter_configs", 1, resources=[])

# ---- AlterConfigs (replaces all) ----------------------------------------------------------------------------------


def replace(
    name: str,
    kind: int,
    resource: Any,
    configs: list[tuple[str, str | None]],
    versions: int | tuple[int, ...] = 2,
    **more: Any,
) -> None:
    pairs = [{"name": n, "value": v} for n, v in configs]
    case(
        name,
        "alter_configs",
        versions,
        resources=[{"resource_type": kind, "resource_name": resource, "configs": pairs}],
        **more,
    )


replace("replace: two", TOPIC, "p-a", [("retention.ms", "60000"), ("segment.ms", "60000")], versions=(0, 1, 2))
replace("replace: what is not named goes", TOPIC, "p-a", [("retention.ms", "70000")])
shows("replace: is seen", TOPIC, "p-a", "retention.ms", "segment.ms")
replace("replace: validate only", TOPIC, "p-a", [("retention.ms", "80000")], validate_only=True)
shows("replace: validate only is not seen", TOPIC, "p-a", "retention.ms")
replace("replace: with nothing", TOPIC, "p-a", [])
shows("replace: with nothing is seen", TOPIC, "p-a", "retention.ms")
replace("replace: unknown config", TOPIC, "p-a", [("no.such.config", "1")])
replace("replace: invalid value", TOPIC, "p-a", [("retention.ms", "soon")])
replace("replace: null", TOPIC, "p-a", [("retention.ms", None)])
replace("replace: same key twice", TOPIC, "p-a", [("retention.ms", "1"), ("retention.ms", "2")])
replace("replace: unknown topic", TOPIC, "p-nope", [("retention.ms", "1")])
replace("replace: bad topic name", TOPIC, "a/b", [("retention.ms", "1")])
replace("replace: empty topic name", TOPIC, "", [("retention.ms", "1")])
replace("replace: unknown resource type", 3, "p-a", [("retention.ms", "1")])
replace("replace: logger", LOGGER, BROKER_NAME, [("root", "INFO")])
replace("replace: another broker", BROKER_TYPE, "4711", [("log.retention.ms", "1")])
replace("replace: read-only broker config", BROKER_TYPE, "", [("auto.create.topics.enable", "false")])
case(
    "replace: same resource twice",
    "alter_configs",
    2,
    resources=[
        {"resource_type": TOPIC, "resource_name": "p-a", "configs": [{"name": "retention.ms", "value": "1"}]},
        {"resource_type": TOPIC, "resource_name": "p-a", "configs": [{"name": "retention.ms", "value": "2"}]},
    ],
)

# ---- ListConfigResources ------------------------------------------------------------------------------------------
case("resources: version 0 lists client metrics", "list_config_resources", 0)
case("resources: topics", "list_config_resources", 1, resource_types=[TOPIC])
case("resources: brokers", "list_config_resources", 1, resource_types=[BROKER_TYPE])
case("resources: loggers", "list_config_resources", 1, resource_types=[LOGGER])
case("resources: client metrics and groups", "list_config_resources", 1, resource_types=[METRICS, GROUP])
case("resources: all (no types)", "list_config_resources", 1, resource_types=[])
case("resources: unknown type", "list_config_resources", 1, resource_types=[3])
case("resources: one known, one unknown type", "list_config_resources", 1, resource_types=[TOPIC, 7])

# ---- DescribeTopicPartitions --------------------------------------------------------------------------------------


def pages(name: str, topics: list[str], limit: int = 2000, cursor: tuple[str, int] | None = None) -> None:
    at = None if cursor is None else {"topic_name": cursor[0], "partition_index": cursor[1]}
    case(
        name,
        "describe_topic_partitions",
        0,
        topics=[{"name": t} for t in topics],
        response_partition_limit=limit,
        cursor=at,
    )


pages("pages: one topic", ["p-a"])
pages("pages: all topics", [])
pages("pages: unknown topic", ["p-nope"])
pages("pages: bad name", ["a/b"])
pages("pages: topics come sorted, repeated ones once", ["p-man", "p-a", "p-man"])
pages("pages: limit of two", ["p-a", "p-man"], 2)
pages("pages: limit of three", ["p-a", "p-man"], 3)
pages("pages: limit of four ends at the topic's end", ["p-a", "p-man"], 4)
pages("pages: limit of zero", ["p-a"], 0)
pages("pages: limit below zero", ["p-a"], -5)
pages("pages: from a cursor", ["p-a", "p-man"], 2000, ("p-a", 2))
pages("pages: from a cursor past the end", ["p-a", "p-man"], 2000, ("p-a", 99))
pages("pages: cursor not in the list", ["p-a"], 2000, ("p-man", 0))
pages("pages: cursor with a negative partition", ["p-a"], 2000, ("p-a", -1))
pages("pages: all topics from a cursor", [], 3, ("p-good", 1))
pages("pages: all topics from a cursor of no topic", [], 3, ("p-goo", 1))

# ---- DescribeCluster ----------------------------------------------------------------------------------------------
case("cluster: plain", "describe_cluster", (0, 1, 2))
case("cluster: authorized operations", "describe_cluster", 2, include_cluster_authorized_operations=True)
case("cluster: controllers asked of a broker", "describe_cluster", (1, 2), endpoint_type=2)
case("cluster: unknown endpoint type", "describe_cluster", 2, endpoint_type=9)
case("cluster: with fenced brokers", "describe_cluster", 2, include_fenced_brokers=True)

# ---- records: DeleteRecords, OffsetForLeaderEpoch, DescribeProducers, DescribeLogDirs -------------------------------
create("", topic("p-log", 2))


def produce(records: bytes) -> None:
    case(
        "",
        "produce",
        9,
        acks=-1,
        timeout_ms=30000,
        transactional_id=None,
        topic_data=[{"name": "p-log", "partition_data": [{"index": 0, "records": records}]}],
    )


for _ in range(2):
    produce(record_batch(5))


def epochs(
    name: str, *asked: tuple[str, int, int, int], versions: int | tuple[int, ...] = 4, replica: int = -1
) -> None:
    topics = [
        {"topic": t, "partitions": [{"partition": p, "current_leader_epoch": c, "leader_epoch": e}]}
        for t, p, c, e in asked
    ]
    case(name, "offset_for_leader_epoch", versions, topics=topics, replica_id=replica)


epochs("epochs: the current one", ("p-log", 0, 0, 0), versions=(2, 3, 4))
epochs("epochs: the current one, epoch of the asker not given", ("p-log", 0, -1, 0))
epochs("epochs: of an empty partition", ("p-log", 1, -1, 0))
epochs("epochs: newer than any", ("p-log", 0, -1, 5))
epochs("epochs: undefined epoch", ("p-log", 0, -1, -1))
epochs("epochs: asker is ahead", ("p-log", 0, 9, 0))
epochs("epochs: unknown partition", ("p-log", 9, -1, 0))
epochs("epochs: unknown topic", ("p-nope", 0, -1, 0))
epochs("epochs: negative partition", ("p-log", -1, -1, 0))
epochs("epochs: good and bad", ("p-log", 0, -1, 0), ("p-nope", 0, -1, 0))
case("epochs: nothing asked", "offset_for_leader_epoch", 4, topics=[], replica_id=-1)


def drop(name: str, *asked: tuple[str, int, int], versions: int | tuple[int, ...] = 2) -> None:
    topics = [{"name": t, "partitions": [{"partition_index": p, "offset": o}]} for t, p, o in asked]
    case(name, "delete_records", versions, topics=topics, timeout_ms=5000)


drop("drop: below three", ("p-log", 0, 3), versions=(0, 1, 2))
drop("drop: again", ("p-log", 0, 3))
drop("drop: below where it starts", ("p-log", 0, 1))
drop("drop: past the end", ("p-log", 0, 11))
drop("drop: minus two", ("p-log", 0, -2))
drop("drop: unknown partition", ("p-log", 9, 1))
drop("drop: unknown topic", ("p-nope", 0, 1))
drop("drop: of an empty partition", ("p-log", 1, 0))
drop("drop: of an empty partition, past its end", ("p-log", 1, 1))
drop("drop: good and bad", ("p-log", 0, 4), ("p-nope", 0, 1))
drop("drop: to the high watermark", ("p-log", 0, -1))
drop("drop: to the high watermark again", ("p-log", 0, -1))
drop("drop: of an internal topic", ("__consumer_offsets", 0, 0))
case("drop: nothing asked", "delete_records", 2, topics=[], timeout_ms=5000)
epochs("epochs: after records were dropped", ("p-log", 0, -1, 0))


def producers(name: str, *asked: tuple[str, list[int]]) -> None:
    case(name, "describe_producers", 0, topics=[{"name": t, "partition_indexes": p} for t, p in asked])


produce(record_batch(2, producer_id=4000, producer_epoch=3, base_sequence=0))
producers("producers: of a partition", ("p-log", [0]))
producers("producers: of an empty partition", ("p-log", [1]))
producers("producers: unknown partition", ("p-log", [9]))
producers("producers: unknown topic", ("p-nope", [0]))
producers("producers: bad name", ("a/b", [0]))
producers("producers: empty name", ("", [0]))
producers("producers: several", ("p-log", [0, 9]), ("p-nope", [0]))
producers("producers: nothing asked")

case("dirs: one topic", "describe_log_dirs", (1, 2, 3, 4, 5), topics=[{"topic": "p-a", "partitions": [0, 1]}])
case("dirs: unknown topic", "describe_log_dirs", 4, topics=[{"topic": "p-nope", "partitions": [0]}])
case("dirs: unknown partition", "describe_log_dirs", 4, topics=[{"topic": "p-a", "partitions": [99]}])
case("dirs: no topics", "describe_log_dirs", 4, topics=[])

# ---- InitProducerId -----------------------------------------------------------------------------------------------


def identify(name: str, versions: int | tuple[int, ...] = 5, **given: Any) -> None:
    case(name, "init_producer_id", versions, **{"transaction_timeout_ms": 60000, **given})


identify("", transactional_id=None)  # Apache Kafka answers the first before it has a block of ids
identify("producer id: a new one", (0, 1, 2, 3, 4, 5, 6), transactional_id=None)
identify("producer id: with an id and an epoch", transactional_id=None, producer_id=1, producer_epoch=5)
identify("producer id: with an id and the last epoch", transactional_id=None, producer_id=1, producer_epoch=32767)
identify("producer id: id without an epoch", (3, 5), transactional_id=None, producer_id=1)
identify("producer id: epoch without an id", transactional_id=None, producer_epoch=1)
identify("producer id: negative id", transactional_id=None, producer_id=-5, producer_epoch=1)
identify("producer id: negative timeout without a transaction", transactional_id=None, transaction_timeout_ms=-1)
identify("producer id: empty transactional id", (0, 5), transactional_id="")
identify("producer id: transaction time-out too long", transactional_id="t1", transaction_timeout_ms=10**9)
identify("producer id: transaction time-out zero", transactional_id="t1", transaction_timeout_ms=0)
identify("producer id: transactional, id without an epoch", transactional_id="t1", producer_id=1)

# ---- DeleteTopics -------------------------------------------------------------------------------------------------


def delete(name: str, *topics: Any, versions: int | tuple[int, ...] = 6) -> None:
    states = [t if isinstance(t, dict) else {"name": t} for t in topics]
    names = [t["name"] for t in states if t.get("name") is not None]
    case(name, "delete_topics", versions, topics=states, topic_names=names, timeout_ms=30000)


delete("delete: unknown name", "p-nope", versions=(1, 2, 3, 4, 5, 6))
delete("delete: unknown id", {"name": None, "topic_id": UNKNOWN_ID})
delete("delete: neither name nor id", {"name": None, "topic_id": None})
delete("delete: both name and id", {"name": "p-a", "topic_id": TopicId("p-a")})
delete("delete: same name twice", "p-a", "p-a", versions=(5, 6))
delete("delete: same id twice", {"name": None, "topic_id": TopicId("p-a")}, {"name": None, "topic_id": TopicId("p-a")})
delete("delete: name and its id", "p-a", {"name": None, "topic_id": TopicId("p-a")})
delete("delete: bad name", "a/b")
delete("delete: empty name", "")
delete("delete: nothing asked")
delete("delete: by name", "p-a")
delete("delete: by name again", "p-a")
delete("delete: by id", {"name": None, "topic_id": TopicId("p-man")})
delete("delete: one good, one bad", "p-good", "p-nope")
delete("delete: version 1", "p-version-2", versions=1)
delete("delete: version 5", "p-version-3", versions=5)
delete("delete: an internal topic", "__consumer_offsets")
describe("delete: configs go with the topic", TOPIC, "p-conf-gone")
create("delete: the name is free again", topic("p-a", 1))
shows("delete: the new one has no old configs", TOPIC, "p-a", "retention.ms", "cleanup.policy")
drop("delete: records of a deleted topic", ("p-man", 0, 0))
epochs("delete: epochs of a deleted topic", ("p-man", 0, -1, 0))
drop("delete: records of a compacted topic", ("p-conf", 0, 0))
create("create: two new ones collide with each other", topic("p.new"), topic("p_new"))

# ---- AlterPartitionReassignments, ListPartitionReassignments --------------------------------------------------------


def move(
    name: str, *topics: tuple[str, dict[int, list[Any] | None]], versions: int | tuple[int, ...] = 1, **more: Any
) -> None:
    asked = [
        {"name": t, "partitions": [{"partition_index": p, "replicas": r} for p, r in partitions.items()]}
        for t, partitions in topics
    ]
    case(name, "alter_partition_reassignments", versions, topics=asked, **more)


def moving(name: str, *topics: tuple[str, list[int]], is_all: bool = False) -> None:
    asked = None if is_all else [{"name": t, "partition_indexes": numbers} for t, numbers in topics]
    case(name, "list_partition_reassignments", 0, topics=asked)


move("move: nothing asked")
move("move: unknown topic", ("p-nope", {0: [BROKER]}), versions=(0, 1))
move("move: unknown partition", ("p-a", {7: [BROKER]}))
move("move: negative partition", ("p-a", {-1: [BROKER]}))
move("move: to where it is", ("p-a", {0: [BROKER]}), versions=(0, 1))
move("move: unknown broker", ("p-a", {0: [4711]}), versions=(0, 1))
move("move: unknown broker among others", ("p-a", {0: [BROKER, 4711]}))
move("move: two unknown brokers", ("p-a", {0: [4712, 4711]}))
move("move: no replicas", ("p-a", {0: []}))
move("move: broker twice", ("p-a", {0: [BROKER, BROKER]}))
move(
    "move: broker twice, other factor not allowed",
    ("p-a", {0: [BROKER, BROKER]}),
    allow_replication_factor_change=False,
)
move("move: same factor", ("p-a", {0: [BROKER]}), allow_replication_factor_change=False)
move("move: cancel nothing", ("p-a", {0: None}), versions=(0, 1))
move("move: cancel in an unknown topic", ("p-nope", {0: None}))
move("move: a bad one does not stop a good one", ("p-a", {0: [BROKER], 1: [BROKER]}), ("p-nope", {0: None}))
moving("moving: everything", is_all=True)
moving("moving: nothing asked")
moving("moving: a topic that does not move", ("p-a", [0]))
moving("moving: unknown topic and partition", ("p-nope", [0]), ("p-a", [7]))

# ---- ElectLeaders ---------------------------------------------------------------------------------------------------


def elect(name: str, *topics: tuple[str, list[int]], kind: int | None = 0) -> None:
    """Of no kind in version 0, which knows preferred leaders alone."""
    asked = [{"topic": t, "partitions": numbers} for t, numbers in topics]
    given = {} if kind is None else {"election_type": kind}
    case(name, "elect_leaders", 0 if kind is None else (1, 2), topic_partitions=asked, timeout_ms=10_000, **given)


elect("elect: led by the preferred one", ("p-a", [0]), kind=None)
elect("elect: led by the preferred one", ("p-a", [0]))
elect("elect: uncleanly, with a leader", ("p-a", [0]), kind=1)
elect("elect: nothing asked")
elect("elect: unknown topic", ("p-nope", [0, 1]))
elect("elect: unknown partition among others", ("p-a", [0, 7, -1]))
elect("elect: unknown kind", ("p-a", [0]), kind=5)
elect("elect: partition twice", ("p-a", [0, 0]))
elect("elect: topic twice", ("p-a", [0]), ("p-a", [0, 7]))
