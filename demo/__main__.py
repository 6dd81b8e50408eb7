"""The demo, step by step: a broker, the flights in, a changing group out, the proof.

`--bootstrap HOST:PORT` uses a broker that runs already.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from demo import machine
from demo.flights import Delays, airlines, as_record, delays_of_csv, rows
from demo.group import Reading, read_with_a_changing_group
from demo.produce import PARTITIONS, Produced, create_topic, produce

if TYPE_CHECKING:
    from collections.abc import Iterator

READY_LIMIT_S = 30


def say(text: str = "") -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


@contextmanager
def own_broker() -> Iterator[str]:
    """A broker of ours on a free port, its data in a temporary folder."""
    executable = os.environ.get("KAFKASTORE") or str(Path(sys.executable).parent / "kafkastore")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="kafkastore-demo-") as folder, (Path(folder) / "out.log").open("wb") as log:
        overrides = {
            "listeners": f"PLAINTEXT://127.0.0.1:{port}",
            "log.dirs": f"{folder}/data",
            "offsets.topic.replication.factor": "1",
        }
        command = [
            executable,
            "broker",
            *(part for key, value in overrides.items() for part in ("--override", f"{key}={value}")),
        ]
        started = time.perf_counter()
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            wait_until_served(port, process, Path(folder) / "out.log")
            say(f"kafkastore serves 127.0.0.1:{port} after {(time.perf_counter() - started) * 1000:.0f} ms")
            yield f"127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(READY_LIMIT_S)


def wait_until_served(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + READY_LIMIT_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise SystemExit(f"the broker ended at start:\n{log.read_text()}")
        try:
            socket.create_connection(("127.0.0.1", port), 0.2).close()
        except OSError:
            time.sleep(0.005)
        else:
            return
    raise SystemExit(f"the broker does not listen after {READY_LIMIT_S} s:\n{log.read_text()}")


def prove(records: list[tuple[bytes, bytes]], produced: Produced, reading: Reading) -> list[str]:
    """What must hold; each sentence is checked, and the demo fails on the first that does not hold."""
    offsets = {partition: sorted(at) for partition, at in reading.rows.items()}
    by_carrier: dict[str, list[int]] = {}
    for partition, at in reading.rows.items():
        for offset in offsets[partition]:
            row, carrier = at[offset]
            by_carrier.setdefault(carrier, []).append(row)
    sent: dict[str, list[int]] = {}
    for row, (key, _) in enumerate(records):
        sent.setdefault(key.decode(), []).append(row)
    partition_of = {
        carrier: {p for p, at in reading.rows.items() for _, c in at.values() if c == carrier} for carrier in sent
    }
    claims = {
        f"every one of the {len(records):,} records was read": reading.records == produced.records == len(records),
        "no offset is missing in any partition": all(
            offsets[p] == list(range(end)) for p, end in produced.ends.items()
        ),
        f"each carrier's flights stand in one of the {PARTITIONS} partitions": all(
            len(p) == 1 for p in partition_of.values()
        ),
        "and in the order in which they were sent": by_carrier == sent,
    }
    for claim, holds in claims.items():
        if not holds:
            raise SystemExit(f"does not hold: {claim}")
    return list(claims)


def print_delays(read: Delays, expected: Delays) -> None:
    """The table of mean arrival delays; equal to the CSV's or the demo fails."""
    names = airlines()
    say(f"\n{'carrier':<30} {'flights arrived':>15} {'mean delay, min':>16} {'from the CSV':>13}")
    for carrier in sorted(expected.minutes, key=expected.mean, reverse=True):
        mean, wanted = read.mean(carrier), expected.mean(carrier)
        say(f"{carrier} {names[carrier]:<27} {read.arrivals[carrier]:>15,} {mean:>16.2f} {wanted:>13.2f}")
    if (read.minutes, read.arrivals) != (expected.minutes, expected.arrivals):
        raise SystemExit("the delays differ from those of the CSV")
    say("equal to the last minute, for every carrier")


def print_rates(records: list[tuple[bytes, bytes]], produced: Produced, reading: Reading) -> None:
    megabytes = produced.value_bytes / 1e6
    records_read, seconds = reading.until_kill
    read_rate = records_read / seconds
    say(f"\n{'':<12} {'records/s':>12} {'MB/s of JSON':>14}   beside this machine, alone, on one core")
    say(
        f"{'produced':<12} {produced.records / produced.seconds:>12,.0f} {megabytes / produced.seconds:>14,.1f}"
        f"   zstd compresses {machine.zstd_rate(records):,.0f} MB/s; a file takes {machine.write_rate():,.0f} MB/s"
    )
    say(
        f"{'consumed':<12} {read_rate:>12,.0f} {read_rate * megabytes / produced.records:>14,.1f}"
        f"   Python parses {machine.json_decode_rate(records):,.0f} records/s (ours: two members, then three, until the kill)"
    )


def run(bootstrap: str, records: list[tuple[bytes, bytes]]) -> None:
    create_topic(bootstrap)
    produced = produce(bootstrap, records)
    reading = read_with_a_changing_group(bootstrap, len(records))
    print_delays(reading.delays, delays_of_csv())
    say()
    for claim in prove(records, produced, reading):
        say(f"  holds: {claim}")
    shares = ", ".join(f"{name} {count:,}" for name, count in reading.by_member.items())
    say(f"  read by member: {shares}")
    say(
        f"  {reading.twice:,} records were read twice: when it was killed, the {reading.killed} member had not committed them"
    )
    print_rates(records, produced, reading)


def main() -> None:
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument(
        "--bootstrap", help="a running broker without a topic `flights` (default: one of ours, started for the demo)"
    )
    bootstrap = parser.parse_args().bootstrap
    started = time.perf_counter()
    say("reading the flights of 2013 ...")
    records = [as_record(number, row) for number, row in enumerate(rows())]
    try:
        if bootstrap:
            AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=READY_LIMIT_S)
            run(bootstrap, records)
        else:
            with own_broker() as address:
                run(address, records)
    except KafkaException as error:
        raise SystemExit(f"the broker refused: {error}") from error
    say(f"\ndone in {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
