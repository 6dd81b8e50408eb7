"""The load of these measurements, the Go program of this folder, and the scenarios that it runs.

Never judges a figure and starts no broker.
"""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from peer.broker_process import wait_until
from peer.cache import digest, filled
from peer.go_program import ENVIRONMENT
from peer.topics import admin_client, create_topic, end_offsets

SOURCES: Final = Path(__file__).parent
LIMIT_S: Final = 120
FILLED_MB: Final = 2000
"""The topic that is fetched, again and again, in batches of 1 MiB."""

TOUCHED_BYTES: Final = 1_300_000_000
"""Written to a file and deleted before a scenario that writes much: a virtual machine gives free memory back to its
host, and taking it again would be most of what is measured."""

QUIET: Final = 0.25
"""Cores that others may use in a measurement."""

TRIES: Final = 3
Settings = dict[str, str | float]  # flags of the program
BULK: Final[Settings] = {"seconds": 3, "warm-seconds": 0.3, "max-mb": 600, "pool-mb": 1500}
SMALL: Final[Settings] = {"records": 1, "record-bytes": 100, "seconds": 3, "warm-seconds": 1, "pool-mb": 500}
CONNECT: Final[Settings] = {"scenario": "connect", "conns": 8, "seconds": 3, "warm-seconds": 1}
SCENARIOS: Final[dict[str, Settings]] = {
    "p16k_c4": {"scenario": "produce", "batch-bytes": 16384, "conns": 4, "partitions": 4, **BULK},
    "small_c16": {"scenario": "produce", "conns": 16, "partitions": 16, **SMALL},
    "fetch": {"scenario": "fetch", "seconds": 3, "warm-seconds": 0.7},
    "connect": {**CONNECT},
    "connect_resumed": {**CONNECT, "resume": "true"},
}


class Figures(NamedTuple):
    """One measurement."""

    rate: float
    """MB/s of batches, or requests or connections per second."""
    cpu: float
    """The broker's CPU seconds for a GB, or for 10,000 requests or connections."""
    p50_ms: float
    p99_ms: float
    client: float
    """Cores that the load took."""
    others: float
    """Cores that every other process took."""
    cipher: str
    resumed: float
    """The share of connections that resumed a session."""


def counts_bytes(scenario: str) -> bool:
    return scenario in {"p16k_c4", "fetch"}


def program() -> Path:
    """The load, built once into the cache of the tests' programs."""
    compiler = Path(sys.executable).with_name("go")
    sources = sorted(path for path in SOURCES.iterdir() if path.suffix in {".go", ".mod", ".sum"})
    command = [str(compiler), "build", "-C", str(SOURCES), "-trimpath", "-o", "{}/load", "."]
    return filled(f"tls-load-{digest(*sources)}", command, ENVIRONMENT) / "load"


class Target(NamedTuple):
    """A running broker: ``bootstrap`` is a plaintext listener, ``port`` the one that is measured."""

    kind: str
    pid: int
    bootstrap: str
    port: int
    cipher: str
    """The cipher suite of TLS; empty without TLS."""

    @property
    def security(self) -> Settings:
        return {"tls": "true", "cipher": self.cipher} if self.cipher else {}


def run(target: Target, port: int, settings: Settings) -> dict[str, float]:
    given = {"address": f"127.0.0.1:{port}", "broker-pid": target.pid, **settings}
    command = [str(program()), *(f"-{name}={value}" for name, value in given.items())]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    if done.returncode != 0:
        raise SystemExit(f"{target.kind}: {' '.join(command)}: {done.stderr}")
    found: dict[str, float] = json.loads(done.stdout)
    return found


@contextmanager
def topic(target: Target, partitions: int) -> Iterator[str]:
    """A topic that ends with the measurement."""
    admin = admin_client(target.bootstrap)
    name = create_topic(target.bootstrap, f"load-{uuid.uuid4().hex[:8]}", partitions)
    try:
        yield name
    finally:
        admin.delete_topics([name])[name].result(LIMIT_S)


def fill(target: Target, name: str) -> None:
    """The topic that is fetched, written through the plaintext listener."""
    create_topic(target.bootstrap, name)
    port = int(target.bootstrap.rpartition(":")[2])
    more: Settings = {"scenario": "produce", "topic": name, "seconds": LIMIT_S, "warm-seconds": 0, "max-mb": FILLED_MB}
    run(target, port, more)


def touch_memory(folder: Path) -> None:
    path = folder / "touched"
    with path.open("wb") as file:
        for _ in range(TOUCHED_BYTES >> 20):
            file.write(bytes(1 << 20))
    path.unlink()


def measure(target: Target, scenario: str, fetched: str, folder: Path, **more: str | float) -> Figures:
    """Runs a scenario, and again when others used the CPU; of these the measurement that was disturbed least."""
    found: list[Figures] = []
    while len(found) < TRIES and not (found and found[-1].others <= QUIET):
        found.append(once(target, scenario, fetched, folder, **more))
    return min(found, key=lambda one: one.others)


def once(target: Target, scenario: str, fetched: str, folder: Path, **more: str | float) -> Figures:
    """Of a produce every acknowledged record must be in the log afterwards."""
    settings: Settings = {**SCENARIOS[scenario], **target.security, **more}
    if settings["scenario"] != "produce":
        return figures(scenario, run(target, target.port, {"topic": fetched, **settings}))
    if counts_bytes(scenario):
        touch_memory(folder)
    with topic(target, int(settings["partitions"])) as name:
        found = run(target, target.port, {"topic": name, **settings})
        wanted = found["acknowledged_records"]

        def are_there() -> bool:
            return sum(high for _, high in end_offsets(target.bootstrap, name).values()) == wanted

        wait_until(are_there, 20, f"{target.kind} has {wanted:,} records in {name}")
    return figures(scenario, found)


def figures(scenario: str, found: dict[str, float]) -> Figures:
    seconds = found["seconds"]
    amount, unit = (found["bytes"] / 1e6, 1000) if counts_bytes(scenario) else (found["units"], 10_000)
    return Figures(
        amount / seconds,
        found["broker_cpu_s"] / amount * unit,
        found["p50_ms"],
        found["p99_ms"],
        found["client_cpu_s"] / seconds,
        found["others_cpu_s"] / seconds,
        str(found["cipher"]),
        found["resumed"],
    )


def shown(figures: Figures) -> str:
    """A line for whoever waits."""
    return (
        f"{figures.rate:10,.0f} /s  CPU {figures.cpu:6.3f}  p50 {figures.p50_ms:.2f}  p99 {figures.p99_ms:.2f} ms  "
        f"client {figures.client:.2f}  others {figures.others:.2f} cores  resumed {figures.resumed:.2f}"
    )
