"""The two cleaners without a broker around them: one log directory, one given time, one answer.

Both programs speak the same lines of JSON: Apache Kafka's is `peer/java/LogCleaning.java`, ours is `clean_log.rs`.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from peer import class_data
from peer.jars import classpath
from peer.java_programs import QUICK_JVM

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "target" / "debug" / "examples" / "clean_log"
"""`make test-builds` builds it."""
KINDS = ("kafka", "kafkastore")


@dataclass(frozen=True)
class Request:
    """What happens to a log, between its opening and its close."""

    dir: str
    """The partition's directory."""
    now_ms: int
    config: dict[str, str] = field(default_factory=dict)
    """The topic's; segment.bytes may have any value."""
    recovery_point: int = 0
    log_start: int = 0
    """Of log-start-offset-checkpoint."""
    deletes_to: int = 0
    """A DeleteRecords to this offset, once the log is open."""
    first_dirty: int | None = None
    """Of cleaner-offset-checkpoint."""
    is_clean_shutdown: bool = False
    cleans: bool = True
    """Cleans the log, if it is due."""
    deletes: bool = False
    """Deletes old segments first, as the housekeeping does."""
    map_slots: int = 100_000
    """Of the map of keys; Kafka's have 24 bytes, ours 20."""
    load_factor: float = 0.9
    io_bytes: int = 65_536
    producer_expiration_ms: int = 86_400_000


Answer = dict[str, Any]
"""log_end, last_stable, log_start; deleted (segments), when it deletes; when it cleans: first_dirty, first_uncleanable,
clean_bytes, cleanable_bytes, delay_ms, is_due; when it was due: end (clean below it), kept_records. error, when
anything failed."""


def command(kind: str) -> list[str]:
    if kind == "kafkastore":
        assert PROGRAM.exists(), f"{PROGRAM} is missing: make test-builds"
        return [str(PROGRAM)]
    return ["java", "-Xmx512m", *QUICK_JVM, *class_data.options(class_data.PROGRAM), "-cp", classpath(), "LogCleaning"]


class LogCleaner:
    """One process of either kind, which takes one request after the other."""

    def __init__(self, kind: str, log: Path, prefix: Sequence[str] = ()) -> None:
        """``prefix`` is a command that runs the program, such as a tracer; ``log`` gets standard error."""
        self.kind = kind
        self._log = log.open("ab")
        self._process = subprocess.Popen(
            [*prefix, *command(kind)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log
        )

    def ask(self, request: Request) -> Answer:
        """The answer; ``{"error": …}`` too when the process has died."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(asdict(request)).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return {"error": "the process has died"}
        line = self._process.stdout.readline()
        answer: Answer = json.loads(line) if line else {"error": "the process has died"}
        return answer

    def close(self) -> None:
        """Kills it."""
        self._process.kill()
        self._process.communicate()
        self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
