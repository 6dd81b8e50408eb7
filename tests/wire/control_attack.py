"""Many clients at once, each with a request that is dear to the control plane.

``python -m wire.control_attack PORT PID [--clients 1000] [name ...]`` with ``tests`` on the path prints a row for each
attack: what another member's heartbeats suffered, and the memory of the broker at its peak and afterwards.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import selectors
import socket
import struct
import time
from collections.abc import Callable
from typing import Final, NamedTuple

from kafkastore.messages import OutgoingRequest
from kafkastore.requests.registry import BY_NAME
from peer.wire_socket import frame
from unit import expensive
from wire.attacks import Beside, metadata, rss_kb

MB: Final = 1_000_000


def control_frame(api_name: str, body: bytes) -> bytes:
    api = BY_NAME[api_name]
    header = struct.pack(">hhih", api.key, api.max_version, 1, 4) + b"dear" + b"\0" * api.is_flexible(api.max_version)
    return frame(header + body)


def rows_of(api_name: str, size: int = MB) -> bytes:
    """A request of about ``size`` bytes, full of rows with unknown names."""
    api = BY_NAME[api_name]

    def body(rows: int) -> bytes:
        form = expensive.Form("unknown", rows, False, lambda number: f"u{number:07}")
        made = expensive.body_of(api, api.max_version, form)
        return made[:-2] + b"\1\0" if api_name == "CreateTopics" else made  # validate_only: topics stay

    row = len(body(11)) - len(body(10))
    return control_frame(api_name, body(max(size // row - 10, 1)))


def row_of(api_name: str, **values: object) -> bytes:
    return control_frame(api_name, OutgoingRequest(api_name, BY_NAME[api_name].max_version, values).body())


def join() -> bytes:
    protocol = {"name": "range", "metadata": bytes(MB)}
    return row_of(
        "JoinGroup", group_id="attacked", session_timeout_ms=30_000, rebalance_timeout_ms=60_000, member_id="",
        protocol_type="consumer", protocols=[protocol], group_instance_id=None, reason=None,
    )  # fmt: skip


def sync() -> bytes:
    part = {"member_id": "m", "assignment": bytes(MB)}
    return row_of(
        "SyncGroup", group_id="attacked", generation_id=1, member_id="m", group_instance_id=None,
        protocol_type="consumer", protocol_name="range", assignments=[part],
    )  # fmt: skip


def describe_broker() -> bytes:
    """A request of a few hundred bytes whose answer has the broker's configuration a dozen times."""
    one = {"resource_type": 4, "resource_name": "1", "configuration_keys": None}
    return row_of("DescribeConfigs", resources=[one] * 12, include_synonyms=True, include_documentation=True)


class Attack(NamedTuple):
    request: Callable[[], bytes]
    reads: bool = True


ATTACKS: Final[dict[str, Attack]] = {
    "Metadata": Attack(lambda: metadata([b"no-%07d" % number for number in range(MB // 12)], create=True)),
    "CreateTopics": Attack(lambda: rows_of("CreateTopics")),
    "DescribeConfigs": Attack(lambda: rows_of("DescribeConfigs", 900_000)),  # 75,000 rows: more are refused
    "DescribeProducers": Attack(lambda: rows_of("DescribeProducers")),
    "FindCoordinator": Attack(lambda: rows_of("FindCoordinator")),
    "ElectLeaders": Attack(lambda: rows_of("ElectLeaders")),
    "IncrementalAlterConfigs": Attack(lambda: rows_of("IncrementalAlterConfigs")),
    "JoinGroup": Attack(join),
    "SyncGroup": Attack(sync),
    "Medium": Attack(lambda: rows_of("CreateTopics", 60_000)),
    "Small": Attack(lambda: rows_of("CreateTopics", 3_900)),
    "Answers": Attack(describe_broker),
    "Unread answers": Attack(describe_broker, reads=False),
}


def heartbeat() -> bytes:
    """A heartbeat of an unknown member: the answer is an error, and as quick as any."""
    return row_of("Heartbeat", group_id="honest", generation_id=1, member_id="m", group_instance_id=None)


class Clients:
    """``count`` clients, each of which sends a request, and the next when it is answered."""

    def __init__(self, port: int, count: int, attack: Attack) -> None:
        self.request = attack.request()
        self.answered = 0
        self._selector = selectors.DefaultSelector()
        self._left: dict[socket.socket, int] = {}
        self._reads = attack.reads
        for _ in range(count):
            client = socket.create_connection(("127.0.0.1", port), timeout=10)
            client.setblocking(False)
            self._left[client] = 0
            self._send(client)

    def run(self, seconds: float, until_answered: float = math.inf) -> None:
        over_at = time.monotonic() + seconds
        while time.monotonic() < over_at and self.answered < until_answered:
            for key, events in self._selector.select(0.1):
                client = key.fileobj
                assert isinstance(client, socket.socket)
                if events & selectors.EVENT_READ and not self._take(client):
                    continue
                if events & selectors.EVENT_WRITE:
                    self._send(client)

    def close(self) -> None:
        for client in self._left:
            client.close()
        self._selector.close()

    def _send(self, client: socket.socket) -> None:
        done = self._left[client]
        with contextlib.suppress(OSError):
            done += client.send(memoryview(self.request)[done:])
        self._left[client] = done
        wants = selectors.EVENT_READ if self._reads else 0
        if done < len(self.request):
            wants |= selectors.EVENT_WRITE
        if client in self._selector.get_map():
            self._selector.unregister(client)
        if wants:
            self._selector.register(client, wants)

    def _take(self, client: socket.socket) -> bool:
        try:
            got = client.recv(1 << 20)
        except BlockingIOError:
            return True
        except OSError:
            got = b""
        if not got:
            self._selector.unregister(client)
            return False
        if self._left[client] == len(self.request):  # sends the next; the rest of this answer still comes first
            self.answered += 1
            self._left[client] = 0
            self._send(client)
        return True


def attack(port: int, name: str, clients: int, seconds: float, until_answered: float = math.inf) -> int:
    """Runs an attack, until so many requests are answered, at least in part; returns their number."""
    attackers = Clients(port, clients, ATTACKS[name])
    attackers.run(seconds, until_answered)
    attackers.close()
    return attackers.answered


def main() -> None:
    parser = argparse.ArgumentParser(prog="control_attack", description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("pid", type=int)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=8.0)
    given = parser.parse_args()
    print(
        "| attack | request | answers | heartbeats | longest, ms | MB at the peak | MB later "
        "|\n|---|---|---|---|---|---|---|"
    )
    for name in given.names or ATTACKS:
        size, idle = len(ATTACKS[name].request()), rss_kb(given.pid)
        with Beside(given.port, given.pid, heartbeat()) as other:
            answered = attack(given.port, name, given.clients, given.seconds)
        until = time.monotonic() + 30
        while time.monotonic() < until and rss_kb(given.pid) - idle > 16 << 10:
            time.sleep(0.5)
        peak, later = (other.peak_kb - idle) / 1024, (rss_kb(given.pid) - idle) / 1024
        print(
            f"| {name} | {size:,} | {answered} | {other.answers} | {other.longest_s * 1000:.0f} | {peak:.0f} | "
            f"{later:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
