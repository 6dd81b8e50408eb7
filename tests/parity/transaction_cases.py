"""Requests of transactional producers that are wrong, late or repeated, and what the coordinator tells about them.

The producer id and the epoch of a transactional id are those that the broker answered last: ``Id("t")`` and
``Epoch("t", -1)`` stand for them, ``Batch("t")`` for a batch with them. Every case is asked again while the coordinator
is busy.

KIP-98, KIP-360 (an epoch is bumped by its producer), KIP-447, KIP-664, KIP-890; H11, H12
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from parity.cases import Case, Given, topic

TRANSACTIONS: list[Case] = []
OVERRIDES = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "200"}
TIMEOUT_MS = 60_000
LARGEST_INT = 2**31 - 1
TOPIC = "tx"
GROUP = "tx-group"


@dataclass(frozen=True)
class Id:
    """The producer id of a transactional id."""

    transactional_id: str


@dataclass(frozen=True)
class Epoch:
    """The epoch of a transactional id, and so many more."""

    transactional_id: str
    more: int = 0


@dataclass(frozen=True)
class Batch:
    """One record of the producer of a transactional id."""

    transactional_id: str
    sequence: int = 0
    epochs_more: int = 0
    is_transactional: bool = True


Versions = int | tuple[int, ...]


def case(name: str, api: str, versions: Versions, *, awaited: str = "", **given: Any) -> None:
    asked = (versions,) if isinstance(versions, int) else versions
    TRANSACTIONS.append(Case(name, api, asked, given, is_settled=True, awaited=awaited))


def find(key_type: int, key: str) -> None:
    case("", "find_coordinator", 4, key_type=key_type, coordinator_keys=[key])


def init(name: str, transactional_id: str | None, versions: Versions = 5, **given: Any) -> None:
    asked = {"transaction_timeout_ms": TIMEOUT_MS, **given}
    case(name, "init_producer_id", versions, transactional_id=transactional_id, **asked)


def of(transactional_id: str, producer: Any = None, more: int = 0, **given: Any) -> Given:
    """The fields that say which producer asks."""
    return {
        "transactional_id": transactional_id,
        "producer_id": Id(transactional_id) if producer is None else producer,
        "producer_epoch": Epoch(transactional_id, more) if producer is None or isinstance(producer, Id) else 0,
        **given,
    }


def add(name: str, producer: Given, *partitions: tuple[str, list[int]], versions: Versions = 3) -> None:
    """AddPartitionsToTxn of a producer."""
    topics = [{"name": name, "partitions": numbers} for name, numbers in partitions]
    given = {f"v3_and_below_{key}": value for key, value in {**producer, "topics": topics}.items()}
    case(name, "add_partitions_to_txn", versions, **given)


def verify(name: str, *transactions: Given, versions: Versions = (4, 5), is_verification: bool = True) -> None:
    """AddPartitionsToTxn of a broker."""
    asked = [{"verify_only": is_verification, **one} for one in transactions]
    case(name, "add_partitions_to_txn", versions, transactions=asked)


def named(*partitions: int, name: str = TOPIC) -> list[Given]:
    return [{"name": name, "partitions": list(partitions)}]


def offsets(name: str, producer: Given, group: str = GROUP, versions: Versions = 4) -> None:
    case(name, "add_offsets_to_txn", versions, **producer, group_id=group)


def commit_offsets(
    name: str,
    producer: Given,
    group: str = GROUP,
    versions: Versions = 4,
    at: tuple[str, int] = (TOPIC, 0),
    **more: Any,
) -> None:
    metadata = more.pop("metadata", "")
    row = {"partition_index": at[1], "committed_offset": 5, "committed_metadata": metadata}
    given = {
        "generation_id_or_member_epoch": -1,
        "member_id": "",
        "topics": [{"name": at[0], "partitions": [row]}],
        **more,
    }
    case(name, "txn_offset_commit", versions, **producer, group_id=group, **given)


def fetch_offsets(name: str, *, is_stable: bool) -> None:
    group = {"group_id": GROUP, "topics": [{"name": TOPIC, "partition_indexes": [0]}]}
    case(name, "offset_fetch", 8, groups=[group], require_stable=is_stable)


def produce(
    name: str,
    transactional_id: str | None,
    batch: Batch,
    versions: Versions = (11, 12),
    at: tuple[str, int] = (TOPIC, 0),
) -> None:
    data = [{"name": at[0], "partition_data": [{"index": at[1], "records": batch}]}]
    case(name, "produce", versions, transactional_id=transactional_id, acks=-1, timeout_ms=5000, topic_data=data)


def end(name: str, producer: Given, *, commits: bool, versions: Versions = 5) -> None:
    case(name, "end_txn", versions, **producer, committed=commits)


def describe(name: str, *ids: str, awaited: str = "") -> None:
    case(name, "describe_transactions", 0, transactional_ids=list(ids), awaited=awaited)


def listed(name: str, versions: Versions = 2, **filters: Any) -> None:
    case(name, "list_transactions", versions, **{"duration_filter": -1, **filters})


def mark(name: str, versions: Versions = (1, 2), at: tuple[str, int] = (TOPIC, 0), **given: Any) -> None:
    marker = {"transaction_result": False, "coordinator_epoch": 0, **given}
    topics = [{"name": at[0], "partition_indexes": [at[1]]}]
    case(name, "write_txn_markers", versions, markers=[{**marker, "topics": topics}])


# ---- before any transaction -----------------------------------------------------------------------------------------
TRANSACTIONS.append(Case("", "create_topics", (7,), {"topics": [topic(TOPIC, 4)]}))
find(1, "first")
find(0, GROUP)
init("", None)  # Apache Kafka answers the first before it has a block of ids
listed("list: before any transaction", (0, 1, 2))
describe("describe: unknown id", "nobody")
describe("describe: empty id", "")
describe("describe: nothing asked")

# ---- InitProducerId -------------------------------------------------------------------------------------------------
init("init: new ids", "new", (0, 1, 2, 3, 4, 5))
init("init: empty id", "", (0, 5))
init("init: timeout zero", "bad", (0, 5), transaction_timeout_ms=0)
init("init: timeout minus one", "bad", transaction_timeout_ms=-1)
init("init: timeout of the largest integer", "bad", (0, 5), transaction_timeout_ms=LARGEST_INT)
init("init: timeout one above the limit", "bad", transaction_timeout_ms=900_001)
init("init: timeout at the limit", "longest", transaction_timeout_ms=900_000)
init("init: unknown id with a producer id", "unknown", producer_id=7, producer_epoch=3)
init("init: producer id without an epoch", "unknown", producer_id=7)
init("init: epoch without a producer id", "unknown", producer_epoch=7)
init("", "e")
init("init: with the current epoch", "e", producer_id=Id("e"), producer_epoch=Epoch("e"))
init("init: with the previous epoch", "e", producer_id=Id("e"), producer_epoch=Epoch("e", -1))
init("init: with the current epoch again", "e", producer_id=Id("e"), producer_epoch=Epoch("e"))
init("init: two epochs behind", "e", producer_id=Id("e"), producer_epoch=Epoch("e", -2))
init("init: an epoch ahead", "e", producer_id=Id("e"), producer_epoch=Epoch("e", 1))
init("init: with another producer id", "e", producer_id=123_456, producer_epoch=0)
init("init: without an epoch, again", "e")
describe("describe: an id without a transaction", "e")

# ---- AddPartitionsToTxn ---------------------------------------------------------------------------------------------
init("", "a")
init("", "a")  # in its second epoch, so that there is one behind it
add("add: unknown id", {**of("a"), "transactional_id": "nobody"}, (TOPIC, [0]), versions=(0, 1, 2, 3))
add("add: empty id", {**of("a"), "transactional_id": ""}, (TOPIC, [0]))
add("add: another producer id", of("a", 123_456), (TOPIC, [0]), versions=(0, 3))
add("add: an epoch behind", of("a", more=-1), (TOPIC, [0]), versions=(0, 1, 2, 3))
add("add: an epoch ahead", of("a", more=1), (TOPIC, [0]))
add("add: unknown partition beside a known one", of("a"), (TOPIC, [0, 99]))
add("add: unknown topic beside a known one", of("a"), ("nope", [0]), (TOPIC, [0]))
add("add: bad topic name", of("a"), ("a/b", [0]))
add("add: negative partition", of("a"), (TOPIC, [-1]))
add("add: no partitions", of("a"))
describe("describe: after refused additions", "a")
add("add: a partition", of("a"), (TOPIC, [0]), versions=(0, 1, 2, 3))
add("add: another one", of("a"), (TOPIC, [0, 1]))
add("add: an internal topic", of("a"), ("__consumer_offsets", [0]))
describe("describe: an open transaction", "a")
verify("verify: a partition of the transaction", of("a", topics=named(0)))
verify("verify: a partition outside of it", of("a", topics=named(2)))
verify("verify: one of each", of("a", topics=named(0, 2)))
verify("verify: unknown partition", of("a", topics=named(99)))
verify("verify: an epoch behind", of("a", more=-1, topics=named(0)))
verify("verify: another producer id", of("a", 123_456, topics=named(0)))
verify("verify: unknown id", {**of("a", topics=named(0)), "transactional_id": "nobody"})
verify("verify: an id without a transaction", of("e", topics=named(0)))
verify("verify: two ids", of("a", topics=named(0)), of("e", topics=named(0)))
verify("add by a broker: a partition", of("a", topics=named(2)), versions=5, is_verification=False)
verify("add by a broker: an epoch behind", of("a", more=-1, topics=named(2)), is_verification=False)

# ---- AddOffsetsToTxn, TxnOffsetCommit -------------------------------------------------------------------------------
commit_offsets("offsets: group that is not in the transaction", of("a"), versions=(3, 4))
offsets("offsets: empty group", of("a"), "", versions=(0, 4))
offsets("offsets: unknown id", {**of("a"), "transactional_id": "nobody"})
offsets("offsets: empty id", {**of("a"), "transactional_id": ""})
offsets("offsets: an epoch behind", of("a", more=-1), versions=(0, 1, 2, 3, 4))
offsets("offsets: another producer id", of("a", 123_456))
offsets("offsets: a group", of("a"), versions=(0, 1, 2, 3, 4))
commit_offsets("commit: unknown generation", of("a"), versions=(3, 4), generation_id_or_member_epoch=5)
commit_offsets("commit: unknown member", of("a"), versions=(3, 4), generation_id_or_member_epoch=5, member_id="nobody")
commit_offsets(
    "commit: unknown static member", of("a"), generation_id_or_member_epoch=5, member_id="x", group_instance_id="nobody"
)
commit_offsets("commit: member without a generation", of("a"), member_id="nobody")
commit_offsets("commit: empty group", of("a"), "", versions=(0, 4))
commit_offsets("commit: another group", of("a"), "another", versions=(3, 4))
commit_offsets("commit: unknown topic", of("a"), at=("nope", 0))
commit_offsets("commit: unknown partition", of("a"), at=(TOPIC, 99))
commit_offsets("commit: large metadata", of("a"), metadata="m" * 5000)
commit_offsets("commit: an epoch behind", of("a", more=-1), versions=(0, 3, 4, 5))
commit_offsets("commit: another producer id", of("a", 123_456), versions=(3, 5))
commit_offsets("commit: unknown id", {**of("a"), "transactional_id": "nobody"}, versions=(3, 5))
commit_offsets("commit: offsets", of("a"), versions=(0, 1, 2, 3, 4, 5))
fetch_offsets("fetch: pending offsets, stable ones wanted", is_stable=True)
fetch_offsets("fetch: pending offsets", is_stable=False)

# ---- Produce --------------------------------------------------------------------------------------------------------
produce("produce: a partition of the transaction", "a", Batch("a"), 11)
produce("produce: the same batch again", "a", Batch("a"))
produce("produce: a partition outside of it", "a", Batch("a"), 11, at=(TOPIC, 3))
produce("produce: sequence with a gap", "a", Batch("a", sequence=9), 12)
produce("produce: an epoch behind", "a", Batch("a", 1, -1))
produce("produce: an epoch ahead", "a", Batch("a", 1, 1))
produce("produce: transactional batch without an id", None, Batch("a", 1))
produce("produce: transactional batch with an empty id", "", Batch("a", 1), 12)
produce("produce: transactional batch of another id", "e", Batch("a", 1), 12, at=(TOPIC, 3))
produce("produce: plain batch of the producer", "a", Batch("a", 1, is_transactional=False), 12)
produce("produce: plain batch with no id", None, Batch("a", 1, is_transactional=False), 12)
produce("produce: unknown partition", "a", Batch("a"), at=(TOPIC, 99))
case("producers: an open transaction", "describe_producers", 0, topics=[{"name": TOPIC, "partition_indexes": [0]}])
init("", "p")
produce("produce: without a transaction", "p", Batch("p"), 11, at=(TOPIC, 3))
produce("produce: without a transaction, the partition is added", "p", Batch("p"), 12, at=(TOPIC, 3))
describe("describe: a partition that Produce added", "p")
listed("list: every transaction", (0, 1, 2))
listed("list: by a state", (0, 2), state_filters=["Ongoing"])
listed("list: by two states", state_filters=["Ongoing", "Empty"])
listed("list: by an unknown state", (0, 2), state_filters=["Bogus"])
listed("list: by a known and an unknown state", state_filters=["Ongoing", "ongoing"])
listed("list: by a producer id", producer_id_filters=[Id("a")])
listed("list: by an unknown producer id", producer_id_filters=[123_456])
listed("list: by a duration of zero", (1, 2), duration_filter=0)
listed("list: by a long duration", duration_filter=10**9)
listed("list: by a duration below minus one", duration_filter=-5)
listed("list: by a pattern", transactional_id_pattern="[ae]")
listed("list: by an empty pattern", transactional_id_pattern="")
listed("list: by a part of the id", transactional_id_pattern="ew")
listed("list: by an invalid pattern", transactional_id_pattern="[")

# ---- EndTxn ---------------------------------------------------------------------------------------------------------
BOTH = (3, 5)
end("end: unknown id", {**of("a"), "transactional_id": "nobody"}, commits=True, versions=BOTH)
end("end: empty id", {**of("a"), "transactional_id": ""}, commits=True, versions=BOTH)
end("end: another producer id", of("a", 123_456), commits=True, versions=BOTH)
end("end: an epoch behind", of("a", more=-1), commits=True, versions=(0, 1, 2, 3, 4, 5))
end("end: an epoch ahead", of("a", more=1), commits=True, versions=BOTH)
end("end: a new producer that has no transaction commits", of("e"), commits=True, versions=BOTH)
end("end: commit, version 3", of("a"), commits=True, versions=3)
describe("describe: a committed transaction", "a", awaited='"CompleteCommit"')
end("end: commit again, version 3", of("a"), commits=True, versions=(3, 4))
end("end: abort what was committed, version 3", of("a"), commits=False, versions=(3, 4))
fetch_offsets("fetch: committed offsets", is_stable=True)
end("end: commit, version 5", of("p"), commits=True)
describe("", "p", awaited='"CompleteCommit"')
end("end: commit again with the old epoch, version 5", of("p", more=-1), commits=True)
end("end: abort what was committed, with the old epoch, version 5", of("p", more=-1), commits=False)
end("end: commit nothing, version 5", of("p"), commits=True)
end("end: abort nothing, version 5", of("p"), commits=False)
describe("", "p", awaited='"CompleteAbort"')
end("end: abort nothing again with the old epoch, version 5", of("p", more=-1), commits=False)
produce("produce: with the epoch before the last end", "p", Batch("p", 1, -1), (11, 12), at=(TOPIC, 3))
produce("produce: the next transaction", "p", Batch("p"), 12, at=(TOPIC, 3))
end("end: abort, version 5", of("p"), commits=False)
describe("", "p", awaited='"CompleteAbort"')
end("end: abort again with the old epoch, version 5", of("p", more=-1), commits=False)
end("end: commit what was aborted, with the old epoch, version 5", of("p", more=-1), commits=True)
end("end: two epochs behind, version 5", of("p", more=-2), commits=False)
case("producers: no open transaction", "describe_producers", 0, topics=[{"name": TOPIC, "partition_indexes": [0, 3]}])

# ---- after a timeout ------------------------------------------------------------------------------------------------
init("", "s")
init("", "s", transaction_timeout_ms=300)
produce("timeout: the transaction begins", "s", Batch("s"), 12, at=(TOPIC, 2))
describe("timeout: the transaction is aborted", "s", awaited='"CompleteAbort"')
produce("timeout: Produce with the old epoch", "s", Batch("s", 1), (11, 12), at=(TOPIC, 2))
add("timeout: AddPartitionsToTxn with the old epoch", of("s"), (TOPIC, [2]))
offsets("timeout: AddOffsetsToTxn with the old epoch", of("s"))
commit_offsets("timeout: TxnOffsetCommit with the old epoch", of("s"), versions=(4, 5))
end("timeout: commit with the old epoch", of("s"), commits=True, versions=(3, 4, 5))
end("timeout: abort with the old epoch", of("s"), commits=False, versions=(3, 4, 5))
init("timeout: init with the old epoch", "s", (3, 4, 5), producer_id=Id("s"), producer_epoch=Epoch("s"))
init("timeout: init without an epoch", "s")

init("", "t")
init("", "t", transaction_timeout_ms=300)  # a producer of before KIP-890
add("", of("t"), (TOPIC, [2]), versions=1)
produce("", "t", Batch("t"), 11, at=(TOPIC, 2))
describe("timeout, version 1: the transaction is aborted", "t", awaited='"CompleteAbort"')
produce("timeout, version 1: Produce with the old epoch", "t", Batch("t", 1), (8, 11), at=(TOPIC, 2))
add("timeout, version 1: AddPartitionsToTxn with the old epoch", of("t"), (TOPIC, [2]), versions=(0, 1, 2, 3))
offsets("timeout, version 1: AddOffsetsToTxn with the old epoch", of("t"), versions=(0, 3))
end("timeout, version 1: abort with the old epoch", of("t"), commits=False, versions=(0, 1, 2, 3, 4, 5))
end("timeout, version 1: commit with the old epoch", of("t"), commits=True, versions=(0, 1, 2, 3, 4, 5))
init("timeout, version 1: init with the old epoch", "t", (3,), producer_id=Id("t"), producer_epoch=Epoch("t"))
init("", "f")
add("", of("f"), (TOPIC, [2]), versions=1)
produce("", "f", Batch("f"), 11, at=(TOPIC, 2))
init("fenced: a new instance while the transaction is open", "f", 1)
add("fenced: AddPartitionsToTxn of the old instance", of("f", more=-1), (TOPIC, [2]), versions=(0, 3))
end("fenced: EndTxn of the old instance", of("f", more=-1), commits=True, versions=(0, 1, 2, 3, 4, 5))
end("fenced: EndTxn of the old instance, abort", of("f", more=-1), commits=False, versions=(1, 3, 5))
init("fenced: init of the old instance", "f", (3, 4, 5), producer_id=Id("f"), producer_epoch=Epoch("f", -1))

# ---- WriteTxnMarkers ------------------------------------------------------------------------------------------------
init("", "m")
init("", "m")
produce("", "m", Batch("m"), 12, at=(TOPIC, 1))
current = {"producer_id": Id("m"), "producer_epoch": Epoch("m")}
mark("markers: unknown partition", at=(TOPIC, 99), **current)
mark("markers: unknown topic", at=("nope", 0), **current)
mark("markers: an epoch behind", at=(TOPIC, 1), producer_id=Id("m"), producer_epoch=Epoch("m", -1))
mark("markers: unknown producer", at=(TOPIC, 0), producer_id=123_456, producer_epoch=0)
mark("markers: an old coordinator", 1, at=(TOPIC, 1), **{**current, "coordinator_epoch": -1})
mark("markers: abort", 1, at=(TOPIC, 1), **current)
mark("markers: abort again", at=(TOPIC, 1), **current)
mark("markers: an older coordinator than before", at=(TOPIC, 1), **{**current, "coordinator_epoch": -2})
case("markers: none", "write_txn_markers", (1, 2), markers=[])
case("producers: after markers", "describe_producers", 0, topics=[{"name": TOPIC, "partition_indexes": [1]}])
