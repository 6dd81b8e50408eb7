"""Clients of 2014 to 2019, each a program of its own: kafka-python 1.4.7, and Kafka's Java clients of before 0.11.

Each is made once into the cache folder from what is pinned beside this file (``old_kafka_python.txt``,
``pom-clients-0.*.xml``). A call runs a program once.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from peer.cache import digest, filled
from peer.java_programs import QUICK_JVM, classpath
from peer.other_programs import ProgramError, call

HERE: Final = Path(__file__).parent
LIMIT_S: Final = 120

OLD_JAVA: Final = {"0.8.2.2": "old_producer", "0.9.0.1": "old", "0.10.2.2": "old"}
"""Version -> the program of ``java/`` that it runs. The consumer of 0.8.2 is not finished: it has a producer only."""


def old_kafka_python(name: str, bootstrap: str, /, **arguments: Any) -> Any:
    pins = HERE / "old_kafka_python.txt"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", "{}", "-r", str(pins)]
    folder = filled(f"old-kafka-python-{digest(pins)}", install)
    # on the path before the newest kafka-python, which the tests' environment has
    program = ["env", f"PYTHONPATH={folder}", sys.executable, "-W", "ignore", str(HERE / "old_kafka_python.py")]
    return call(program, name, bootstrap, **arguments)


def old_java(version: str, *arguments: str) -> list[str]:
    """What the program prints, by line."""
    program = OLD_JAVA[version]
    path = classpath(program, f"pom-clients-{version}.xml")
    command = ["java", "-Xmx128m", *QUICK_JVM, "-cp", path, "OldClient", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    if done.returncode != 0:
        raise ProgramError(done.stdout[-2000:] + done.stderr[-4000:])
    return done.stdout.splitlines()


if __name__ == "__main__":
    for one in OLD_JAVA:
        classpath(OLD_JAVA[one], f"pom-clients-{one}.xml")  # fills the cache
