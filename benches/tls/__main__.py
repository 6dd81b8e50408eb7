"""TLS beside Apache Kafka: produce, fetch and connections, both brokers by turns in one run.

    make tls-bench
    make tls-bench TLS_ARGS="--rounds 5 --only fetch,connect --cipher TLS_AES_128_GCM_SHA256"

Starts both brokers with a listener for TLS and one without, warms both up (a JVM compiles while it runs), and measures
every scenario on one broker and then on the other, round after round. Prints the medians, and ours over Apache
Kafka's. `p16k_c4`, `small_c16` and `fetch` are those of `make referee`; `connect` is a full handshake, one ApiVersions
and a close, with eight connections open at a time; `connect_resumed` resumes sessions. The cipher suite is the same
for both, TLS_AES_256_GCM_SHA384 if none is given: that is what both choose with Java's clients and OpenSSL's.

The broker's CPU is that of its process (/proc). The load does not decrypt what it fetches, but for the front of each
answer, and encrypts what it produces beforehand, so that the two cores are the broker's as far as they can be.
`--decrypt` decrypts, `--plaintext` measures the same without TLS, `--brokers kafkastore` leaves Apache Kafka out.
Never measures a broker in another state than the one that it has after its warm-up.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Final

from peer.apache_kafka import ApacheKafkaForMeasurement
from peer.broker_process import BrokerProcess, free_port
from peer.certificates import Authority
from peer.kafkastore_broker import KafkastoreBroker
from tls.load import SCENARIOS, Figures, Target, counts_bytes, fill, measure, once, shown

KAFKA: Final = "kafka"
CLASSES: Final[dict[str, type[BrokerProcess]]] = {KAFKA: ApacheKafkaForMeasurement, "kafkastore": KafkastoreBroker}
WARM_UP: Final = {"small_c16": 25, "p16k_c4": 10, "fetch": 10, "connect": 10, "connect_resumed": 5}
"""Seconds of each scenario for Apache Kafka; ours gets one."""

WARM: Final[dict[str, str | float]] = {"warm-seconds": 0.1, "max-mb": 1e9, "pool-mb": 3000}

FETCHED: Final = "fetched"
Measured = dict[tuple[str, str], list[Figures]]  # (scenario, kind)


def start(kind: str, folder: Path, authority: Authority, given: argparse.Namespace) -> tuple[BrokerProcess, Target]:
    """A broker with both listeners."""
    broker = CLASSES[kind](folder / kind)
    port = free_port()
    broker.overrides |= {
        "listeners": broker.properties()["listeners"] + f",SSL://127.0.0.1:{port}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{broker.port},SSL://127.0.0.1:{port}",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL",
        "ssl.keystore.location": str(authority.server().both),
        "ssl.keystore.type": "PEM",
        "ssl.cipher.suites": given.cipher,
        "log.segment.delete.delay.ms": "500",
        "num.network.threads": "3",
        "num.io.threads": "8",
    }
    broker.start()
    measured, cipher = (broker.port, "") if given.plaintext else (port, given.cipher)
    return broker, Target(kind, broker.pid, broker.bootstrap, measured, cipher)


def table(found: Measured) -> str:
    """A row for each scenario."""
    head = ["scenario", "Kafka", "kafkastore", "ratio", "CPU of Kafka", "CPU of kafkastore", "ratio"]
    head += ["p99 ms of Kafka", "p99 ms of kafkastore", "cores of the load: Kafka", "kafkastore"]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for scenario in dict.fromkeys(name for name, _ in found):
        unit = "MB/s" if counts_bytes(scenario) else "connections/s" if "connect" in scenario else "requests/s"
        per = "s a GB" if counts_bytes(scenario) else "s for 10,000"
        cells = [scenario]
        for field, digits, after in (("rate", 0, unit), ("cpu", 3, per), ("p99_ms", 2, ""), ("client", 2, "")):
            values = {kind: median(found.get((scenario, kind), []), field) for kind in CLASSES}
            cells += [f"{value:,.{digits}f} {after}".strip() for value in values.values()]
            if after:
                first, second = values.values()
                cells.append(f"{second / first:.2f}" if first else "")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def median(values: list[Figures], field: str) -> float:
    return statistics.median(getattr(one, field) for one in values) if values else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="make tls-bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="scenarios, separated by commas")
    parser.add_argument("--brokers", default=",".join(CLASSES))
    parser.add_argument("--cipher", default="TLS_AES_256_GCM_SHA384")
    parser.add_argument("--decrypt", action="store_true", help="the load decrypts what it fetches")
    parser.add_argument("--plaintext", action="store_true", help="without TLS")
    given = parser.parse_args()
    scenarios = given.only.split(",") if given.only else list(SCENARIOS)
    if given.plaintext:
        scenarios = [name for name in scenarios if name != "connect_resumed"]
    found: Measured = {}
    with tempfile.TemporaryDirectory(prefix="kafkastore-tls-") as temporary:
        folder = Path(temporary)
        authority = Authority(folder / "certificates")
        brokers: list[BrokerProcess] = []
        targets: list[Target] = []
        try:
            for kind in given.brokers.split(","):
                broker, target = start(kind, folder, authority, given)
                brokers.append(broker)
                targets.append(target)
                if "fetch" in scenarios:
                    fill(target, FETCHED)
                for scenario in scenarios:
                    seconds = WARM_UP[scenario] if kind == KAFKA else 1
                    once(target, scenario, FETCHED, folder, **{**WARM, "seconds": seconds})
            for number in range(given.rounds):
                for scenario in scenarios:
                    for target in targets:
                        more = {"decrypt": "true"} if given.decrypt and scenario == "fetch" else {}
                        one = measure(target, scenario, FETCHED, folder, **more)
                        found.setdefault((scenario, target.kind), []).append(one)
                        sys.stderr.write(f"{number + 1} {scenario:<16} {target.kind:<11} {shown(one)}\n")
        finally:
            for broker in brokers:
                broker.stop()
    sys.stdout.write(f"{'plaintext' if given.plaintext else given.cipher}, medians of {given.rounds} rounds\n\n")
    sys.stdout.write(table(found))


if __name__ == "__main__":
    main()
