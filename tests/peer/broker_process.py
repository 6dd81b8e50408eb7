"""A broker as a process: started, stopped, killed and restarted on one folder.

Who starts a process here also ends it, by its own id and only while it is still our child. A folder holds
`server.properties`, `out.log` and the log directories; the port stays the same over restarts, so that clients
reconnect.
"""

from __future__ import annotations

import fcntl
import os
import random
import signal
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO, Self

from peer.cache import cache_folder
from peer.wire_socket import WireSocket

PORTS = range(22000, 31000)
"""Below the kernel's ephemeral ports, so that no outgoing connection takes one between two starts."""
TRIES = 1000
RESERVED = 300
"""So many ports stay with the process that they were given to: longer than any of its tests needs them."""
READY_LIMIT_S = 60.0  # Apache Kafka on two busy cores needs about 5 s
STOP_LIMIT_S = 30.0
POLL_S = 0.02


class BrokerFailedError(AssertionError):
    """The broker ended, or did not answer in time; the message carries the end of its log."""


def wait_until(condition: Callable[[], object], limit_s: float, what: str) -> None:
    """Polls until `condition()` is true; fails after `limit_s`, saying what was waited for."""
    deadline = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {limit_s:g} s in vain: {what}")
        time.sleep(POLL_S)


_reserved: deque[int] = deque()
"""Ports that were given away: whoever has one may not have bound it yet, or no more, between two starts."""


@cache
def _reservations(_pid: int) -> IO[bytes]:
    """A file whose byte N is locked by the process that port N was given to: other workers of pytest, other runs, and
    programs that they start look there. The system drops the locks with the process."""
    path = cache_folder() / "ports"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("ab")


def _reserve(port: int) -> bool:
    """False when this or another process has the port."""
    if port in _reserved:
        return False
    locks = _reservations(os.getpid())
    try:
        fcntl.lockf(locks, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except OSError:
        return False
    _reserved.append(port)
    if len(_reserved) > RESERVED:
        fcntl.lockf(locks, fcntl.LOCK_UN, 1, _reserved.popleft())
    return True


def free_port(*further: int) -> int:
    """A port of PORTS on which nothing listens, nor anything else is bound, nor about to be; the ports ``further``
    behind it are as free."""
    for port in random.sample(PORTS, TRIES):
        if all(_is_free(port + step) for step in (0, *further)):
            return port
    raise AssertionError(f"{TRIES} ports of {PORTS} are taken")


def _is_free(port: int) -> bool:
    if not _reserve(port):
        return False
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def hang(pid: int) -> None:
    """SIGSTOP; returns when each of its threads has stopped: on a busy machine some still run for a while after the
    signal."""
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: _has_stopped(pid), STOP_LIMIT_S, "it hangs")


def _has_stopped(pid: int) -> bool:
    try:
        return all(") T " in (path / "stat").read_text() for path in Path(f"/proc/{pid}/task").iterdir())
    except (FileNotFoundError, ProcessLookupError):  # a thread that was ending has ended
        return False


class BrokerProcess(ABC):
    """One broker on one folder; subclasses say how it is configured and started."""

    kind = ""
    host = "127.0.0.1"
    """Where it listens and is reached."""
    prefix: Sequence[str] = ()
    """A command that its own is run by, in place (nsenter): the process stays our child."""

    def __init__(self, folder: Path, overrides: Mapping[str, str] | None = None, log_dirs: Sequence[Path] = ()) -> None:
        self.folder = folder
        self.port = free_port()
        self.log_dirs = list(log_dirs) or [folder / "data"]
        self.overrides = dict(overrides or {})
        self.process: subprocess.Popen[bytes] | None = None
        self._output: IO[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)

    # ---- what subclasses give

    @abstractmethod
    def properties(self) -> dict[str, str]:
        """server.properties without the overrides."""

    @abstractmethod
    def command(self) -> list[str]:
        """The command that runs the broker in the foreground."""

    def prepare(self) -> None:  # noqa: B027 - nothing to prepare is a fair answer
        """Whatever must happen once before the first start."""

    # ---- what tests use

    @property
    def bootstrap(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def log_dir(self) -> Path:
        return self.log_dirs[0]

    @property
    def properties_file(self) -> Path:
        return self.folder / "server.properties"

    @property
    def pid(self) -> int:
        assert self.process is not None, "the broker was never started"
        return self.process.pid

    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def output(self) -> str:
        """Everything the broker printed so far, over all starts."""
        path = self.folder / "out.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def write_properties(self) -> None:
        lines = {**self.properties(), **self.overrides}
        self.properties_file.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))

    def launch(self) -> None:
        """Starts the process and returns at once."""
        assert not self.is_running(), "started twice"
        self.write_properties()
        self.prepare()
        self._output = (self.folder / "out.log").open("ab")
        self.process = subprocess.Popen(
            [*self.prefix, *self.command()],
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def start(self, limit_s: float = READY_LIMIT_S) -> BrokerProcess:
        """Starts the process and returns when it answers requests."""
        self.launch()
        self.wait_until_ready(limit_s)
        return self

    @contextmanager
    def running(self) -> Iterator[Self]:
        """Started, and killed at the end of the block."""
        try:
            self.start()
            yield self
        finally:
            self.kill()

    def wait_until_ready(self, limit_s: float = READY_LIMIT_S) -> None:
        def ready() -> bool:
            if not self.is_running():
                raise BrokerFailedError(f"{self.kind} ended at start:\n{self.output()[-4000:]}")
            return self._answers()

        wait_until(ready, limit_s, f"{self.kind} answers on port {self.port}; its log is {self.folder / 'out.log'}")

    def _answers(self) -> bool:
        try:
            with WireSocket(self.port, timeout_s=5.0, host=self.host) as connection:
                return connection.has_broker()
        except OSError:
            return False

    def wait_until_ended(self, limit_s: float = STOP_LIMIT_S) -> int:
        """Waits for the process to end by itself; returns its exit code."""
        assert self.process is not None
        try:
            return self.process.wait(limit_s)
        except subprocess.TimeoutExpired:
            raise BrokerFailedError(f"{self.kind} still runs after {limit_s:g} s:\n{self.output()[-4000:]}") from None

    def stop(self) -> int:
        """SIGTERM; returns the exit code."""
        if self.process is None or self.process.poll() is not None:
            return self._close()
        self.process.send_signal(signal.SIGTERM)
        self.wait_until_ended()
        return self._close()

    def kill(self) -> None:
        """SIGKILL, as a crash of the process (what it wrote stays in the page cache)."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(STOP_LIMIT_S)
        self._close()

    def restart(self) -> None:
        self.stop()
        self.start()

    def _close(self) -> int:
        if self._output is not None:
            self._output.close()
            self._output = None
        return 0 if self.process is None or self.process.returncode is None else self.process.returncode
