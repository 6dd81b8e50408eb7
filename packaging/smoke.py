"""What an installed wheel does on a system on which the tests do not run: ``PYTHON packaging/smoke.py``, in the
environment with ``kafkastore[sql]``.

Each check uses calls that systems have differently: sockets and files of a broker, its locks, a kill and a recovery,
scans, a metadata store that brokers share, the faults of a test, the watch of a parent. Prints a line for each, and
ends with status 1 when one fails. Never: measures.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import kafkastore
from kafkastore import _core
from kafkastore.testing import Broker, Cluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

COMMAND = Path(sys.executable).parent / "kafkastore"
LINES = [f'{{"id": {number}, "text": "{"x" * (number % 300)}"}}' for number in range(20_000)]
LIMIT_S = 60


def run(*words: str, given: str | None = None, status: int = 0) -> str:
    done = subprocess.run([COMMAND, *words], input=given, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == status, f"{' '.join(words)}: status {done.returncode}: {done.stderr}"
    return done.stdout if status == 0 else done.stderr


def produce(servers: str, *words: str, lines: list[str] = LINES) -> None:
    run("produce", "flights", "-b", servers, *words, given="\n".join(lines) + "\n")


def consume(servers: str, *words: str) -> list[str]:
    return run("consume", "flights", "-b", servers, "-e", *words).splitlines()


@contextmanager
def broker_process(directory: str, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """``kafkastore broker``, which serves."""
    words = (f"log.dirs={directory}", f"listeners=PLAINTEXT://127.0.0.1:{port}")
    overrides = [word for one in words for word in ("--override", one)]
    with subprocess.Popen([COMMAND, "broker", *overrides], stderr=subprocess.DEVNULL) as process:
        try:
            until(lambda: serves(port) or process.poll() is not None, "the broker does not serve")
            yield process
        finally:
            process.kill()


def serves(port: int) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


# ---- the checks
def records_of_commands() -> None:
    with Broker(topics={"flights": 1}) as broker:
        produce(broker.bootstrap_servers, "-z", "zstd")
        assert consume(broker.bootstrap_servers) == LINES
        assert sorted(consume(broker.bootstrap_servers, "-g", "readers")) == sorted(LINES)
        described = run("kafka-topics", "--bootstrap-server", broker.bootstrap_servers, "--describe")
        assert "PartitionCount: 1" in described
        decoded = consume(broker.bootstrap_servers, "--value-format", "json", "--value-schema", "id LONG", "-n", "3")
        assert len(decoded) == 3
        assert _core.resident_bytes() > 0


def tls_and_passwords() -> None:
    with (
        Broker(security_protocol="SASL_SSL", sasl_mechanism="SCRAM-SHA-512", users={"ann": "secret"}) as broker,
        tempfile.TemporaryDirectory() as folder,
    ):
        config = Path(folder, "client.properties")
        config.write_text("".join(f"{key}={value}\n" for key, value in broker.client_properties("ann").items()))
        produce(broker.bootstrap_servers, "--command-config", str(config))
        assert consume(broker.bootstrap_servers, "--command-config", str(config)) == LINES


def kill_lock_and_recovery() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    servers = f"127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as folder:
        with broker_process(folder, port) as process:
            produce(servers)
            refused = run(
                "broker", "--override", f"log.dirs={folder}", "--override", "listeners=PLAINTEXT://:0", status=1
            )
            assert "in use" in refused, refused
            assert "Traceback" not in refused, refused
            process.send_signal(signal.SIGKILL)
            process.wait()
        with broker_process(folder, port) as process:
            assert consume(servers) == LINES
            process.send_signal(signal.SIGTERM)
            assert process.wait(LIMIT_S) == 0
        run("check", folder)
        (found,) = [one for one in kafkastore.topics(folder) if one.name == "flights"]
        assert found.partitions
        counted = run("sql", "--format", "json", "select count(*) as n from flights", folder)
        assert json.loads(counted) == [{"n": len(LINES)}], counted


def shared_store_and_killed_leader() -> None:
    with Cluster(brokers=3, topics={"flights": 1}) as cluster:
        produce(cluster.bootstrap_servers)
        cluster.wait_for_leader("flights").kill()
        produce(cluster.bootstrap_servers)
        assert consume(cluster.bootstrap_servers) == LINES * 2


def faults_of_a_test() -> None:
    with Broker(topics={"flights": 1}) as broker:
        with broker.faults.answer("Produce", error="NOT_LEADER_OR_FOLLOWER", times=2) as order:
            produce(broker.bootstrap_servers, lines=LINES[:10])
            assert order.count == 2
        broker.faults.disk(failing=True)
        words = ("produce", "flights", "-b", broker.bootstrap_servers)
        with subprocess.Popen([COMMAND, *words], stdin=subprocess.PIPE, text=True) as producing:
            assert producing.stdin is not None
            producing.stdin.write("x\n")
            producing.stdin.close()
            until(lambda: not broker.is_running, "a broker without a disk goes on")
            producing.kill()
        broker.start()
        assert consume(broker.bootstrap_servers) == LINES[:10]


def end_with_the_parent() -> None:
    """The parent is a shell that ends, with nothing at stdin that could tell."""
    program = f'"{COMMAND}" dev </dev/null & read -r _ </dev/stdin'
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "out")
        with (
            out.open("w") as file,
            subprocess.Popen(["sh", "-c", program], stdin=subprocess.PIPE, stdout=file) as shell,
        ):
            until(lambda: out.read_text().endswith("\n"), "dev does not start")
            shell.communicate(b"\n")
        pid = json.loads(out.read_text())["pid"]
        until(lambda: not is_alive(pid), "dev outlives its parent")


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


CHECKS = (
    records_of_commands,
    tls_and_passwords,
    kill_lock_and_recovery,
    shared_store_and_killed_leader,
    faults_of_a_test,
    end_with_the_parent,
)


def main() -> int:
    failed = 0
    for check in CHECKS:
        begin, state = time.monotonic(), "ok   "
        try:
            check()
        except Exception:  # noqa: BLE001 - the other checks are carried out
            traceback.print_exc()
            failed, state = failed + 1, "WRONG"
        print(f"{state}  {check.__name__}, {time.monotonic() - begin:.1f} s", flush=True)
    print(f"{failed} of {len(CHECKS)} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
