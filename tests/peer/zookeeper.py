"""ZooKeeper as a process, out of Debian's jars: one standalone server on a folder and a loopback port.

Who starts a process here also ends it, by its own id. Run as a module it serves in the foreground, for trials:
``python -m peer.zookeeper FOLDER PORT``.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO

from peer import class_data
from peer.broker_process import BrokerFailedError, free_port, hang, wait_until

JARS = Path("/usr/share/java")
NETTY = tuple(f"netty-{part}" for part in ("buffer", "codec", "common", "handler", "resolver", "transport"))
NAMES = (
    "zookeeper",
    "zookeeper-jute",
    "slf4j-api",
    "slf4j-simple",
    "snappy-java",
    "metrics-core",
    "commons-cli",
    *NETTY,
)
"""What the server itself needs; libzookeeper-java brings them."""

TICK_MS = 200
"""A session's timeout is at least 2 ticks, and expiries are looked for once a tick."""

MAX_SESSION_MS = 60_000

TRIAL_TICK_MS = 2000

CONNECT = struct.pack(">iiqiqi16s", 44, 0, 0, 2 * TICK_MS, 0, 16, bytes(16))
"""A request for a session, which ends by itself."""

JVM = ("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
ARCHIVE = "zookeeper.jsa"


class ZookeeperProcess:
    """See the module."""

    host = "127.0.0.1"
    prefix: Sequence[str] = ()
    """As a broker's."""

    def __init__(
        self, folder: Path, port: int = 0, extra: Mapping[str, str | None] | None = None, tick_ms: int = TICK_MS
    ) -> None:
        self.folder = folder
        self.port = port or free_port()
        self.extra = dict(extra or {})
        self.tick_ms = tick_ms
        self.process: subprocess.Popen[bytes] | None = None
        self._output: IO[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    def command(self) -> list[str]:
        missing = [name for name in NAMES if not (JARS / f"{name}.jar").exists()]
        assert not missing, f"{JARS} has no {', '.join(missing)}: make test-environment installs libzookeeper-java"
        settings: dict[str, str | None] = {
            "tickTime": str(self.tick_ms),
            "maxSessionTimeout": str(MAX_SESSION_MS),
            "dataDir": str(self.folder / "data"),
            "clientPortAddress": self.host,
            "clientPort": str(self.port),
            "maxClientCnxns": "0",
            "admin.enableServer": "false",
            "4lw.commands.whitelist": "",
            **self.extra,
        }
        config = self.folder / "zoo.cfg"
        config.write_text("".join(f"{key}={value}\n" for key, value in settings.items() if value is not None))
        java = os.path.join(os.environ["JAVA_HOME"], "bin", "java") if os.environ.get("JAVA_HOME") else "java"
        jars = ":".join(str(JARS / f"{name}.jar") for name in NAMES)
        return [
            java,
            *JVM,
            *self.class_data(),
            "-cp",
            jars,
            "org.apache.zookeeper.server.quorum.QuorumPeerMain",
            str(config),
        ]

    def class_data(self) -> list[str]:
        """Options for the archive of its classes."""
        return class_data.mapping(_archive())

    def start(self, limit_s: float = 30.0) -> None:
        """Returns when it answers; one with TLS when it accepts connections."""
        assert self.process is None, "started twice"
        self._output = (self.folder / "out.log").open("ab")
        self.process = subprocess.Popen(
            [*self.prefix, *self.command()],
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        wait_until(self._answers, limit_s, f"ZooKeeper answers on port {self.port}")

    def kill(self) -> None:
        """SIGKILL."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def suspend(self) -> None:
        """SIGSTOP: connections stay, nothing answers once this returns."""
        assert self.process is not None
        hang(self.process.pid)

    def resume(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def output(self) -> str:
        return (self.folder / "out.log").read_text(errors="replace")

    def _answers(self) -> bool:
        assert self.process is not None
        if self.process.poll() is not None:
            raise BrokerFailedError(f"ZooKeeper ended at start:\n{self.output()[-4000:]}")
        try:
            with socket.create_connection((self.host, self.port), 0.3) as connection:
                if "secureClientPort" in self.extra:
                    return True
                connection.sendall(CONNECT)  # it accepts before it has loaded its data, and may never answer then
                return len(connection.recv(4)) == 4
        except OSError:
            return False

    def _end(self, how: signal.Signals) -> None:
        process, self.process = self.process, None
        if process is not None and process.poll() is None:
            process.send_signal(how)
            process.send_signal(signal.SIGCONT)  # after it: a suspended server must not answer before it is killed
            process.wait(30.0)
        if self._output is not None:
            self._output.close()
            self._output = None


@cache
def _archive() -> Path:
    return class_data.trained("zookeeper", [JARS / f"{name}.jar" for name in NAMES], _train) / ARCHIVE


def _train(folder: Path) -> None:
    """A server starts and ends."""

    class Trained(ZookeeperProcess):
        def class_data(self) -> list[str]:
            return class_data.dumping(folder / ARCHIVE)

    with tempfile.TemporaryDirectory(prefix="kafkastore-class-data-") as scratch:
        server = Trained(Path(scratch))
        try:
            server.start()
        finally:
            server.stop()


def main() -> None:
    """In place of this process, so that Ctrl-C reaches it."""
    server = ZookeeperProcess(Path(sys.argv[1]).absolute(), int(sys.argv[2]), tick_ms=TRIAL_TICK_MS)
    command = server.command()
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
