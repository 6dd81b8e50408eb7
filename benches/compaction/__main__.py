"""Compaction by turns with Apache Kafka, each on an empty folder: a log of random keys is cleaned, or groups commit."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from compaction import cleaning, commits
from compaction.keyed_log import KeyedLog, write
from interop.batches import CODECS
from peer.apache_kafka import ApacheKafkaForMeasurement
from peer.kafkastore_broker import KafkastoreBroker

if TYPE_CHECKING:
    from collections.abc import Callable

    from compaction.cleaning import Figures
    from peer.broker_process import BrokerProcess

KAFKA, OURS = "kafka", "kafkastore"
CLASSES: dict[str, type[BrokerProcess]] = {KAFKA: ApacheKafkaForMeasurement, OURS: KafkastoreBroker}


def run(arguments: argparse.Namespace, folder: Path) -> dict[str, Figures]:
    if arguments.commits:
        return {
            kind: _with_broker(
                kind, folder, commits.SETTINGS, lambda broker: commits.measure(broker, arguments.commits)
            )
            for kind in arguments.brokers.split(",")
        }
    segments = folder / "segments"
    segments.mkdir()
    log = KeyedLog(arguments.records, arguments.keys, arguments.record_bytes, arguments.segment_bytes, arguments.codec)
    written = write(segments, log)
    sys.stderr.write(f"{written.size_bytes / 1e9:.2f} GB in {written.active_offset:,} records, {arguments}\n")
    settings = dict(cleaning.SETTINGS)
    if arguments.buffer:
        settings["log.cleaner.dedupe.buffer.size"] = str(arguments.buffer)
    return {
        kind: _with_broker(
            kind,
            folder,
            settings,
            lambda broker: cleaning.measure(broker, segments, written, arguments.rate, arguments.seconds),
        )
        for kind in arguments.brokers.split(",")
    }


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


def main() -> None:
    parser = argparse.ArgumentParser(prog="make compaction-bench", description=__doc__)
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--record-bytes", type=int, default=200, help="from 80 on")
    parser.add_argument("--segment-bytes", type=int, default=1 << 30)
    parser.add_argument("--codec", choices=CODECS, default="none")
    parser.add_argument("--buffer", type=int, default=0, help="log.cleaner.dedupe.buffer.size, where not the default")
    parser.add_argument("--rate", type=float, default=0, help="requests a second produced beside the cleaning")
    parser.add_argument("--seconds", type=float, default=20, help="of producing before the cleaning")
    parser.add_argument("--commits", type=int, default=0, help="measures so many committed offsets in place of a log")
    parser.add_argument("--brokers", default=f"{KAFKA},{OURS}", help="which, in this order")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="kafkastore-compaction-"))
    try:
        sys.stdout.write(table(run(arguments, folder)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
