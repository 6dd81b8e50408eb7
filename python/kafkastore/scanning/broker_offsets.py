"""How far the files of a topic may be read, asked from the live broker that writes them.

A scan needs two offsets that the files do not tell: the high watermark is in a checkpoint that is seconds old, and the
last stable offset is in no file. Four requests ask for them: Metadata for the leaders, then ListOffsets for the last
stable offset, the high watermark and the log start, in this order, so that last stable offset <= high watermark holds
without a lock. The versions of these requests are served by every broker since Kafka 2.1 and need no tagged fields;
Metadata never creates the topic. Works on PLAINTEXT listeners and blocks; each wait ends within ``timeout_s``, with an
answer or an error of one sentence.

The codec is not ``kio``'s, because only two fixed versions are needed, and kio must not decode unchecked bytes.

request  := size i32, api_key i16, api_version i16, correlation_id i32, client_id string, body
Metadata v4    := topics [string], allow_auto_topic_creation bool
               -> throttle i32, brokers [id i32, host string, port i32, rack string?], cluster string?, controller i32,
                  topics [error i16, name string, internal bool,
                          partitions [error i16, partition i32, leader i32, replicas [i32], isr [i32]]]
ListOffsets v2 := replica i32, isolation i8, topics [name string, partitions [partition i32, timestamp i64]]
               -> throttle i32, topics [name string, partitions [partition i32, error i16, timestamp i64, offset i64]]
"""

from __future__ import annotations

import socket
import struct
import time
from typing import TYPE_CHECKING, NamedTuple, Self

from kafkastore.errors import ErrorCode, error_name

if TYPE_CHECKING:
    from collections.abc import Sequence

CLIENT_ID = b"kafkastore-scan"
LIST_OFFSETS, METADATA = 2, 3
LIST_OFFSETS_VERSION, METADATA_VERSION = 2, 4
LATEST, EARLIEST = -1, -2
READ_UNCOMMITTED, READ_COMMITTED = 0, 1
DEFAULT_PORT = 9092
MAX_RESPONSE_BYTES = 64 << 20
"""Enough for more than a million partitions; a larger size is not Kafka's protocol (an HTTP or TLS port, say)."""
RETRY_PAUSE_S = 0.1
PASSING = frozenset(
    {
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.FENCED_LEADER_EPOCH,
    }
)
"""Errors that end by themselves while a leader moves: the offsets are asked for again until the time is up."""


class PartitionOffsets(NamedTuple):
    """One partition as its leader sees it; ``_core.plan_scan`` takes it as a watermark."""

    log_start_offset: int
    high_watermark: int
    last_stable_offset: int


class _PassingError(Exception):
    """A partition has no leader just now."""


def fetch_broker_offsets(
    bootstrap_servers: str | Sequence[str],
    topic: str,
    partitions: Sequence[int] | None = None,
    *,
    timeout_s: float = 10.0,
) -> dict[int, PartitionOffsets]:
    """The offsets of the topic's partitions (all of them, or those given) at this moment.

    ``bootstrap_servers``: host:port, several by comma or as a list; the first server that answers is taken. Raises
    ValueError (a wrong argument), FileNotFoundError (no such topic or partition), ConnectionError (no answer),
    PermissionError.
    """
    servers = parse_servers(bootstrap_servers)
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            return _fetch(servers, topic, partitions, timeout_s)
        except _PassingError as error:
            if time.monotonic() > deadline:
                raise ConnectionError(f"bootstrap_servers: {error} after {timeout_s:g} s; try again later") from None
            time.sleep(RETRY_PAUSE_S)


def parse_servers(bootstrap_servers: str | Sequence[str]) -> list[tuple[str, int]]:
    """(host, port) of each server; an IPv6 address stands in brackets."""
    texts = bootstrap_servers.split(",") if isinstance(bootstrap_servers, str) else bootstrap_servers
    servers = []
    for text in (text.strip() for text in texts):
        host, colon, port = text.rpartition(":")
        if not colon or text.endswith("]"):
            host, port = text, str(DEFAULT_PORT)
        if not host.strip("[]") or not port.isascii() or not port.isdigit() or not 0 < int(port) < 1 << 16:
            raise ValueError(f"bootstrap_servers: {text!r} is no server; give host:port, as localhost:9092")
        if ":" in host and not (host.startswith("[") and host.endswith("]")):
            raise ValueError(
                f"bootstrap_servers: {text!r} is no server; an IPv6 address stands in brackets, as [::1]:9092"
            )
        servers.append((host.strip("[]"), int(port)))
    if not servers:
        raise ValueError("bootstrap_servers is empty; give host:port, as localhost:9092, or leave it out")
    return servers


