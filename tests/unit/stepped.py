"""The compiled engine under unit tests of the control plane: without threads and sockets (``rust/simulator``), with its
files under a folder of the test.

Each call of the control plane goes to the engine and is noted, so that a test sees what was sent; ``leases``,
``partitions``, ``published_topics`` and ``cluster`` are what the engine has. A test replaces a single method by setting
the attribute of its name.
"""

from __future__ import annotations

import base64
import time
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from kafkastore._simulator import Disk, Probe, Steps, simulated_engine

from kafkastore import _core

FIRST_PORT = 40_000
"""What a listener gets that asks for any port."""


class Call(NamedTuple):
    name: str
    arguments: tuple[Any, ...]
    named: dict[str, Any]


class Noting:
    """Passes calls on to an object of the engine and notes them."""

    def __init__(self, real: Any) -> None:
        self.real = real
        self.made: list[Call] = []

    def call(self, name: str, *arguments: Any, **named: Any) -> Any:
        self.made.append(Call(name, arguments, named))
        return getattr(self.real, name)(*arguments, **named)

    def __getattr__(self, name: str) -> Any:
        getattr(self.real, name)
        return partial(self.call, name)

    @property
    def calls(self) -> list[str]:
        """The names of all calls, in order."""
        return [call.name for call in self.made]

    def named(self, *names: str) -> list[str]:
        """The calls of these names, in order."""
        return [name for name in self.calls if name in names]

    def of(self, name: str) -> list[tuple[Any, ...]]:
        """The arguments of the calls of this name, in order."""
        return [call.arguments for call in self.made if call.name == name]

    def in_effect(self, name: str, key_columns: int) -> list[tuple[Any, ...]]:
        """The rows that are in effect after all calls of this name, each of which changes rows or (``is_whole``)
        replaces them all; a row is a key and a value, None to remove it."""
        rows: dict[Any, tuple[Any, ...]] = {}
        for _, (changed,), named in [call for call in self.made if call.name == name]:
            if named["is_whole"]:
                rows.clear()
            for row in changed:
                rows[tuple(row[:key_columns])] = row
        return sorted((row for row in rows.values() if row[-1] is not None), key=repr)


class Request:
    """A request that a client has sent to the control plane; keyword arguments as of ``Probe.request``."""

    def __init__(self, api_key: int, api_version: int, body: bytes, token: int = 1, **fields: Any) -> None:
        self.token = token
        self.row = (token, api_key, api_version, body)
        self.fields = fields


class Transactions(Noting):
    """The transactions of a broker; no thread is started that ends them."""

    def __init__(self, real: Any, steps: Steps) -> None:
        super().__init__(real)
        self.steps = steps

    def activate(self, partition: int, number: int) -> None:
        self.made.append(Call("activate", (partition, number), {}))
        self.steps.activate_transactions(partition, number)


