"""Attacks on a broker, and what its honest clients saw beside them: a table of ours, an older build of ours and Apache Kafka.

    python -m attacks [--against NAME=EXECUTABLE ...] [--kafka] [--attack NAME ...] [--output FILE]

Each attack has a fresh broker. Of heartbeats, produces and connects the longest and the 99th percentile, in ms. Memory is VmRSS from
/proc in MB above what the broker had before the attack, its peak VmHWM.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from attacks.attacks import ATTACKS, Attack
from attacks.victims import Victims
from peer.apache_kafka import ApacheKafka
from peer.kafkastore_broker import KafkastoreBroker

if TYPE_CHECKING:
    from peer.broker_process import BrokerProcess

CALM_S = 1.0  # honest load before the attack and after it
LATER_S = 30.0
MB = 1024  # kB

HEAD = """\
| attack | broker | alive | heartbeat | produce | connect | memory: peak, 30 s later | what it got |
|---|---|---|---|---|---|---|---|
"""


def status_kb(pid: int, name: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    raise LookupError(name)


def row(attack: Attack, label: str, broker: BrokerProcess) -> str:
    """Runs one attack on a fresh broker."""
    broker.start()
    try:
        if attack.prepare is not None:
            attack.prepare(broker.port)
        victims = Victims(broker.port)
        victims.start()
        time.sleep(CALM_S)
        pid = broker.pid
        idle = status_kb(pid, "VmRSS")
        Path(f"/proc/{pid}/clear_refs").write_text("5")  # VmHWM begins anew
        outcome = attack.run(broker.port)
        time.sleep(CALM_S)
        seen = victims.stop()
        is_alive = broker.is_running()
        peak = later = float("nan")
        if is_alive:
            peak = (status_kb(pid, "VmHWM") - idle) / MB
            time.sleep(LATER_S)
            later = (status_kb(pid, "VmRSS") - idle) / MB
    finally:
        broker.kill()
    clients = " | ".join(
        f"{one.longest_ms:,.0f} / {one.p99_ms:,.1f}{' (' + one.error[:60] + ')' if one.error else ''}" for one in seen
    )
    alive = "yes" if is_alive else "**no**"
    return f"| {attack.what} | {label} | {alive} | {clients} | {peak:,.0f}, {later:,.0f} | {outcome} |\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="attacks")
    parser.add_argument("--against", action="append", default=[], metavar="NAME=EXECUTABLE")
    parser.add_argument("--kafka", action="store_true")
    parser.add_argument("--attack", action="append", choices=[attack.name for attack in ATTACKS])
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    kinds: list[tuple[str, str | None]] = [tuple(one.split("=", 1)) for one in given.against]
    kinds = kinds or [("kafkastore", "")]
    out = given.output.open("a") if given.output else sys.stdout
    out.write(HEAD)
    for attack in ATTACKS:
        if given.attack and attack.name not in given.attack:
            continue
        for label, executable in [*kinds, *([("Apache Kafka 4.3", None)] if given.kafka else [])]:
            with tempfile.TemporaryDirectory() as folder:
                if executable:
                    os.environ["KAFKASTORE"] = executable
                broker = (ApacheKafka if executable is None else KafkastoreBroker)(Path(folder))
                try:
                    out.write(row(attack, label, broker))
                except Exception as error:  # noqa: BLE001 - a broker that does not even begin is a row, too
                    out.write(f"| {attack.what} | {label} | {type(error).__name__}: {str(error)[:200]} |\n")
                out.flush()


if __name__ == "__main__":
    main()
