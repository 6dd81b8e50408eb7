"""A driver of Spark, a process of its own that tests kill together with its JVM."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

TESTS = Path(__file__).parents[1]
LIMIT_S = 240


class Driver:
    """Runs a module of tests/ with a request in JSON as its argument; stderr goes to the end of the log."""

    def __init__(self, module: str, request: dict[str, object], log: Path) -> None:
        self._log = log
        self._lock = threading.Lock()
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, json.dumps(request)],
                env=os.environ | {"PYTHONPATH": str(TESTS)},
                stdout=subprocess.PIPE,
                stderr=output,
                start_new_session=True,
            )

    def wait_for_start(self) -> None:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line == b"started\n", f"{line!r}\n{self.log()}"

    def runs(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        """SIGKILL for the driver and its JVM, once."""
        with self._lock:
            if self.runs():
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def log(self) -> str:
        return self._log.read_text(errors="replace")[-3000:]

    def wait(self) -> bytes:
        """The rest of what it prints, when it has ended well."""
        told, _ = self._process.communicate(timeout=LIMIT_S)
        assert self._process.returncode == 0, self.log()
        return told
