"""Honest clients beside an attack: a group member that heartbeats, a producer, and a client that connects anew each
time. They run in a process of their own, each on a thread that repeats its request and records every latency.

They never retry: an error or a closed connection ends that client, and is recorded.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.synchronize import Event
from typing import Any

from attacks.batches import plain_batch
from attacks.guarded import Door, receive, request
from parity.raw_client import RawClient
from peer.topics import create_topic

PAUSE_S = 0.005
CONNECT_PAUSE_S = 0.02
TOPIC = "honest"
PROTOCOL = {"name": "range", "metadata": b"\0\0\0\0\0\0\0\0\0\0"}


@dataclass
class Seen:
    """What one client measured: milliseconds of each answer, and the error that ended it early."""

    name: str
    latencies_ms: list[float] = field(default_factory=list)
    error: str = ""

    @property
    def longest_ms(self) -> float:
        return max(self.latencies_ms, default=float("nan"))

    @property
    def p99_ms(self) -> float:
        ordered = sorted(self.latencies_ms)
        return ordered[int(len(ordered) * 0.99)] if ordered else float("nan")


class Victims:
    """Runs the three clients of a listener from :meth:`start` to :meth:`stop`; ``port`` is the plain listener's."""

    def __init__(self, port: int, door: Door) -> None:
        context = multiprocessing.get_context("spawn")
        self._stop = context.Event()
        self._ready = context.Event()
        self._results: Any = context.SimpleQueue()
        self._process = context.Process(target=_run, args=(port, door, self._ready, self._stop, self._results))

    def start(self) -> None:
        self._process.start()
        assert self._ready.wait(60), "the honest clients did not begin"

    def stop(self) -> list[Seen]:
        self._stop.set()
        seen: list[Seen] = self._results.get()
        self._process.join()
        return seen


def _run(port: int, door: Door, ready: Event, stop: Event, results: Any) -> None:
    create_topic(f"127.0.0.1:{port}", TOPIC)
    clients = (Seen("heartbeat"), Seen("produce"), Seen("connect"))
    steps = (_member(door), _producer(door), lambda: _connect(door))
    pauses = (PAUSE_S, PAUSE_S, CONNECT_PAUSE_S)
    threads = [
        threading.Thread(target=_ask_again, args=one) for one in zip(clients, steps, pauses, [stop] * 3, strict=True)
    ]
    for thread in threads:
        thread.start()
    ready.set()
    for thread in threads:
        thread.join()
    results.put(list(clients))


def _ask_again(seen: Seen, step: Callable[[], None], pause_s: float, stop: Event) -> None:
    while not stop.is_set():
        began = time.perf_counter()
        try:
            step()
        except Exception as error:  # noqa: BLE001 - any error is this client's result
            seen.error = f"{type(error).__name__}: {error}"
            seen.latencies_ms.append((time.perf_counter() - began) * 1000)
            return
        seen.latencies_ms.append((time.perf_counter() - began) * 1000)
        time.sleep(pause_s)


def _patient(door: Door) -> RawClient:
    client = RawClient("127.0.0.1", door.port, door.enter())
    client.set_timeout(120)
    return client


def _member(door: Door) -> Callable[[], None]:
    """Joins a stable group with one member; returns the function that sends its heartbeat."""
    client = _patient(door)
    joining = {
        "group_id": "honest-group", "session_timeout_ms": 120_000, "rebalance_timeout_ms": 120_000, "member_id": "",
        "group_instance_id": None, "protocol_type": "consumer", "protocols": [PROTOCOL], "reason": None,
    }  # fmt: skip
    client.ask("find_coordinator", 2, {"key": "honest-group", "key_type": 0})
    joined = client.ask("join_group", 9, joining)
    while joined.error_code in (14, 15, 16):
        time.sleep(0.2)
        joined = client.ask("join_group", 9, joining)
    if joined.error_code == 79:  # MEMBER_ID_REQUIRED
        joined = client.ask("join_group", 9, {**joining, "member_id": joined.member_id})
    of_member = {"group_id": "honest-group", "generation_id": joined.generation_id, "member_id": joined.member_id}
    assigned = {"assignments": [{"member_id": joined.member_id, "assignment": b"x"}], "group_instance_id": None}
    client.ask("sync_group", 5, {**of_member, **assigned, "protocol_type": "consumer", "protocol_name": "range"})

    def heartbeat() -> None:
        answer = client.ask("heartbeat", 4, {**of_member, "group_instance_id": None})
        assert answer.error_code == 0, f"heartbeat: error {int(answer.error_code)}"

    return heartbeat


def _producer(door: Door) -> Callable[[], None]:
    client = _patient(door)
    rows = [{"name": TOPIC, "partition_data": [{"index": 0, "records": plain_batch(b"x" * 100)}]}]
    request = {"transactional_id": None, "acks": 1, "timeout_ms": 120_000, "topic_data": rows}

    def produce() -> None:
        answer = client.ask("produce", 9, request)
        code = answer.responses[0].partition_responses[0].error_code
        assert code == 0, f"produce: error {int(code)}"

    return produce


def _connect(door: Door) -> None:
    with contextlib.closing(door.enter()) as client:
        client.sendall(request(18, b"", 0))
        receive(client)