def _fetch(
    servers: list[tuple[str, int]], topic: str, partitions: Sequence[int] | None, timeout_s: float
) -> dict[int, PartitionOffsets]:
    brokers, leaders = _ask_any(servers, topic, timeout_s)
    wanted = sorted(leaders) if partitions is None else partitions
    by_leader: dict[int, list[int]] = {}
    for partition in wanted:
        if partition not in leaders:
            raise FileNotFoundError(
                f"topic {topic} has no partition {partition} at the broker; it has {_span(sorted(leaders))}"
            )
        if leaders[partition] not in brokers:
            raise _PassingError(f"partition {topic}-{partition} has no leader")
        by_leader.setdefault(leaders[partition], []).append(partition)
    found: dict[int, PartitionOffsets] = {}
    for leader, its in by_leader.items():
        with _Connection(*brokers[leader], timeout_s) as connection:
            last_stable = connection.list_offsets(topic, its, READ_COMMITTED, LATEST)
            high = connection.list_offsets(topic, its, READ_UNCOMMITTED, LATEST)
            start = connection.list_offsets(topic, its, READ_UNCOMMITTED, EARLIEST)
        # the log start was asked for last: retention may have moved it beyond the two other offsets
        found |= {p: PartitionOffsets(start[p], max(high[p], start[p]), max(last_stable[p], start[p])) for p in its}
    return dict(sorted(found.items()))


def _span(partitions: list[int]) -> str:
    return f"0 to {partitions[-1]}" if len(partitions) > 1 else "only 0"


def _ask_any(
    servers: list[tuple[str, int]], topic: str, timeout_s: float
) -> tuple[dict[int, tuple[str, int]], dict[int, int]]:
    """The metadata of the topic from the first server that answers."""
    failures = []
    for host, port in servers:
        try:
            with _Connection(host, port, timeout_s) as connection:
                return connection.metadata(topic)
        except ConnectionError as error:
            failures.append(str(error))
    raise ConnectionError("; ".join(failures))


class _Connection:
    """One connection, one request after the other. Every failure is a ConnectionError that names the server."""

    def __init__(self, host: str, port: int, timeout_s: float) -> None:
        self._name = f"{host}:{port}"
        self._sent = 0
        try:
            self._socket = socket.create_connection((host, port), timeout=timeout_s)
        except OSError as error:
            raise self._failed(error) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def _failed(self, error: Exception) -> ConnectionError:
        reason = "no answer in time" if isinstance(error, TimeoutError) else getattr(error, "strerror", None) or error
        return ConnectionError(
            f"bootstrap_servers: {self._name} cannot be asked ({reason}); name a running broker with a PLAINTEXT"
            " listener, or leave bootstrap_servers out to go by the files alone"
        )

    def metadata(self, topic: str) -> tuple[dict[int, tuple[str, int]], dict[int, int]]:
        """({node id: (host, port)}, {partition: leader}) of the topic."""
        answer = self._ask(METADATA, METADATA_VERSION, struct.pack(">i", 1) + _string(topic) + b"\0")
        try:
            return _read_metadata(_Reader(answer), topic)
        except _MalformedError as error:
            raise self._failed(error) from None

    def list_offsets(self, topic: str, partitions: list[int], isolation: int, timestamp: int) -> dict[int, int]:
        """The offset that ListOffsets gives for the timestamp, for each partition."""
        asked = b"".join(struct.pack(">iq", partition, timestamp) for partition in partitions)
        body = struct.pack(">ibi", -1, isolation, 1) + _string(topic) + struct.pack(">i", len(partitions)) + asked
        answer = self._ask(LIST_OFFSETS, LIST_OFFSETS_VERSION, body)
        try:
            found = _read_offsets(_Reader(answer), topic)
            return {partition: found[partition] for partition in partitions}
        except (_MalformedError, KeyError):
            raise self._failed(_MalformedError()) from None

    def _ask(self, api_key: int, api_version: int, body: bytes) -> bytes:
        self._sent += 1
        header = struct.pack(">hhih", api_key, api_version, self._sent, len(CLIENT_ID)) + CLIENT_ID
        try:
            self._socket.sendall(struct.pack(">i", len(header) + len(body)) + header + body)
            (size,) = struct.unpack(">i", self._receive(4))
            answer = self._receive(size) if 4 <= size <= MAX_RESPONSE_BYTES else b""
        except OSError as error:
            raise self._failed(error) from None
        if answer[:4] != struct.pack(">i", self._sent):
            raise self._failed(_MalformedError())
        return answer[4:]

    def _receive(self, size: int) -> bytes:
        received = bytearray()
        while len(received) < size:
            chunk = self._socket.recv(min(size - len(received), 1 << 20))
            if not chunk:
                raise ConnectionResetError(0, "it closed the connection")
            received += chunk
        return bytes(received)


