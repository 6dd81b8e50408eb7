"""Archives of classes for Java programs (class data sharing): a JVM maps the classes that an earlier run of the same
program has loaded, which takes half the CPU time of reading them out of the jars.

There are two here, both for the jars of `pom.xml`: that of Apache Kafka's broker, and that of our programs with its
tools and clients; Spark's is in `spark/class_data.py`. A training run makes them into the cache, when the first is
asked for. A JVM that cannot use its archive (another version of Java, other jars) starts without it, and says nothing.
"""

from __future__ import annotations

import hashlib
import logging
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Final

from peer.cache import made
from peer.jars import jars, program_jar

BROKER: Final = "broker"
PROGRAM: Final = "program"
SILENT: Final = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off", "-Xlog:class+path=off")
"""What a JVM says of archives goes to its standard output, which programs of ours answer on."""

LIMIT_S: Final = 120.0
TOPIC: Final = "training"


def options(of: str) -> list[str]:
    """Options of a JVM on the class path of BROKER or PROGRAM, with SerialGC; none where no archive can be made."""
    return mapping(_archives() / f"{of}.jsa")


@cache
def _archives() -> Path:
    return trained("kafka", [*sorted(jars().iterdir()), program_jar()], _train)


def trained(name: str, class_path: Iterable[Path], train: Callable[[Path], None]) -> Path:
    """The folder into which `train` has written archives, by what a JVM looks at before it takes one: itself, and the
    times of the jars."""
    java = Path(shutil.which("java") or "java").resolve()
    times = "".join(f"{path} {path.stat().st_mtime_ns}\n" for path in (java, *class_path))

    def fill(folder: Path) -> None:
        try:
            train(folder)
        except (AssertionError, OSError, subprocess.SubprocessError) as error:
            logging.getLogger(__name__).warning("no archive of the classes of %s: %r", name, error)
        for archive in folder.glob("*.jsa"):
            archive.with_suffix(".size").write_text(str(archive.stat().st_size))

    return made(f"class-data-{name}-{hashlib.sha256(times.encode()).hexdigest()[:12]}", fill)


def mapping(archive: Path) -> list[str]:
    """Options of a JVM that maps the archive; none where there is none. A JVM would die of an archive that was cut,
    for want of room or power."""
    size = archive.with_suffix(".size")
    is_whole = size.exists() and archive.exists() and size.read_text() == str(archive.stat().st_size)
    return [f"-XX:SharedArchiveFile={archive}", "-Xshare:auto", *SILENT] if is_whole else []


def dumping(archive: Path) -> list[str]:
    """Options of a JVM that writes the archive at its end."""
    return [f"-XX:ArchiveClassesAtExit={archive}", *SILENT]


def _train(folder: Path) -> None:
    """A broker starts, and the program creates a topic, writes and reads."""
    from peer.apache_kafka import ApacheKafka
    from peer.java_tools import JavaRecord, JavaTools

    class Broker(ApacheKafka):
        def class_data(self) -> list[str]:
            return dumping(folder / f"{BROKER}.jsa")

    with tempfile.TemporaryDirectory(prefix="kafkastore-class-data-") as scratch:
        broker = Broker(Path(scratch) / "broker")
        tools = JavaTools(Path(scratch) / "java.log", dumping(folder / f"{PROGRAM}.jsa"))
        try:
            broker.start()
            tools.tool("kafka-topics", "--bootstrap-server", broker.bootstrap, "--create", "--topic", TOPIC)
            record = JavaRecord(0, None, b"key", b"value")
            tools.produce(broker.bootstrap, TOPIC, [record])
            tools.produce(broker.bootstrap, TOPIC, [record], "commit", transactional_id=TOPIC)
            tools.consume(broker.bootstrap, TOPIC)
            tools.finish(LIMIT_S)
            broker.stop()
        finally:
            tools.close()
            broker.kill()
