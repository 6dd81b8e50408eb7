"""Java programs with jars of their own, beside those of `pom.xml`: a folder of `java/` is a program, a pom its jars.

A program is compiled once into the cache, apart from every other. Whoever starts one here also ends it.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from peer.cache import digest, filled
from peer.jars import HERE, JAVA_SOURCES, jars

QUICK_JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-XX:-UsePerfData")

CLIENT_VERSIONS = ("0.11", "2.8", "3.9")
VERSIONS, VERSIONS_POM = "versions", "pom-clients-0.11.xml"
"""The program that runs with every old client, and the jars of the oldest, which it is compiled against."""

STREAMS, STREAMS_POM = "streams", "pom-streams.xml"
CONNECT_POM = "pom-connect.xml"


def classpath(program: str, pom: str, compiled_against: str = "") -> str:
    """The program's classes, the pom's jars and the folder of log4j2.properties."""
    sources = sorted((JAVA_SOURCES / program).glob("*.java"))
    against = compiled_against or pom
    command = ["javac", "-nowarn", "-proc:none", "-d", "{}", "-cp", f"{jars(against)}/*", *map(str, sources)]
    classes = filled(f"classes-{digest(*sources, HERE / against)}", command)
    return f"{classes}:{jars(pom)}/*:{HERE}"


def client_classpath(version: str) -> str:
    """One of CLIENT_VERSIONS."""
    return classpath(VERSIONS, f"pom-clients-{version}.xml", VERSIONS_POM)


def connect_classpath() -> str:
    """Connect's worker and its file connectors; there is no program of ours."""
    return f"{jars(CONNECT_POM)}/*:{HERE}"


class JavaProcess:
    """A JVM that is killed and started again; what all its runs print goes to one file."""

    def __init__(self, log: Path, arguments: Sequence[str], heap: str = "512m") -> None:
        self.log = log
        self._command = ["java", f"-Xmx{heap}", *QUICK_JVM, *arguments]
        self._process: subprocess.Popen[bytes] | None = None
        self._output: IO[bytes] | None = None

    def start(self) -> None:
        self._output = self.log.open("ab")
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=self._output, stderr=subprocess.STDOUT
        )

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def stop(self, limit_s: float) -> int:
        """Ends its standard input, which asks it to end; returns its exit code."""
        assert self._process is not None
        self._process.communicate(timeout=limit_s)
        return self._process.returncode

    def kill(self) -> None:
        """SIGKILL; does nothing when it does not run."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
        if self._output is not None:
            self._output.close()

    def end_of_log(self, characters: int = 3000) -> str:
        return self.log.read_text(errors="replace")[-characters:] if self.log.exists() else ""


if __name__ == "__main__":  # fills the caches
    for number in CLIENT_VERSIONS:
        client_classpath(number)
    classpath(STREAMS, STREAMS_POM)
    jars(CONNECT_POM)