class Engine(Noting):
    """See the module."""

    def __init__(self, node_id: int, cluster_id: str, log_dirs: list[str], options: dict[str, str]) -> None:
        super().__init__(simulated_engine(node_id, cluster_id, log_dirs, options, Disk(int(time.time() * 1000))))
        self.steps, self.probe = Steps(self.real), Probe(self.real)
        self.log_dirs = log_dirs
        self.made_with = options
        self.answers: dict[int, bytes | None] = {}
        self.served_here: list[int] = []
        quotas, security = Noting(self.real.quotas()), Noting(self.real.security())
        transactions = Transactions(self.real.transactions(), self.steps)
        self.quotas, self.security, self.transactions = lambda: quotas, lambda: security, lambda: transactions

    # ---- in place of the network
    def listen(self, listeners: list[tuple[str, str, int]]) -> list[int]:
        self.made.append(Call("listen", (listeners,), {}))
        return [port or FIRST_PORT + index for index, (_, _, port) in enumerate(listeners)]

    def close_network(self, timeout_ms: int) -> None:
        self.made.append(Call("close_network", (timeout_ms,), {}))

    def respond(self, answers: list[tuple[int, bytes | None]]) -> None:
        self.answers.update(answers)

    def serve_here(self, token: int) -> None:
        self.served_here.append(token)

    def fileno(self) -> int:
        number: int = self.real.fileno()
        return number

    def take(self, limit: int) -> list[Any]:
        self.steps.flush_queued()
        taken: list[Any] = self.real.take(limit)
        return taken

    def has_events(self) -> bool:
        """Whether there is something to take."""
        return bool(self.steps.rung()[1])

    def submit(self, *requests: Request) -> None:
        """Delivers requests to the control plane."""
        for request in requests:
            self.probe.request(*request.row, **request.fields)

    # ---- the disk, before the log directories are opened
    def add_log(
        self, topic: str, partition: int, topic_id: bytes | None = None, log_dir: str | None = None, records: int = 0
    ) -> None:
        """Makes the folder of a log, as a clean stop leaves it; one that is there stays."""
        directory = Path(log_dir or self.log_dirs[0])
        folder = directory / f"{topic}-{partition}"
        folder.mkdir(parents=True, exist_ok=True)
        if topic_id is not None:
            text = base64.urlsafe_b64encode(topic_id).rstrip(b"=").decode()
            (folder / "partition.metadata").write_text(f"version: 0\ntopic_id: {text}")
        if records:
            batch = _core.build_batch([(None, b"")] * records, 0)
            (folder / f"{0:020}.log").write_bytes(batch)
        (directory / ".kafka_cleanshutdown").touch()

    def add_records(self, topic: str, partition: int, count: int) -> None:
        """Appends a batch as a coordinator does."""
        self.real.append(topic, partition, _core.build_batch([(None, b"v")] * count, 0), 1, 0)

    def kill(self, *log_dirs: str) -> None:
        """The directories are left as the death of a process leaves them."""
        for directory in log_dirs:
            (Path(directory) / ".kafka_cleanshutdown").unlink(missing_ok=True)

    def close(self) -> None:
        """The process is dead: its locks are released."""
        self.steps.abandon()

    # ---- what the engine has
    @property
    def leases(self) -> dict[tuple[str, int], tuple[int, int, int, tuple[int, ...], tuple[int, ...]]]:
        """(leader, leader epoch, partition epoch, replicas, in-sync replicas) of the partitions with a log."""
        return {(topic, partition): _frozen(lease) for topic, partition, lease in self.probe.leases()}

    @property
    def partitions(self) -> dict[tuple[str, int], _core.HostedLog]:
        return {(log.topic, log.partition): log for log in self.real.logs()}

    @property
    def published_topics(self) -> dict[str, tuple[bytes, bool, list[Any]]]:
        """(id, whether it is internal, rows of partitions) of the topics as Metadata describes them."""
        return {row[0]: (row[1], row[2], [_frozen(one) for one in row[4]]) for row in self.probe.topics()}

    @property
    def cluster(self) -> tuple[list[Any], int]:
        brokers, controller_id = self.probe.cluster()
        return [_frozen(row) for row in brokers], controller_id

    # ---- what it was sent
    @property
    def topic_configs(self) -> dict[str, dict[str, str]]:
        configs: dict[str, dict[str, str]] = {}
        for name, arguments, _ in list(self.made):
            if name == "open_log_dirs":
                configs |= arguments[0]
            elif name == "create_logs":
                configs[arguments[0]] = arguments[2]
            elif name == "set_topic_config":
                configs[arguments[0]] = arguments[1]
        return configs

    @property
    def options(self) -> dict[str, str]:
        given: dict[str, str] = (self.made_with, *(options for (options,) in self.of("set_broker_options")))[-1]
        return given

    @property
    def history(self) -> list[tuple[str, int, int, int, int]]:
        """Topic, partition, leader, leader epoch, partition epoch of every lease; those of partitions without a log
        have no effect."""
        return [
            (topic, one.partition, one.leader, one.leader_epoch, one.partition_epoch)
            for topic, _, leases in self.of("publish_leases")
            for one in leases
        ]

    @property
    def deleted(self) -> list[tuple[Any, ...]]:
        return self.of("delete_logs")

    @property
    def stray(self) -> list[tuple[Any, ...]]:
        return self.of("mark_stray")

    @property
    def broker_epoch(self) -> int:
        epoch: int = self.of("set_broker_epoch")[-1][0]
        return epoch


def taken(request: Request) -> _core.Request:
    """The request as the control plane takes it."""
    engine = _idle_engine()
    engine.submit(request)
    (found,) = engine.take(1)
    assert isinstance(found, _core.Request)
    return found


@cache
def _idle_engine() -> Engine:
    return Engine(1, "", [], {})


def refusal(code: int, message: str) -> _core.EngineError:
    """The error that the engine raises when it refuses a call."""
    error = _core.EngineError(message)
    error.code = code
    return error


def _frozen(value: Any) -> Any:
    return tuple(_frozen(one) for one in value) if isinstance(value, list | tuple) else value
