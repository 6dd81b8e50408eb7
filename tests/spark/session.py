"""Spark for tests: a session on loopback with little memory, and a standalone cluster of two workers as Spark ships
it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import SparkSession

from peer.broker_process import free_port, wait_until
from peer.jars import connector_jars
from spark import class_data

JAR = Path(__file__).parents[2] / "target" / "jni" / "kafkastore-spark.jar"
"""`make test-builds` builds it."""
IS_SPARK_4 = not pyspark.__version__.startswith("3.")
HAS_CONNECTOR = pyspark.__version__.startswith("4.2.")
"""`tests/peer/pom-spark.xml` has Spark's own Kafka source for this version."""
START_LIMIT_S = 120.0
STOP_LIMIT_S = 20.0
QUICK_JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
JVM_OPTIONS = ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions")
CONF = {
    "spark.driver.memory": "768m",
    "spark.executor.memory": "512m",
    **dict.fromkeys(JVM_OPTIONS, QUICK_JVM),
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.extensions": "io.kafkastore.spark.KafkastoreExtensions",
    "spark.jars": ",".join([str(JAR), *([connector_jars()] if HAS_CONNECTOR else [])]),
}


def environment() -> dict[str, str]:
    """Java's address and the interpreter, for every process of Spark."""
    return {
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }


def start_session(master: str, conf: Mapping[str, str] | None = None, archive: str | None = None) -> SparkSession:
    """A session with our jar. ``archive``: the options of JVMs for the
    archive of Spark's classes."""
    os.environ.update(environment())
    builder: Any = SparkSession.builder.master(master).appName("kafkastore-tests")
    archive = class_data.options() if archive is None else archive
    for name, value in {**CONF, **(conf or {})}.items():
        builder = builder.config(name, f"{value} {archive}" if name in JVM_OPTIONS else value)
    spark: SparkSession = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


class Cluster:
    """A standalone master and workers; each a process that `close` ends by its id."""

    def __init__(self, folder: Path, workers: int = 2, master_options: Mapping[str, str] | None = None) -> None:
        self._folder = folder
        self._java_opts = " ".join(
            [QUICK_JVM, class_data.options(), *(f"-D{name}={value}" for name, value in (master_options or {}).items())]
        )
        self._processes: list[subprocess.Popen[bytes]] = []
        port = free_port()
        self.master = f"spark://127.0.0.1:{port}"
        try:
            self._start("master", "master.Master", "--port", str(port))
            self._wait_for("master", "I have been elected leader")
            for number in range(workers):
                name = f"worker-{number}"
                size = ["--cores", "1", "--memory", "768m", "--work-dir", str(folder / name)]
                self._start(name, "worker.Worker", *size, self.master)
            for number in range(workers):
                self._wait_for(f"worker-{number}", "Successfully registered")
        except BaseException:
            self.close()
            raise

    def _start(self, name: str, entry: str, *arguments: str) -> None:
        env = os.environ | environment() | {"SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": self._java_opts}
        spark_class = Path(env["SPARK_HOME"]) / "bin" / "spark-class"
        command = [str(spark_class), f"org.apache.spark.deploy.{entry}", "--host", "127.0.0.1", "--webui-port", "0"]
        with (self._folder / f"{name}.log").open("wb") as log:
            self._processes.append(
                subprocess.Popen([*command, *arguments], env=env, stdout=log, stderr=log, start_new_session=True)
            )

    def _wait_for(self, name: str, line: str) -> None:
        wait_until(lambda: line in self._log(name), START_LIMIT_S, f"{name} of the cluster says {line!r}")

    def _log(self, name: str) -> str:
        for process in self._processes:
            assert process.poll() is None, f"a process of the cluster ended:\n{self._all_logs()}"
        return (self._folder / f"{name}.log").read_text(errors="replace")

    def _all_logs(self) -> str:
        return "\n".join(path.read_text(errors="replace")[-2000:] for path in self._folder.glob("*.log"))

    def executors(self) -> list[int]:
        """The processes that run tasks for the workers."""
        found = []
        for process in Path("/proc").iterdir():
            try:
                command = (process / "cmdline").read_bytes() if process.name.isdigit() else b""
                is_ours = (
                    b"CoarseGrainedExecutorBackend" in command and self._folder in (process / "cwd").readlink().parents
                )
            except OSError:
                continue
            if is_ours:
                found.append(int(process.name))
        return found

    def close(self) -> None:
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            try:
                process.wait(STOP_LIMIT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
