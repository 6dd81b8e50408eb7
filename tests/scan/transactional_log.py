"""Topics with transactions of several producers that write by turns, in all codecs, and what librdkafka reads of them.

Producers live as long as their transaction is needed; a timeout never ends a transaction here.
"""

from __future__ import annotations

from contextlib import closing
from typing import Any

from confluent_kafka import Message, Producer

from clients.conftest import CODECS, samples
from parity.raw_client import RawClient
from peer.broker_process import BrokerProcess
from peer.topics import admin_client, create_topic, last_stable_offsets, place_of, read_topic
from scan.rows import Row

LEVELS = ("read_uncommitted", "read_committed")
LIMIT_S = 30.0
PARTITIONS = 2
SMALL_SEGMENTS = {"segment.bytes": "1048576", "index.interval.bytes": "1024", "retention.ms": "-1"}
SETTINGS = {"transaction.state.log.num.partitions": "2", "transaction.partition.verification.enable": "false"}
"""Without verification a batch of a transaction that the coordinator does not know is written: it hangs."""
ROUNDS = 3
EACH = 12
WIDE_RECORDS = 3600
"""Of a kilobyte, so that the transaction begins two segments before its marker."""
WIDE_BYTES = 1000


def producer(bootstrap: str, name: str, codec: str = "none") -> Producer:
    """A transactional producer that is ready to begin."""
    settings: dict[str, Any] = {
        "bootstrap.servers": bootstrap,
        "transactional.id": name,
        "transaction.timeout.ms": 600_000,
        "compression.type": codec,
        "linger.ms": 5,
        "batch.num.messages": 5,
        "log_level": 0,
    }
    made = Producer(settings)
    made.init_transactions(LIMIT_S)
    return made


def send(sender: Producer, topic: str, count: int, value_bytes: int = 100, partitions: int = PARTITIONS) -> None:
    """Records of every shape, acknowledged when this returns."""
    for number, sample in enumerate(samples(count, value_bytes)):
        headers: Any = list(sample.headers)
        partition = number % partitions
        sender.produce(topic, sample.value, sample.key, partition, timestamp=sample.timestamp, headers=headers)
    assert sender.flush(LIMIT_S) == 0


def end(sender: Producer, *, commits: bool) -> None:
    (sender.commit_transaction if commits else sender.abort_transaction)(LIMIT_S)


def write_ended_transactions(bootstrap: str, topic: str) -> None:
    """A producer for each codec, whose batches lie between those of the others; every other transaction is aborted."""
    if topic not in admin_client(bootstrap).list_topics(timeout=LIMIT_S).topics:
        create_topic(bootstrap, topic, PARTITIONS, SMALL_SEGMENTS)
    plain = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 0})
    senders = [producer(bootstrap, f"{topic}-{codec}", codec) for codec in CODECS]
    for half in range(2):
        for sender in senders:
            sender.begin_transaction()
        for _ in range(ROUNDS):
            for sender in (*senders, plain):
                send(sender, topic, EACH)
        for number, sender in enumerate(senders):
            end(sender, commits=(number + half) % 2 == 0)
            send(plain, topic, 2)


def write_wide_transactions(bootstrap: str, topic: str) -> None:
    """An aborted transaction of several segments in partition 0, between the batches of a committed one."""
    aborted, committed = (producer(bootstrap, f"{topic}-{name}") for name in ("wide-aborted", "wide-committed"))
    for sender in (aborted, committed):
        sender.begin_transaction()
    for _ in range(4):
        send(aborted, topic, WIDE_RECORDS // 4, WIDE_BYTES, partitions=1)
        send(committed, topic, EACH, partitions=1)
    end(aborted, commits=False)
    end(committed, commits=True)


def hanging_producer(broker: BrokerProcess, topic: str) -> tuple[int, int]:
    """(producer id, epoch) of the open transaction at the last stable offset of partition 0."""
    start = last_stable_offsets(broker.bootstrap, topic)[0]
    with closing(RawClient(broker.host, broker.port)) as client:
        asked = {"topics": [{"name": topic, "partition_indexes": [0]}]}
        (partition,) = client.ask("describe_producers", 0, asked).topics[0].partitions
    (found,) = [one for one in partition.active_producers if int(one.current_txn_start_offset) == start]
    return int(found.producer_id), int(found.producer_epoch)


def abort_hanging(broker: BrokerProcess, topic: str) -> None:
    """As kafka-transactions does: an abort marker in partition 0, without a coordinator."""
    producer_id, epoch = hanging_producer(broker, topic)
    topics = [{"name": topic, "partition_indexes": [0]}]
    marker = {"producer_id": producer_id, "producer_epoch": epoch, "transaction_result": False, "topics": topics}
    with closing(RawClient(broker.host, broker.port)) as client:
        answer = client.ask("write_txn_markers", 1, {"markers": [{**marker, "coordinator_epoch": 0}]})
    assert int(answer.markers[0].topics[0].partitions[0].error_code) == 0, answer


def row_of(message: Message) -> Row:
    partition, offset = place_of(message)
    kind, timestamp_ms = message.timestamp()
    headers: Any = tuple(message.headers() or ()) or None
    place = message.topic() or "", partition, offset
    return Row(message.key(), message.value(), *place, timestamp_ms * 1000, kind - 1, headers)


def rows_read(bootstrap: str, topic: str, level: str) -> list[Row]:
    """What a consumer reads up to the high watermark or the last stable offset, by partition and offset."""
    found = read_topic(bootstrap, topic, isolation_level=level, check_crcs=True, fetch_wait_max_ms=20)
    return sorted(map(row_of, found), key=lambda row: (row.partition, row.offset))