class _MalformedError(Exception):
    """An answer that does not follow the protocol."""

    def __str__(self) -> str:
        return "its answer is not Kafka's protocol"


class _Reader:
    """Reads big-endian fields from the front of an answer; every read is checked against the bytes that are left."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def numbers(self, layout: str) -> tuple[int, ...]:
        try:
            values = struct.unpack_from(f">{layout}", self._data, self._at)
        except struct.error:
            raise _MalformedError from None
        self._at += struct.calcsize(f">{layout}")
        return values

    def number(self, layout: str) -> int:
        return self.numbers(layout)[0]

    def string(self) -> str:
        """A string; "" for a null string."""
        size = max(self.number("h"), 0)
        text = self._data[self._at : self._at + size]
        if len(text) < size:
            raise _MalformedError
        self._at += size
        return text.decode(errors="replace")

    def count(self) -> range:
        """The indexes of an array whose length comes next; an element takes at least two bytes."""
        count = max(self.number("i"), 0)
        if count * 2 > len(self._data) - self._at:
            raise _MalformedError
        return range(count)


def _string(text: str) -> bytes:
    data = text.encode()
    if len(data) > 0x7FFF:
        raise ValueError(f"topic {text[:40]}... is too long: a topic has at most 249 characters")
    return struct.pack(">h", len(data)) + data


def _read_metadata(reader: _Reader, topic: str) -> tuple[dict[int, tuple[str, int]], dict[int, int]]:
    reader.number("i")  # throttle time
    brokers = {}
    for _ in reader.count():
        node = reader.number("i")
        brokers[node] = (reader.string(), reader.number("i"))
        reader.string()  # rack
    reader.string()  # cluster id
    reader.number("i")  # controller
    leaders = {}
    topics = reader.count()
    if len(topics) != 1:
        raise _MalformedError
    for _ in topics:
        error = reader.number("h")
        name = reader.string()
        reader.number("b")  # internal
        _raise_for(error, name or topic)
        for _ in reader.count():
            _, partition, leader = reader.numbers("hii")
            leaders[partition] = leader
            for _ in range(2):  # replicas, in-sync replicas
                reader.numbers(f"{len(reader.count())}i")
    return brokers, leaders


def _read_offsets(reader: _Reader, topic: str) -> dict[int, int]:
    reader.number("i")  # throttle time
    offsets = {}
    for _ in reader.count():
        reader.string()
        for _ in reader.count():
            partition, error, _, offset = reader.numbers("ihqq")
            _raise_for(error, f"{topic}-{partition}")
            offsets[partition] = offset
    return offsets


def _raise_for(error: int, what: str) -> None:
    if error in (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_TOPIC_EXCEPTION):
        raise FileNotFoundError(f"topic {what} is not known to the broker; check the topic and bootstrap_servers")
    if error == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        raise PermissionError(f"topic {what}: the broker does not let anonymous clients describe it")
    if error in PASSING:
        raise _PassingError(f"partition {what} has no leader")
    if error:
        raise ConnectionError(
            f"bootstrap_servers: the broker answered {error_name(error)} for {what}; its log says why"
        )
