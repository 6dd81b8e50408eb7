"""The jars of Spark's Kafka source, fetched once through Maven into the tests' cache folder; `pom.xml` pins them."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from peer.jars import cache_folder

POM = Path(__file__).with_name("pom.xml")


def jars() -> str:
    """For `spark.jars`."""
    folder = cache_folder() / f"spark-connector-{hashlib.sha256(POM.read_bytes()).hexdigest()[:12]}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        partial = folder.with_name(f"{folder.name}.{os.getpid()}")
        command = ["mvn", "-q", "-B", "-f", str(POM), "dependency:copy-dependencies", "-DincludeScope=runtime"]
        done = subprocess.run([*command, f"-DoutputDirectory={partial}"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            shutil.rmtree(partial, ignore_errors=True)
            raise RuntimeError(f"mvn could not fetch Spark's connector:\n{done.stdout}\n{done.stderr}")
        partial.rename(folder)
    return ",".join(str(jar) for jar in sorted(folder.glob("*.jar")))
