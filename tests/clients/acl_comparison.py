"""Generated ACLs in Apache Kafka and in kafkastore, and what both let the same clients do.

Each round loads the same random ACLs into both brokers and asks both, over the wire, as three users from two addresses:
which operations on each topic, each group and the cluster are authorised, which topics and groups may be described,
which transactional ids may be used, whether an idempotent producer gets an id; and which ACLs random filters match. A
decision on one operation is a case.
"""

from __future__ import annotations

import random
from typing import Any

from clients.acl_world import (
    ALL,
    ALLOW,
    ALTER_CONFIGS,
    ANY,
    CLUSTER,
    CLUSTER_NAME,
    DENY,
    EVERYTHING,
    GROUP,
    IDEMPOTENT_WRITE,
    LITERAL,
    MATCH,
    METADATA,
    PREFIXED,
    READ,
    TOPIC,
    TRANSACTIONAL_ID,
    Acl,
    AclWorld,
)
from parity.raw_client import RawClient

NAMES = ("a", "aa", "aab", "aabc", "ab", "b", "ba", "bab", "hardcode", "a.b", "a-b", "z")
MISSING = ("aax", "y")
PATTERNS = ("*", "a", "aa", "aab", "b", "ba", "h", "z", "a.", "hardcode")
USERS = ("CN=alice", "CN=bob,O=Example", "CN=carol")
SOURCES = ("127.0.0.1", "127.0.0.2")
TYPES = (TOPIC, TOPIC, TOPIC, GROUP, GROUP, CLUSTER, TRANSACTIONAL_ID)
COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE = 14, 15
FIELD_BITS = {TOPIC: 8, GROUP: 5, CLUSTER: 7}


def random_acl(numbers: random.Random) -> Acl:
    kind = numbers.choice(TYPES)
    name = CLUSTER_NAME if kind == CLUSTER else numbers.choice(PATTERNS)
    return Acl(
        numbers.choice((*USERS[:2], "*")),
        numbers.choice(range(ALL, IDEMPOTENT_WRITE + 1)),
        kind,
        name,
        LITERAL if kind == CLUSTER else numbers.choice((LITERAL, PREFIXED)),
        numbers.choice((ALLOW, ALLOW, ALLOW, DENY)),
        numbers.choice(("*", "*", *SOURCES)),
    )


def random_filter(numbers: random.Random) -> dict[str, Any]:
    maybe = lambda *values: numbers.choice((None, None, *values))  # noqa: E731 - one line for each field below
    return {
        "resource_type_filter": numbers.choice((ANY, TOPIC, GROUP, CLUSTER)),
        "resource_name_filter": maybe(*PATTERNS, *NAMES),
        "pattern_type_filter": numbers.choice((ANY, MATCH, LITERAL, PREFIXED)),
        "principal_filter": maybe(f"User:{USERS[0]}", "User:*"),
        "host_filter": maybe("*", *SOURCES),
        "operation": numbers.choice((ANY, ANY, ALL, READ, ALTER_CONFIGS)),
        "permission_type": numbers.choice((ANY, ANY, ALLOW, DENY)),
    }


class Comparison:
    """Runs rounds over two brokers with the same topics; ``cases`` counts, ``differences`` are sentences."""

    def __init__(self, theirs: AclWorld, ours: AclWorld) -> None:
        self.worlds = (theirs, ours)
        self.cases = 0
        self.differences: list[str] = []
        for world in self.worlds:
            world.create_topics(*NAMES)
        self._clients = [
            (user, source, theirs.client(user, source), ours.client(user, source))
            for user in USERS
            for source in SOURCES
        ]

    def round(self, numbers: random.Random) -> None:
        acls = [random_acl(numbers) for _ in range(numbers.randint(1, 14))]
        filters = [random_filter(numbers) for _ in range(4)]
        for world in self.worlds:
            assert world.add(*acls) == [0] * len(acls)
        for user, source, theirs, ours in self._clients:
            where = f"{user} from {source} with {acls}"
            self._compare(where, answers(theirs), answers(ours))
        for one in filters:
            expected, found = (world.described(**one) for world in self.worlds)
            self._compare(f"filter {one} with {acls}", {"acls": (expected, 1)}, {"acls": (found, 1)})
        # half of the rounds take a part away: decisions after a change, not only after a load
        if numbers.random() < 0.5:
            some = random_filter(numbers)
            counts = {world.remove(**some) for world in self.worlds}
            self._compare(f"removal {some} of {acls}", {"removed": (counts, 1)}, {"removed": ({min(counts)}, 1)})
            for user, source, theirs, ours in self._clients[:2]:
                where = f"{user} from {source}, {some} removed from {acls}"
                self._compare(where, answers(theirs), answers(ours))
        for world in self.worlds:
            world.remove(**EVERYTHING)

    def _compare(self, where: str, expected: dict[str, Any], found: dict[str, Any]) -> None:
        for what, (value, decisions) in expected.items():
            self.cases += decisions
            if found[what][0] != value:
                self.differences.append(f"{what}: Kafka {value}, kafkastore {found[what][0]}; {where}")


def answers(client: RawClient) -> dict[str, tuple[Any, int]]:
    """What a client gets, and how many decisions each answer is."""
    found: dict[str, tuple[Any, int]] = {}
    names = (*NAMES, *MISSING)
    asked = {"topics": [{"name": name, "topic_id": None} for name in names]} | METADATA
    for topic in client.ask("metadata", 12, asked).topics:
        code = int(topic.error_code)
        is_known = code == 0
        operations = topic.topic_authorized_operations if is_known else None
        found[f"topic {topic.name}"] = (code, operations), FIELD_BITS[TOPIC] if is_known else 1
    listed = client.ask("metadata", 12, {"topics": None} | METADATA).topics
    found["all topics"] = sorted((topic.name, topic.topic_authorized_operations) for topic in listed), 1
    groups = client.ask("describe_groups", 5, {"groups": list(names), "include_authorized_operations": True}).groups
    for group in groups:
        code = int(group.error_code)
        found[f"group {group.group_id}"] = (code, group.authorized_operations), 1 if code else FIELD_BITS[GROUP]
    cluster = client.ask("describe_cluster", 1, {"include_cluster_authorized_operations": True, "endpoint_type": 1})
    found["cluster"] = cluster.cluster_authorized_operations, FIELD_BITS[CLUSTER]
    ids = client.ask("find_coordinator", 4, {"key_type": 1, "coordinator_keys": list(names)}).coordinators
    for one in ids:
        found[f"transactional id {one.key}"] = refusal(one.error_code), 1
    producer = {"transactional_id": None, "transaction_timeout_ms": 1000, "producer_id": -1, "producer_epoch": -1}
    found["producer id"] = refusal(client.ask("init_producer_id", 4, producer).error_code), 1
    for name in ("a", "z"):
        topics = [{"name": name, "partitions": [{"partition_index": 0, "current_leader_epoch": -1, "timestamp": -1}]}]
        listed = client.ask("list_offsets", 7, {"replica_id": -1, "isolation_level": 0, "topics": topics})
        found[f"offsets of {name}"] = int(listed.topics[0].partitions[0].error_code), 1
    return found


def refusal(code: int) -> int:
    """An error code, without those of a coordinator that has just been asked for the first time."""
    return int(code) if code not in (COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE) else 0
