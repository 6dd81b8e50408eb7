"""The jars of Apache Kafka, fetched once through Maven into a cache folder, and our small Java program compiled against them.

`pom.xml` beside this file pins every version; the folder's name carries its checksum, so a changed pom fetches anew.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
JAVA_SOURCES = HERE / "java"


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "kafkastore-tests"


def _digest(*paths: Path) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:12]


def _filled(folder: Path, command: list[str]) -> Path:
    """`command` (with {} for its output folder) fills a temporary folder that is then renamed: never half a cache."""
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = folder.with_name(f"{folder.name}.{os.getpid()}")
    partial.mkdir()
    try:
        done = subprocess.run(
            [part.replace("{}", str(partial)) for part in command], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command[0]} failed:\n{done.stdout}\n{done.stderr}"
        if not folder.exists():
            partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder


def jars() -> Path:
    """The folder of jars."""
    pom = HERE / "pom.xml"
    command = ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", "-DoutputDirectory={}"]
    return _filled(cache_folder() / f"jars-{_digest(pom)}", command)


def classpath() -> str:
    """Kafka's jars and the folder of log4j2.properties."""
    return f"{jars()}/*:{HERE}"


def program_classpath() -> str:
    """`classpath()` and the compiled classes of `java/`."""
    sources = sorted(JAVA_SOURCES.glob("*.java"))
    command = ["javac", "-nowarn", "-proc:none", "-d", "{}", "-cp", f"{jars()}/*", *map(str, sources)]
    classes = _filled(cache_folder() / f"classes-{_digest(*sources, HERE / 'pom.xml')}", command)
    return f"{classes}:{classpath()}"


if __name__ == "__main__":
    program_classpath()  # fills both caches
