"""Kafka's Java client in the versions before 4.0, each in one JVM a session: scripts of transactions and full reads.

The versions are those of `peer/pom-clients-*.xml`; the newest client is `transactional.Java`.
"""

from __future__ import annotations

import json
import subprocess
from typing import Any

from clients.transactional import Script, Values
from peer.java_programs import QUICK_JVM, client_classpath


class JavaVersion:
    """A client of `transactional.py`. Calls follow one another; its JVM ends with `close`, or with us."""

    def __init__(self, version: str) -> None:
        command = ["java", "-Xmx128m", *QUICK_JVM, "-cp", client_classpath(version), "ClientServer"]
        self.version = version
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _call(self, name: str, bootstrap: str, **arguments: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = {"call": name, "bootstrap": bootstrap, **arguments}
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"the JVM of the client {self.version} ended with {self._process.wait()}"
        answer = json.loads(line)
        assert "error" not in answer, answer["error"]
        return answer["result"]

    def run(self, script: Script) -> list[str]:
        arguments = {"transactional_id": script.transactional_id, "timeout_ms": script.timeout_ms}
        outcomes: list[str] = self._call("transactions", script.bootstrap, **arguments, steps=list(script.steps))
        return outcomes

    def read(self, bootstrap: str, topic: str, isolation: str) -> Values:
        records = self._call("consume", bootstrap, topic=topic, isolation=isolation)
        return [(partition, value) for partition, _, value in sorted(records)]


class JavaVersions:
    """The clients that were asked for so far, each started once. The creator closes them."""

    def __init__(self) -> None:
        self._started: dict[str, JavaVersion] = {}

    def __call__(self, version: str) -> JavaVersion:
        if version not in self._started:
            self._started[version] = JavaVersion(version)
        return self._started[version]

    def close(self) -> None:
        for client in self._started.values():
            client.close()
