"""Compaction by turns with Apache Kafka, each on an empty folder: a log of random keys is cleaned, or groups commit."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from compaction import cleaning, commits
from compaction.cleaning import Figures
from compaction.keyed_log import KeyedLog, write
from interop.batches import CODECS
from peer.apache_kafka import ApacheKafkaForMeasurement
from peer.broker_process import BrokerProcess
from peer.kafkastore_broker import KafkastoreBroker

KAFKA, OURS = "kafka", "kafkastore"
CLASSES: dict[str, type[BrokerProcess]] = {KAFKA: ApacheKafkaForMeasurement, OURS: KafkastoreBroker}


def run(arguments: argparse.Namespace, folder: Path) -> Iterator[tuple[str, dict[str, Figures]]]:
    """Each case with the figures of each broker. All cases have the same segments."""
    kinds = arguments.brokers.split(",")
    if arguments.commits:
        wanted = arguments.commits
        measured = {
            kind: _with_broker(kind, folder, commits.SETTINGS, lambda broker: commits.measure(broker, wanted))
            for kind in kinds
        }
        yield f"{wanted:,} commits", measured
        return
    segments = folder / "segments"
    segments.mkdir()
    log = KeyedLog(arguments.records, arguments.keys, arguments.record_bytes, arguments.segment_bytes, arguments.codec)
    written = write(segments, log)
    for buffer in arguments.buffers:
        settings = {**cleaning.SETTINGS, "log.cleaner.dedupe.buffer.size": str(buffer)}
        for rate in arguments.rates:
            case = cleaning.Case(segments, written, rate, arguments.seconds)
            title = (
                f"{written.active_offset:,} records, {written.size_bytes / 1e9:.2f} GB, {log.keys:,} keys, {log.codec}"
            )
            yield (
                f"{title}, a buffer of {buffer >> 20} MiB, {rate:g} requests a second",
                {kind: _with_broker(kind, folder, settings, case.measure) for kind in kinds},
            )


def _with_broker(
    kind: str, folder: Path, settings: dict[str, str], measure: Callable[[BrokerProcess], Figures]
) -> Figures:
    broker = CLASSES[kind](folder / kind, settings)
    try:
        figures = measure(broker)
    finally:
        broker.stop()
        shutil.rmtree(broker.folder, ignore_errors=True)
    shown = "  ".join(f"{name} {value:,.4g}" for name, value in figures.items())
    sys.stderr.write(f"{kind}: {shown}\n")
    return figures


def table(found: dict[str, Figures]) -> str:
    """A row for each figure; the last column is ours divided by Apache Kafka's."""
    kinds = list(found)
    lines = [f"| figure | {' | '.join(kinds)} | ratio |", f"|{'---|' * (len(kinds) + 2)}"]
    for figure in found[kinds[0]]:
        values = {kind: found[kind][figure] for kind in kinds}
        has_both = len(kinds) == len(CLASSES) and values[KAFKA]
        ratio = f"{values[OURS] / values[KAFKA]:.2f}" if has_both else ""
        lines.append(f"| {figure} | {' | '.join(f'{value:,.4g}' for value in values.values())} | {ratio} |")
    return "\n".join(lines) + "\n"


def _numbers(kind: Callable[[str], Any]) -> Callable[[str], list[Any]]:
    """Reads numbers with commas between them."""
    return lambda text: [kind(number) for number in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(prog="make compaction-bench", description=__doc__)
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--record-bytes", type=int, default=200, help="from 80 on")
    parser.add_argument("--segment-bytes", type=int, default=1 << 30)
    parser.add_argument("--codec", choices=CODECS, default="none")
    sizes, rates = _numbers(int), _numbers(float)
    parser.add_argument("--buffers", type=sizes, default=[128 << 20], help="log.cleaner.dedupe.buffer.size, several")
    parser.add_argument("--rates", type=rates, default=[0.0], help="requests a second beside the cleaning, several")
    parser.add_argument("--seconds", type=float, default=20, help="of producing before the cleaning")
    parser.add_argument("--commits", type=int, default=0, help="measures so many committed offsets in place of a log")
    parser.add_argument("--brokers", default=f"{KAFKA},{OURS}", help="which, in this order")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="kafkastore-compaction-"))
    try:
        for title, found in run(arguments, folder):
            sys.stdout.write(f"\n{title}\n\n{table(found)}")
            sys.stdout.flush()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
