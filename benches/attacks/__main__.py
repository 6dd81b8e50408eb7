"""Attacks on a broker, and the latencies of its honest clients meanwhile: a table of our broker, older builds of it and
Apache Kafka.

    python -m attacks [--against NAME=EXECUTABLE ...] [--kafka] [--attack NAME ...] [--patience S] [--output FILE]

Each attack has a fresh broker. Crowds come to listeners with TLS or SASL, and so do the honest clients beside them;
``calm-...`` is their base. The table has the longest and the 99th percentile of heartbeats, produces and connects,
in ms. Memory is VmRSS from /proc in MB above the broker's memory before the attack, its peak is VmHWM. The next attack
begins when the broker is idle again, while that broker waits for its last measurement; it does not begin beside a
broker that still works (for at most LATER_S).
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from attacks import attacks
from attacks.attacks import EACH, Attack, Crowd
from attacks.crowds import ELSEWHERE, elsewhere
from attacks.guarded import Door, open_doors
from attacks.victims import Victims
from peer.apache_kafka import ApacheKafka
from peer.broker_process import BrokerProcess
from peer.kafkastore_broker import KafkastoreBroker

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


def cpu_s(pid: int) -> float:
    """Seconds of CPU that the process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_until_idle(broker: BrokerProcess) -> None:
    """Waits until the broker uses less than a tenth of a processor, has ended, or LATER_S are over."""
    for _ in range(int(LATER_S)):
        before = cpu_s(broker.pid)
        time.sleep(1)
        if not broker.is_running() or cpu_s(broker.pid) - before < 0.1:
            return


def row(attack: Attack | Crowd, label: str, broker: BrokerProcess, later: Executor) -> Future[str]:
    """Runs one attack on a fresh broker. The broker's last measurement and end run in ``later``, after this function
    has returned; the result is the table's row."""
    door = Door("PLAINTEXT", broker.port)
    if isinstance(attack, Crowd):
        door = open_doors(broker, broker.folder)(attack.protocol)
    broker.start()
    is_ending_later = False
    try:
        if isinstance(attack, Attack) and attack.prepare is not None:
            attack.prepare(broker.port)
        victims = Victims(broker.port, door)
        victims.start()
        time.sleep(CALM_S)
        pid = broker.pid
        idle = status_kb(pid, "VmRSS")
        Path(f"/proc/{pid}/clear_refs").write_text("5")  # resets VmHWM
        if isinstance(attack, Crowd):
            with elsewhere():
                outcome = attack.run(replace(door, source=ELSEWHERE))
        else:
            outcome = attack.run(broker.port)
        time.sleep(CALM_S)
        seen = victims.stop()
        clients = " | ".join(
            f"{one.longest_ms:,.0f} / {one.p99_ms:,.1f}{' (' + one.error[:60] + ')' if one.error else ''}"
            for one in seen
        )
        start = f"| {attack.what} | {label} |"
        if not broker.is_running():
            done: Future[str] = Future()
            done.set_result(f"{start} **no** | {clients} | | {outcome} |\n")
            return done
        peak = (status_kb(pid, "VmHWM") - idle) / MB
        end_s = time.monotonic() + LATER_S
        wait_until_idle(broker)
        is_ending_later = True
    finally:
        if not is_ending_later:
            broker.kill()

    def ended() -> str:
        try:
            time.sleep(max(0.0, end_s - time.monotonic()))
            if not broker.is_running():
                return f"{start} **no** | {clients} | {peak:,.0f} | {outcome} |\n"
            kept = (status_kb(pid, "VmRSS") - idle) / MB
            return f"{start} yes | {clients} | {peak:,.0f}, {kept:,.0f} | {outcome} |\n"
        finally:
            broker.kill()

    return later.submit(ended)


def main() -> None:
    parser = argparse.ArgumentParser(prog="attacks")
    parser.add_argument("--against", action="append", default=[], metavar="NAME=EXECUTABLE")
    parser.add_argument("--kafka", action="store_true")
    parser.add_argument("--attack", action="append", choices=[attack.name for attack in EACH])
    parser.add_argument(
        "--patience", type=float, default=attacks.PATIENCE_S, help="seconds that an answer is waited for"
    )
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    attacks.PATIENCE_S = given.patience
    kinds: list[tuple[str, str | None]] = [tuple(one.split("=", 1)) for one in given.against]
    kinds = kinds or [("kafkastore", "")]
    if given.kafka:
        kinds.append(("Apache Kafka 4.4", None))
    out = given.output.open("a") if given.output else sys.stdout
    out.write(HEAD)
    chosen = [attack for attack in EACH if not given.attack or attack.name in given.attack]
    rows = [(attack, *kind) for attack in chosen for kind in kinds]
    with ThreadPoolExecutor() as later, tempfile.TemporaryDirectory() as folder:
        waiting: list[Future[str]] = []
        for number, (attack, label, executable) in enumerate(rows):
            if executable:
                os.environ["KAFKASTORE"] = executable
            broker = (ApacheKafka if executable is None else KafkastoreBroker)(Path(folder) / str(number))
            try:
                waiting.append(row(attack, label, broker, later))
            except Exception as error:  # noqa: BLE001 - a broker that does not even start is a row, too
                broken: Future[str] = Future()
                broken.set_result(f"| {attack.what} | {label} | {type(error).__name__}: {str(error)[:200]} |\n")
                waiting.append(broken)
            while waiting and waiting[0].done():
                out.write(waiting.pop(0).result())
                out.flush()
        for one in waiting:
            out.write(one.result())


if __name__ == "__main__":
    main()
