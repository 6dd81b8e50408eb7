"""``kafkastore dev``: brokers of tests in a process of their own, for programs in other languages.

It chooses free ports, makes what a file describes (``dev_file.py``), and prints one line of JSON on stdout when all of
it is there. It ends by a signal, and with the program that started it: when that process has gone, or when stdin is a
pipe that is closed. Then its data are removed, unless they are in a directory that was named.

The parent is watched by a descriptor of its process. A signal of the kernel at its death (PR_SET_PDEATHSIG) would come
at the end of the parent's thread, which in Java and Go is any thread of a pool.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import stat
import sys
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any, Final, Self

from kafkastore.errors import ErrorCode, StartupError
from kafkastore.system import watch_process
from kafkastore.testing.broker import Broker
from kafkastore.testing.cluster import Cluster
from kafkastore.testing.dev_file import Description, read_description

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import FrameType

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def run(
    *,
    file: str | None = None,
    brokers: int | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
    directory: str | None = None,
    config: Mapping[str, str] | None = None,
    topics: Mapping[str, int] | None = None,
    ends_with_parent: bool = True,
) -> int:
    """Returns the exit status when it has been ended. What is given here goes before what ``file`` says. ``port`` is of
    a single broker. Call it in the main thread. Raises KafkastoreError."""
    parent = os.getppid()
    description = Description() if file is None else read_description(file)
    count = description.brokers if brokers is None else brokers
    if count > 1 and port:
        raise StartupError(f"--port {port} is for one broker, and there are {count}; leave it out, or --brokers")
    arguments: dict[str, Any] = {
        **description.arguments(),
        "host": host,
        "directory": directory,
        "topics": topics,
        "config": description.config | dict(config or {}),
    }
    started = Cluster(count, **arguments) if count > 1 else Broker(port=port, **arguments)
    with _Ends(parent if ends_with_parent else None) as ends, started:
        for api, version, fields in description.requests():
            _carry_out(started, api, version, fields)
        sys.stdout.write(
            json.dumps(_ready_line(started, [*(one["name"] for one in description.topics), *(topics or {})])) + "\n"
        )
        sys.stdout.flush()
        ends.wait()
    return 0


def _carry_out(started: Broker | Cluster, api: str, version: int, fields: Mapping[str, Any]) -> None:
    """Raises StartupError for a row that was refused, but for a topic that a kept directory has already."""
    answer = started.ask(api, version, fields)
    for row in answer.topics if api == "CreateTopics" else answer.results:
        if row.error_code and not (api == "CreateTopics" and row.error_code == ErrorCode.TOPIC_ALREADY_EXISTS):
            raise StartupError(f"{getattr(row, 'name', api)}: {row.error_message}")


def _ready_line(started: Broker | Cluster, topics: list[str]) -> dict[str, Any]:
    nodes = started.brokers if isinstance(started, Cluster) else [started]
    return {
        "bootstrap.servers": started.bootstrap_servers,
        "pid": os.getpid(),
        "cluster.id": nodes[0].cluster_id,
        "brokers": [{"node.id": one.node_id, "port": one.port, "log.dir": str(one.directory)} for one in nodes],
        "topics": topics,
        "client.properties": started.client_properties(),
        "librdkafka": started.librdkafka_properties(),
    }


class _Ends:
    """Waits for what ends the process. Handles the signals from ``__enter__`` on, so that a start is ended, too."""

    def __init__(self, parent: int | None) -> None:
        self._parent = parent
        self._selector = selectors.DefaultSelector()
        self._woken, self._waker = socket.socketpair()
        self._waker.setblocking(False)
        self._closing = ExitStack()

    def __enter__(self) -> Self:
        for number in SIGNALS:
            signal.signal(number, self._on_signal)
        self._selector.register(self._woken, selectors.EVENT_READ)
        for descriptor in self._of_parent():
            self._selector.register(descriptor, selectors.EVENT_READ)
        return self

    def __exit__(self, *_: object) -> None:
        self._selector.close()
        self._woken.close()
        self._waker.close()
        self._closing.close()

    def wait(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.fd != 0 or not os.read(0, 4096):  # what stdin has to say is of no interest, its end is
                    return

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        with suppress(OSError):  # full: it has been told
            self._waker.send(b"\0")

    def _of_parent(self) -> Iterator[int]:
        """Descriptors that become readable when the parent is gone."""
        if self._parent is None:
            return
        with suppress(OSError):  # it is gone
            yield watch_process(self._parent, self._closing)
        if os.getppid() != self._parent:
            self._on_signal(0, None)
        with suppress(OSError):  # closed
            mode = os.fstat(0).st_mode
            if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
                yield 0
