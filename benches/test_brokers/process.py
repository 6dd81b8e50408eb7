"""One process that holds a broker of tests: started, driven over its stdin, looked at, ended."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, Final, Self

from test_broker import ask, produce

from kafkastore.messages import OutgoingRequest
from test_brokers.brokers import Kind

ADDRESS: Final = re.compile(rb"(?:127\.0\.0\.1|localhost):(\d+)")
HOST: Final = "127.0.0.1"
LIMIT_S: Final = 30.0
PAUSE_S: Final = 0.001
TOPIC: Final = {"name": "t", "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}


class Process:
    """``first_ms``: from the start of the process to the first acknowledged record."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self._command = list(kind.command())  # makes what is missing
        self._folder = tempfile.mkdtemp(prefix="test-brokers-")

    def __enter__(self) -> Self:
        began = time.perf_counter()
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"TMPDIR": self._folder, "JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={self._folder}"},
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin: IO[bytes] = self._process.stdin
        self._stdout: IO[bytes] = self._process.stdout
        self._wait_for_record()
        self.first_ms = (time.perf_counter() - began) * 1000
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._stdin.close()
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._stdout.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def next_ms(self) -> float:
        """Ends the broker; from the start of another in the same process to its first acknowledged record."""
        self._say()
        while b"ended" not in self._line():
            pass
        began = time.perf_counter()
        self._say()
        self._wait_for_record()
        return (time.perf_counter() - began) * 1000

    def resident_mib(self) -> float:
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    def _wait_for_record(self) -> None:
        self.port = self._printed_port() if self._kind.port is None else self._open_port(self._kind.port(self._command))
        if not self._kind.is_seeded:
            request = OutgoingRequest("CreateTopics", 4, {"topics": [TOPIC], "timeout_ms": 5000})
            answer = ask(HOST, self.port, request)
            assert answer.topics[0].error_code == 0, answer
        ends = time.monotonic() + LIMIT_S
        while code := produce(HOST, self.port):  # the topic has no leader yet
            assert time.monotonic() < ends, f"produce is answered with error {code}"
            time.sleep(PAUSE_S)

    def _printed_port(self) -> int:
        while not (found := ADDRESS.search(self._line())):
            pass
        return int(found[1])

    def _open_port(self, port: int) -> int:
        ends = time.monotonic() + LIMIT_S
        while time.monotonic() < ends:
            with suppress(ConnectionRefusedError), socket.create_connection((HOST, port)):
                return port
            time.sleep(PAUSE_S)
        raise AssertionError(f"{self._command} takes no connections at {port}")

    def _line(self) -> bytes:
        line = self._stdout.readline()
        assert line, f"{self._command} has ended"
        return line

    def _say(self) -> None:
        self._stdin.write(b"\n")
        self._stdin.flush()
