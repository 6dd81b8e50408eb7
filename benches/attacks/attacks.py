"""The attacks: each prepares topics as an honest operator, and then sends requests as an enemy or a careless client.

Each returns a few words on the broker's reaction: the size of the answers, or how the broker refused. Attacks are
bounded in count and time, and use loopback only.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from attacks import requests as ask
from attacks.batches import bomb, plain_batch
from attacks.crowds import CROWDS
from attacks.guarded import Door
from interop.batches import Record, build
from peer.topics import admin_client, create_topic
from peer.wire_socket import WireSocket

PATIENCE_S = 90.0
TOPICS = 2_000
TOPIC = "attacked"
HOUR_MS = 3_600_000


@dataclass(frozen=True)
class Attack:
    name: str
    what: str
    run: Callable[[int], str]
    prepare: Callable[[int], None] | None = None


@dataclass(frozen=True)
class Crowd:
    """Hostile clients of a listener with TLS or SASL, whose honest clients are measured."""

    name: str
    what: str
    protocol: str
    run: Callable[[Door], str]


def _topic(port: int, partitions: int = 1, **configs: str) -> None:
    create_topic(
        f"127.0.0.1:{port}", TOPIC, partitions, {name.replace("_", "."): value for name, value in configs.items()}
    )


def _many_topics(port: int) -> None:
    from confluent_kafka.admin import NewTopic

    names = [f"t-{number}" for number in range(TOPICS)]
    admin = admin_client(f"127.0.0.1:{port}")
    for at in range(0, TOPICS, 500):
        made = admin.create_topics(
            [NewTopic(name, 1, 1) for name in names[at : at + 500]], operation_timeout=60, request_timeout=120
        )
        for future in made.values():
            future.result(120)


def _with_records(port: int) -> None:
    _topic(port)
    with WireSocket(port) as socket:
        for _ in range(64):
            socket.send(ask.produce([(0, plain_batch(b"x" * 16_000))], TOPIC))
            socket.receive()


def _answer_to(port: int, frames: list[bytes]) -> str:
    """Sends the frames one by one on one connection; returns the bytes of all answers, or why an answer is missing."""
    size = 0
    began = time.monotonic()
    try:
        with WireSocket(port, timeout_s=PATIENCE_S) as socket:
            for frame in frames:
                socket.send(frame)
                size += len(socket.receive())
    except TimeoutError:
        return f"no answer in {PATIENCE_S:.0f} s"
    except OSError as error:
        return f"closed after {time.monotonic() - began:.1f} s" if size == 0 else f"closed: {error}"
    return f"{size:,} B in {time.monotonic() - began:.2f} s"


def _once(frame: Callable[[], bytes]) -> Callable[[int], str]:
    return lambda port: _answer_to(port, [frame()])


# ---- connections
class _Held(contextlib.ExitStack):
    """Connections that stay open until the ``with`` block ends."""

    def __init__(self, port: int, timeout_s: float) -> None:
        super().__init__()
        self._port, self._timeout_s = port, timeout_s

    def connect(self) -> WireSocket:
        return self.enter_context(WireSocket(self._port, timeout_s=self._timeout_s))


def _idle(count: int, first: bytes = b"") -> Callable[[int], str]:
    def run(port: int) -> str:
        taken = 0
        with _Held(port, timeout_s=2) as held:
            for _ in range(count):
                with contextlib.suppress(OSError):
                    socket = held.connect()
                    if first:
                        socket.send(first)
                    taken += 1
            time.sleep(5)
        return f"{taken} held, {count - taken} not taken"

    return run


def _unread(connections: int, requests: int) -> Callable[[int], str]:
    def run(port: int) -> str:
        frames = ask.fetch_some(TOPIC, 30_000) * requests
        with _Held(port, timeout_s=2) as held:
            for _ in range(connections):
                with contextlib.suppress(TimeoutError):
                    held.connect().send(frames)
            time.sleep(5)
        return f"{connections} connections, {requests} answers each unread"

    return run


def _flood(port: int) -> str:
    """Requests that no broker serves, each on a connection of its own, with a client id as long as it may be."""
    long_name = b"\xff" * 32_000
    bad = ask.request(3, 8, b"\x7f\xff\xff\xff")
    bad = (
        (len(bad) - 4 + len(long_name) - 11).to_bytes(4, "big")
        + bad[4:12]
        + len(long_name).to_bytes(2, "big")
        + long_name
        + bad[25:]
    )
    for _ in range(2_000):
        with contextlib.suppress(OSError), WireSocket(port, timeout_s=5) as socket:
            socket.send(bad)
            socket.is_closed_by_peer()
    return "2,000 malformed requests"


def _members(count: int, size: int) -> Callable[[int], str]:
    def run(port: int) -> str:
        frame, answers = ask.join_group("crowd", bytes(size)), 0
        with _Held(port, timeout_s=30) as held:
            members = [held.connect() for _ in range(count)]
            for member in members:
                member.send(frame)
            for member in members:
                with contextlib.suppress(OSError):
                    member.receive()
                    answers += 1
        return f"{answers} of {count} members answered"

    return run


def _crowd(connections: int, frame: Callable[[], bytes]) -> Callable[[int], str]:
    """All connections send the same request at once, then read the answer."""

    def run(port: int) -> str:
        sent, answers, end_s = frame(), 0, time.monotonic() + PATIENCE_S
        with _Held(port, timeout_s=PATIENCE_S) as held:
            sockets = [held.connect() for _ in range(connections)]
            senders = [threading.Thread(target=_send, args=(socket, sent)) for socket in sockets]
            for sender in senders:
                sender.start()
            for socket in sockets:
                socket.socket.settimeout(max(0.1, end_s - time.monotonic()))
                with contextlib.suppress(OSError):
                    socket.receive()
                    answers += 1
        for sender in senders:
            sender.join()
        return f"{answers} of {connections} answered"

    return run


def _send(socket: WireSocket, frame: bytes) -> None:
    with contextlib.suppress(OSError):
        socket.send(frame)


def _with_gzip(port: int) -> None:
    """A megabyte of records of 100 B in gzip batches."""
    _topic(port)
    now_ms = int(time.time() * 1000)
    batch = build([Record(n, now_ms, b"%d" % n, b"%d " % n * 25) for n in range(160)], codec="gzip")
    with WireSocket(port) as socket:
        for _ in range(64):
            socket.send(ask.produce([(0, batch)], TOPIC))
            socket.receive()


def _old_fetches(connections: int, requests: int) -> Callable[[int], str]:
    """Each connection fetches again and again, one request after the other."""

    def run(port: int) -> str:
        frames = [ask.fetch_old(TOPIC, 1 << 20)] * requests
        with ThreadPoolExecutor(connections) as pool:
            answers = list(pool.map(lambda _: _answer_to(port, frames), range(connections)))
        return f"{connections} x {answers[0]}"

    return run


def _bombs(port: int) -> str:
    ahead = int(time.time() * 1000) + 2 * HOUR_MS
    batch = bomb(100 << 20, ahead)
    return _answer_to(port, [ask.produce([(index, batch) for index in range(50)], TOPIC)])


def _bombs_with_keys(port: int) -> str:
    batch = bomb(100 << 20, int(time.time() * 1000))
    return _answer_to(port, [ask.produce([(index, batch) for index in range(50)], TOPIC)])


ATTACKS = (
    Attack(
        "metadata-repeat",
        "Metadata of one topic of 1,000 partitions 100,000 times",
        _once(lambda: ask.metadata(ask.repeated(ask.string(TOPIC), 100_000))),
        lambda port: _topic(port, 1_000),
    ),
    Attack(
        "metadata-unknown",
        "Metadata of 100,000 names that are not there",
        _once(lambda: ask.metadata(ask.array(ask.string(f"u{n}") for n in range(100_000)))),
    ),
    Attack(
        "configs-topic-repeat",
        "DescribeConfigs of one topic 10,000 times",
        _once(lambda: ask.describe_configs(ask.repeated(ask.config_resource(2, TOPIC), 10_000))),
        _topic,
    ),
    Attack(
        "configs-broker-repeat",
        "DescribeConfigs of the broker 1,000 times",
        _once(lambda: ask.describe_configs(ask.repeated(ask.config_resource(4, "1"), 1_000))),
    ),
    Attack(
        "configs-all",
        f"DescribeConfigs of {TOPICS:,} topics",
        _once(lambda: ask.describe_configs(ask.array(ask.config_resource(2, f"t-{n}") for n in range(TOPICS)))),
        _many_topics,
    ),
    Attack(
        "alter-repeat",
        "IncrementalAlterConfigs of one topic 100,000 times",
        _once(lambda: ask.incremental_alter_configs(ask.repeated(ask.altered(TOPIC, "retention.ms", "1000"), 100_000))),
        _topic,
    ),
    Attack(
        "alter-all",
        f"IncrementalAlterConfigs of {TOPICS:,} topics",
        _once(
            lambda: ask.incremental_alter_configs(
                ask.array(ask.altered(f"t-{n}", "retention.ms", "100000000") for n in range(TOPICS))
            )
        ),
        _many_topics,
    ),
    Attack(
        "delete-all",
        f"DeleteTopics of {TOPICS:,}",
        _once(lambda: ask.delete_topics(f"t-{n}" for n in range(TOPICS))),
        _many_topics,
    ),
    Attack(
        "groups-repeat",
        "DescribeGroups of one name 1,000,000 times",
        _once(lambda: ask.describe_groups(ask.repeated(ask.string("g"), 1_000_000))),
    ),
    Attack("members-large", "200 members of 1 MB join one group", _members(200, 1_000_000)),
    Attack(
        "offsets-repeat",
        "OffsetFetch of one partition 1,000,000 times",
        _once(lambda: ask.offset_fetch("g", TOPIC, 1_000_000)),
        _topic,
    ),
    Attack(
        "list-offsets-repeat",
        "ListOffsets of one partition 1,000,000 times",
        _once(lambda: ask.list_offsets(TOPIC, 1_000_000)),
        _with_records,
    ),
    Attack(
        "fetch-repeat",
        "Fetch of one partition 1,000,000 times",
        _once(lambda: ask.fetch(TOPIC, 1_000_000)),
        _with_records,
    ),
    Attack(
        "fetch-old",
        "20 connections fetch 1 MB of gzip batches as messages of magic 1, 20 times each",
        _old_fetches(20, 20),
        _with_gzip,
    ),
    Attack(
        "bombs-ahead",
        "50 batches of 4 KB that inflate to 100 MB, two hours ahead",
        _bombs,
        lambda port: _topic(port, 50),
    ),
    Attack(
        "bombs-compacted",
        "50 batches of 4 KB that inflate to 100 MB, on a compacted topic",
        _bombs_with_keys,
        lambda port: _topic(port, 50, cleanup_policy="compact"),
    ),
    Attack(
        "answers-unread",
        "500 connections with 200 answers of 30 KB that they do not read",
        _unread(500, 200),
        _with_records,
    ),
    Attack(
        "frames-large",
        "300 connections ask Metadata of 10,000 unknown names of 100 bytes at once",
        _crowd(300, lambda: ask.metadata(ask.array(ask.string(f"{n:0100}") for n in range(10_000)))),
    ),
    Attack(
        "fetch-sessions",
        "500 connections open a fetch session of 50,000 partitions each",
        _crowd(500, lambda: ask.fetch_session(TOPIC, 50_000)),
        _topic,
    ),
    Attack("connections-idle", "2,000 connections that ask nothing", _idle(2_000)),
    Attack(
        "frames-begun",
        "1,000 connections that announce 100 MB and send 1 KB",
        _idle(1_000, (100 << 20).to_bytes(4, "big") + b"\0\3\0\x08" + bytes(1_000)),
    ),
    Attack("flood", "malformed requests with client ids of 32 KB", _flood),
)

EACH: tuple[Attack | Crowd, ...] = (*ATTACKS, *(Crowd(name, *crowd) for name, crowd in CROWDS.items()))
