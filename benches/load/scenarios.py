"""The scenarios that are measured on one broker; each returns figures by name. :data:`BETTER_HIGHER` names the figures
of which more is better.

Rates are bounded by this driver (Python, on the same cores as the broker); the CPU per unit of work is the broker's
alone.
"""

from __future__ import annotations

import os
import statistics
import struct
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition

from load.process import cpu_seconds, machine_cpu_seconds, memory_mb
from load.wire import LIMIT_BYTES, Connection, Run, batch, fetch, fetch_frame, produce, produce_frame, wait_until_led
from peer.broker_process import BrokerProcess
from peer.topics import create_topic

SECONDS = 3.0
FETCH_BYTES = 256 << 20
TOUCHED_BYTES = LIMIT_BYTES + (100 << 20)
ZEROS = bytes(1 << 20)
CLIENT_RECORDS = 300_000
TAIL_RECORDS = 1500
TAIL_GAP_S = 0.001

Figures = dict[str, float]


@dataclass
class Usage:
    """CPU during a scenario: the broker's, and that of processes that are neither the broker nor the driver."""

    broker_s: float = 0.0
    others_s: float = 0.0


@contextmanager
def measured(broker: BrokerProcess, usage: Usage) -> Iterator[None]:
    def now() -> tuple[float, float]:
        own = os.times()
        return cpu_seconds(broker.pid), machine_cpu_seconds() - (
            own.user + own.system + own.children_user + own.children_system
        )

    before_broker, before_rest = now()
    yield
    after_broker, after_rest = now()
    usage.broker_s = after_broker - before_broker
    usage.others_s = max(after_rest - before_rest - usage.broker_s, 0.0)


def _p99_ms(run: Run) -> float:
    return statistics.quantiles(run.latencies_s, n=100)[98] * 1000


def _produce_in_process(
    port: int, topic: str, partition: int, records: bytes, seconds: float, acks: int
) -> tuple[Run, float]:
    """The run, and the CPU seconds of this process, which count as the driver's."""
    before = time.process_time()
    connection = Connection(port)
    try:
        run = produce(connection, topic, partition, records, seconds, acks)
    finally:
        connection.close()
    return run, time.process_time() - before


def _produce(
    broker: BrokerProcess, name: str, records: bytes, connections: int = 1, acks: int = 1
) -> tuple[Run, Usage]:
    topic = create_topic(broker.bootstrap, name, connections)
    usage = Usage()
    led = Connection(broker.port)
    try:
        for partition in range(connections):
            wait_until_led(led, topic, partition)
    finally:
        led.close()
    with ProcessPoolExecutor(connections) as pool:
        list(pool.map(abs, range(connections)))  # starts the processes
        with measured(broker, usage):
            jobs = [
                pool.submit(_produce_in_process, broker.port, topic, i, records, SECONDS, acks)
                for i in range(connections)
            ]
            results = [job.result() for job in jobs]
    usage.others_s = max(usage.others_s - sum(driver_s for _, driver_s in results), 0.0)
    runs = [run for run, _ in results]
    latencies = [latency for run in runs for latency in run.latencies_s]
    total = Run(
        sum(r.requests for r in runs), sum(r.payload_bytes for r in runs), max(r.seconds for r in runs), latencies
    )
    return total, usage


