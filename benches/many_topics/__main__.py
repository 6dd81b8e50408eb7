"""``python -m many_topics``: 10,000 topics of 10 partitions with 20,000 descriptors: create, start, describe, change,
delete.

For each step: seconds; the longest callback of the broker's loop, in CPU time; the longest heartbeat of another client
beside it; the broker's descriptors at their peak and its resident memory after it. It ends with 1 when a callback took
more than ``--limit-ms``.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from control.measure import Client, Heartbeats

from kafkastore._core import decode_response, request_encoder
from kafkastore.requests.registry import BY_NAME, Api
from unit import expensive

PATIENCE_S: Final = 600.0
IN_A_REQUEST: Final = 10_000
"""Partitions that one CreateTopics may make (Kafka's bound)."""


class Watched:
    """The broker's process."""

    def __init__(self, folder: str, partitions: int, descriptors: int) -> None:
        self.folder = folder
        self.partitions = partitions
        self.descriptors = descriptors
        self.port = 0
        self.max_open = 0
        self._process: subprocess.Popen[str] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Starts the broker; returns when it accepts connections."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        properties = {
            "node.id": "1",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "log.dirs": self.folder,
            "num.partitions": str(self.partitions),
            "offsets.topic.num.partitions": "1",
            "offsets.topic.replication.factor": "1",
            "auto.create.topics.enable": "false",
            "kafkastore.log.level": "WARN",
        }
        overrides = [part for key, value in properties.items() for part in ("--override", f"{key}={value}")]

        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (self.descriptors, self.descriptors))

        self._process = subprocess.Popen(
            [sys.executable, "-m", "many_topics.serving", *overrides],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=limit,  # noqa: PLW1509 - no thread runs yet that could hold a lock
        )
        deadline = time.monotonic() + PATIENCE_S
        while True:
            assert self._process.poll() is None, "the broker ended"
            assert time.monotonic() < deadline, "the broker does not start"
            try:
                Client(self.port).socket.close()
                break
            except ConnectionRefusedError:
                time.sleep(0.05)
        threading.Thread(target=self._count, args=(self.pid,), daemon=True).start()

    def stop(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        assert self._process.wait(PATIENCE_S) == 0

    def end(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def hold(self) -> tuple[float, str]:
        """The longest callback since the last call, in ms, and the callback's name."""
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        took, _, what = self._process.stdout.readline().partition(" ")
        return float(took), what.strip()

    def resident_mb(self) -> float:
        with open(f"/proc/{self.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * resource.getpagesize() / 1e6

    def _count(self, pid: int) -> None:
        while True:
            try:
                self.max_open = max(self.max_open, len(os.listdir(f"/proc/{pid}/fd")))
            except OSError:
                return
            time.sleep(0.1)


class Operator:
    """A client that sends an operator's requests about all topics."""

    def __init__(self, broker: Watched, topics: int, partitions: int) -> None:
        self.broker = broker
        self.topics = topics
        self.partitions = partitions

    def _body(self, api: Api, first: int, count: int) -> bytes:
        form = expensive.Form("existing", count, False, lambda number: f"t{first + number}")
        return expensive.body_of(api, api.max_version, form)

    def _ask(self, name: str, body: bytes) -> Any:
        api = BY_NAME[name]
        client = Client(self.broker.port, PATIENCE_S)
        found = client.ask(api, api.max_version, body)
        client.socket.close()
        assert found is not None, f"{name}: the connection was closed"
        body = bytes(found[5 if api.is_flexible(api.max_version) else 4 :])
        return decode_response(api.key, api.max_version, body)

    def _all(self, name: str) -> Any:
        return self._ask(name, self._body(BY_NAME[name], 0, self.topics))

    def create(self) -> None:
        at_once = IN_A_REQUEST // self.partitions
        for first in range(0, self.topics, at_once):
            count = min(at_once, self.topics - first)
            _all_done(self._ask("CreateTopics", self._body(BY_NAME["CreateTopics"], first, count)).topics, count)

    def metadata(self) -> None:
        api = BY_NAME["Metadata"]
        values = {"topics": None, "allow_auto_topic_creation": False, "include_topic_authorized_operations": False}
        found = self._ask("Metadata", request_encoder(api.key, api.max_version).row(values))
        _all_done(found.topics, self.topics)

    def describe(self) -> None:
        """Describes the topics page by page, as Kafka's tools do."""
        api = BY_NAME["DescribeTopicPartitions"]
        request, row = request_encoder(api.key, 0), request_encoder(api.key, 0, "TopicRequest")
        names = sorted(f"t{number}" for number in range(self.topics))
        rows = [row.row({"name": name}) for name in names]
        cursor: Any = None
        seen = 0
        while True:
            values = {"topics": rows, "response_partition_limit": 2000, "cursor": cursor}
            found = self._ask("DescribeTopicPartitions", request.row(values))
            seen += sum(len(topic.partitions) for topic in found.topics)
            if found.next_cursor is None:
                break
            reached = found.next_cursor
            cursor = {"topic_name": reached.topic_name, "partition_index": reached.partition_index}
            rows = rows[names.index(reached.topic_name) :]
            names = names[names.index(reached.topic_name) :]
        assert seen == self.topics * self.partitions, seen

    def describe_configs(self) -> None:
        _all_done(self._all("DescribeConfigs").results, self.topics)

    def describe_log_dirs(self) -> None:
        api = BY_NAME["DescribeLogDirs"]
        found = self._ask("DescribeLogDirs", request_encoder(api.key, 5).row({"topics": None}))
        logs = sum(len(topic.partitions) for one in found.results for topic in one.topics if topic.name[0] == "t")
        assert logs == self.topics * self.partitions, logs

    def elect(self) -> None:
        api = BY_NAME["ElectLeaders"]
        values = {"election_type": 0, "topic_partitions": None, "timeout_ms": 60_000}
        assert self._ask("ElectLeaders", request_encoder(api.key, 2).row(values)).error_code == 0

    def change_configs(self) -> None:
        _all_done(self._all("IncrementalAlterConfigs").responses, self.topics)

    def delete(self) -> None:
        _all_done(self._all("DeleteTopics").responses, self.topics)

    def steps(self) -> Iterator[tuple[str, Callable[[], None]]]:
        yield "create", self.create
        yield "stop", self.broker.stop
        yield "start", self.broker.start
        yield "metadata of all", self.metadata
        yield "describe all topics", self.describe
        yield "describe all configurations", self.describe_configs
        yield "describe all logs", self.describe_log_dirs
        yield "change all configurations", self.change_configs
        yield "elect all leaders", self.elect
        yield "delete all", self.delete


def _all_done(rows: Any, count: int) -> None:
    assert len(rows) == count, f"{len(rows)} of {count}"
    failed = [one for one in rows if one.error_code != 0]
    assert not failed, f"{len(failed)} failed, the first: {failed[0]}"


def _run(broker: Watched, operator: Operator, limit_ms: float) -> bool:
    """Runs all steps. Returns whether no callback took longer than ``limit_ms``."""
    broker.start()
    is_quick = True
    print("| step | took | longest hold | longest heartbeat | most descriptors | memory |")
    print("|---|---|---|---|---|---|", flush=True)
    for name, step in operator.steps():
        is_up = name not in ("stop", "start")
        beside = Heartbeats(broker.port) if is_up else None
        if beside is not None:
            time.sleep(0.2)
            broker.hold()
            beside.look()
        broker.max_open = 0
        begun = time.monotonic()
        step()
        took_s = time.monotonic() - begun
        if name == "stop":
            print(f"| {name} | {took_s:.1f} s | | | | |", flush=True)
            continue
        hold_ms, what = broker.hold()
        heartbeat = "" if beside is None else f"{beside.look() * 1000:.0f} ms"
        is_late = is_up and hold_ms > limit_ms
        is_quick &= not is_late
        print(
            f"| {name} | {took_s:.1f} s | {hold_ms:.0f} ms{' (' + what + ')' if is_late else ''} | {heartbeat} |"
            f" {broker.max_open:,} | {broker.resident_mb():.0f} MB |",
            flush=True,
        )
        if beside is not None:
            beside.stop()
    begun = time.monotonic()
    broker.stop()
    print(f"| stop after that | {time.monotonic() - begun:.1f} s | | | | |", flush=True)
    return is_quick


def main() -> int:
    parser = argparse.ArgumentParser(prog="many_topics", description=__doc__)
    parser.add_argument("--topics", type=int, default=10_000)
    parser.add_argument("--partitions", type=int, default=10)
    parser.add_argument("--descriptors", type=int, default=20_000)
    parser.add_argument("--limit-ms", type=float, default=50.0)
    given = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="many-topics-")
    broker = Watched(folder, given.partitions, given.descriptors)
    try:
        return 0 if _run(broker, Operator(broker, given.topics, given.partitions), given.limit_ms) else 1
    finally:
        broker.end()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
