"""Kafka's own program that copies a partition exactly once, ``TransactionalMessageCopier`` of the kafka-tools jar, as a
process that is bounced.

Each transaction has a few records and the offsets behind them; about a third of the transactions are aborted and copied
again. A process that ended before its work was done is started again with the same transactional id. This module never
judges what was copied.
"""

from __future__ import annotations

import signal
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path

from peer import class_data
from peer.broker_process import wait_until
from peer.jars import classpath

PROGRAM = "org.apache.kafka.tools.TransactionalMessageCopier"
JVM = ("-Xms32m", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")
GROUP = "copiers"
TRANSACTION_TIMEOUT_MS = 5_000
"""How long a copier that was killed may keep its partition: the next process waits for its open transaction."""

LIFE_LIMIT_S = 60.0


@dataclass(frozen=True)
class Copying:
    """What copiers copy. ``joins``: partitions are assigned by the group's coordinator."""

    bootstrap: str
    source: str
    target: str
    transaction_records: int
    joins: bool = False


class MessageCopier(threading.Thread):
    """Copies partition ``number`` of the source to the same partition of the target, or those that it is assigned.

    ``lives`` counts the processes, ``deaths`` has the errors of those that ended by themselves before their end.
    """

    def __init__(self, folder: Path, copying: Copying, number: int) -> None:
        super().__init__(name=f"copier-{number}", daemon=True)
        self.joins = copying.joins
        self.log = folder / f"copier-{number}.log"
        self.command = [
            *("java", *JVM, *class_data.options(class_data.PROGRAM), "-cp", classpath(), PROGRAM),
            *("--broker-list", copying.bootstrap),
            *("--input-topic", copying.source, "--input-partition", str(number), "--output-topic", copying.target),
            *("--transactional-id", self.name, "--consumer-group", GROUP, "--enable-random-aborts"),
            *("--transaction-size", str(copying.transaction_records)),
            *("--transaction-timeout", str(TRANSACTION_TIMEOUT_MS)),
            *(("--group-mode", "--use-group-metadata") if copying.joins else ()),
        ]
        self.lives = 0
        self.deaths: list[str] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._signalled = False
        self._enough = threading.Event()
        self._lock = threading.Lock()

    def run(self) -> None:
        is_done = False
        while not is_done and not self._enough.is_set():
            exit_code = self._live()
            # a member that has no partition ends with 0, too
            is_done = exit_code == 0 and not self._signalled and not self.joins
            if exit_code != 0 and not self._signalled:
                self.deaths.append(self._last_error(exit_code))

    def _live(self) -> int:
        with self.log.open("ab") as log:
            with self._lock:
                self._signalled = False
                self._process = process = subprocess.Popen(
                    self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
                )
                self.lives += 1
            return process.wait()

    def _last_error(self, exit_code: int) -> str:
        lines = self.log.read_text(errors="replace").splitlines()
        errors = [line for line in lines if line.startswith(("Shutting down after unexpected error", "Caused by"))]
        return "; ".join([f"{self.name}: exit {exit_code}", *errors[-2:]])

    def bounce(self, *, clean: bool) -> bool:
        """Ends the process, by SIGTERM or SIGKILL, and returns when the next process runs; False when all is copied."""
        with self._lock:
            process, before = self._process, self.lives
            if process is None or process.poll() is not None or self._enough.is_set():
                return False
            self._signalled = True
            process.send_signal(signal.SIGTERM if clean else signal.SIGKILL)
        wait_until(lambda: self.lives > before or not self.is_alive(), LIFE_LIMIT_S, f"{self.name} is back")
        return True

    def finish(self, limit_s: float) -> None:
        """Waits until the copier has ended: by itself, or as a member of a group by SIGTERM."""
        if self.joins:
            self.end(signal.SIGTERM)
        self.join(limit_s)
        assert not self.is_alive(), f"{self.name} does not end; see {self.log}"

    def close(self) -> None:
        self.end(signal.SIGKILL)
        self.join()

    def end(self, by: signal.Signals) -> None:
        self._enough.set()
        with self._lock:
            self._signalled = True
            if self._process is not None and self._process.poll() is None:
                self._process.send_signal(by)