def touch_memory(folder: Path) -> None:
    """Touches the memory that a scenario writes to: a virtual machine gets a page from its host when the page is first
    written, which takes longer than either broker's work on it, and the broker measured first would pay for it."""
    path = folder / "touched"
    with path.open("wb") as file:
        for _ in range(TOUCHED_BYTES // len(ZEROS)):
            file.write(ZEROS)
    path.unlink()


def small(broker: BrokerProcess, connections: int) -> tuple[Figures, Usage]:
    """Requests of one 100 B record, acks=1, 5 in flight on each connection."""
    run, usage = _produce(broker, f"small-c{connections}", batch([b"x" * 100]), connections)
    return {
        "requests/s": run.requests / run.seconds,
        "broker CPU s / 10,000": usage.broker_s / run.requests * 10_000,
        "p99 ms": _p99_ms(run),
    }, usage


def large(broker: BrokerProcess, name: str, size: int, acks: int = 1) -> tuple[Figures, Usage]:
    """Batches of 1 KB records up to `size` bytes, 5 in flight on one connection."""
    touch_memory(broker.folder)
    run, usage = _produce(broker, name, batch([os.urandom(1000) for _ in range(size // 1010)]), acks=acks)
    return {
        "MB/s": run.payload_bytes / run.seconds / 1e6,
        "broker CPU s / GB": usage.broker_s / run.payload_bytes * 1e9,
        "p99 ms": _p99_ms(run),
    }, usage


def fetch_from_page_cache(broker: BrokerProcess) -> tuple[Figures, Usage]:
    """One partition of 16 KB batches, read whole over and over in fetches of 1 MB."""
    topic = create_topic(broker.bootstrap, "fetch")
    connection = Connection(broker.port)
    request = produce_frame(topic, 0, batch([os.urandom(1000)] * 16), acks=1)
    count = FETCH_BYTES // len(request)
    for _ in range(count):
        connection.socket.sendall(request)
        if connection.produce_answered(topic):
            raise RuntimeError("the topic could not be filled")
    usage = Usage()
    with measured(broker, usage):
        run = fetch(connection, topic, 0, 16 * count, 1 << 20, SECONDS)
    connection.close()
    return {
        "MB/s": run.payload_bytes / run.seconds / 1e6,
        "broker CPU s / GB": usage.broker_s / run.payload_bytes * 1e9,
    }, usage


def tail(broker: BrokerProcess) -> tuple[Figures, Usage]:
    """One record at a time to a consumer that waits for it: the time from before the send to the fetch's answer."""
    topic = create_topic(broker.bootstrap, "tail")
    writer, reader = Connection(broker.port), Connection(broker.port)
    wait_until_led(writer, topic, 0)  # its record takes offset 0
    latencies: list[float] = []
    usage = Usage()
    with measured(broker, usage):
        for offset in range(1, TAIL_RECORDS + 1):
            reader.socket.sendall(fetch_frame(topic, 0, offset, 1 << 20, max_wait_ms=10_000))
            time.sleep(TAIL_GAP_S)  # the fetch is parked by now
            request = produce_frame(topic, 0, batch([b"x" * 100]), acks=1)
            before = time.perf_counter()
            writer.socket.sendall(request)
            fetched = reader.fetch_answered(topic)
            latencies.append(time.perf_counter() - before)
            if fetched.next_offset != offset + 1 or writer.produce_answered(topic):
                raise RuntimeError(f"record {offset} did not arrive: {fetched}")
    writer.close()
    reader.close()
    centiles = statistics.quantiles(latencies, n=100)
    return {"p50 ms": centiles[49] * 1000, "p99 ms": centiles[98] * 1000}, usage


def librdkafka(broker: BrokerProcess) -> tuple[Figures, Usage]:
    """confluent-kafka, 1 KB records: a client that users have, slower than the broker."""
    topic = create_topic(broker.bootstrap, "librdkafka")
    value = os.urandom(1000)
    usage = Usage()
    with measured(broker, usage):
        producer = Producer(
            {"bootstrap.servers": broker.bootstrap, "acks": 1, "linger.ms": 5, "queue.buffering.max.messages": 500_000}
        )
        started = time.perf_counter()
        for _ in range(CLIENT_RECORDS):
            producer.produce(topic, value)
        producer.flush()
        produced_s = time.perf_counter() - started
        config = {"bootstrap.servers": broker.bootstrap, "group.id": "bench", "enable.auto.commit": False}
        consumer = Consumer(config)
        consumer.assign([TopicPartition(topic, 0, 0)])
        started, read = time.perf_counter(), 0
        while read < CLIENT_RECORDS:
            read += len(consumer.consume(10_000, 1.0))
        consumed_s = time.perf_counter() - started
        consumer.close()
    return {
        "records/s produced": CLIENT_RECORDS / produced_s,
        "records/s consumed": CLIENT_RECORDS / consumed_s,
        "broker CPU s / GB both ways": usage.broker_s / (2 * CLIENT_RECORDS * len(value)) * 1e9,
    }, usage


def first_produce(broker: BrokerProcess) -> tuple[Figures, Usage]:
    """From the start of the process to the first acknowledged record, whose topic a Metadata request creates just
    before."""
    started = time.perf_counter()
    broker.launch()
    while True:
        try:
            connection = Connection(broker.port)
            _ask_for_topic(connection, "first")
            connection.socket.sendall(produce_frame("first", 0, batch([b"x"]), acks=1))
            error = connection.produce_answered("first")
            connection.close()
        except (ConnectionError, struct.error):
            error = -1
        if error == 0:
            break
        if not broker.is_running():
            raise RuntimeError(f"{broker.kind} ended at start:\n{broker.output()[-2000:]}")
        threading.Event().wait(0.005)
    return {"ms": (time.perf_counter() - started) * 1000, "CPU s": cpu_seconds(broker.pid)}, Usage()


def _ask_for_topic(connection: Connection, topic: str) -> None:
    """Metadata v4 with auto-creation."""
    payload = (
        struct.pack(">hhi", 3, 4, 0)
        + struct.pack(">h", 4)
        + b"load"
        + struct.pack(">ih", 1, len(topic))
        + topic.encode()
        + b"\x01"
    )
    connection.socket.sendall(struct.pack(">i", len(payload)) + payload)
    connection.receive()


def warm(broker: BrokerProcess) -> tuple[Figures, Usage]:
    """Loads the broker before rates are measured, because a JVM compiles code while it runs. Returns no figures."""
    for _ in range(2):
        _produce(broker, f"warm-{time.monotonic_ns()}", batch([b"x" * 100]), connections=4)
    large(broker, "warm-16k", 16 << 10)
    return {}, Usage()


def memory(broker: BrokerProcess) -> tuple[Figures, Usage]:
    resident, anonymous = memory_mb(broker.pid)
    return {"resident MB": resident, "anonymous MB": anonymous}, Usage()


# In this order; the first starts the broker. Every figure is a row of the table.
SCENARIOS: dict[str, Callable[[BrokerProcess], tuple[Figures, Usage]]] = {
    "start to the first acknowledged produce": first_produce,
    "memory after the start": memory,
    "(warm-up)": warm,
    "small_c1: 100 B requests, 1 connection": lambda broker: small(broker, 1),
    "small_c4: 4 connections": lambda broker: small(broker, 4),
    "p16k: 16 KB batches": lambda broker: large(broker, "p16k", 16 << 10),
    "p16k_all: acks=all": lambda broker: large(broker, "p16k-all", 16 << 10, acks=-1),
    "p1m: 1 MB batches": lambda broker: large(broker, "p1m", 1_000_000),
    "fetch: 1 partition from page cache": fetch_from_page_cache,
    "tail: end to end, long poll": tail,
    "librdkafka: 1 KB records": librdkafka,
    "memory after the load": memory,
}
BETTER_HIGHER = ("requests/s", "MB/s", "records/s produced", "records/s consumed")
