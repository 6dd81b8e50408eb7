"""One broker cleans a long log: how fast, at which cost, and what a producer beside it feels.

The log's segments are put in while the broker is stopped. It starts with a dirty ratio that no log reaches, so that
what comes before the cleaning can be measured too; another ratio begins the cleaning.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from load.process import cpu_seconds, memory_mb
from load.wire import Connection, batch, produce_frame, wait_until_led

from compaction.keyed_log import Written
from interop.transplant import OF_THE_TARGET, read_checkpoint, write_checkpoint
from peer.broker_process import BrokerProcess
from peer.topics import admin_client, create_topic

COMPACTED, LOAD = "compacted", "load"
SETTINGS: Final = {"log.cleaner.backoff.ms": "500", "log.segment.delete.delay.ms": "1000"}
LOAD_RECORDS, LOAD_VALUE_BYTES = 10, 1000
START_LIMIT_S, CLEAN_LIMIT_S = 600.0, 3600.0
POLL_S = 0.1
SETTLE_S = 10.0

Figures = dict[str, float]


@dataclass(frozen=True)
class Case:
    """One log, and what is produced beside its cleaning."""

    segments: Path
    written: Written
    rate: float
    """Requests a second to another topic, before the cleaning and as long as it takes; none when it is 0."""
    seconds_before: float

    def measure(self, broker: BrokerProcess) -> Figures:
        """Starts the broker, puts the log in, cleans it."""
        broker.start()
        create_topic(broker.bootstrap, COMPACTED, 1, {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "1"})
        create_topic(broker.bootstrap, LOAD, 1)
        broker.stop()
        _put_in(broker, self.segments, self.written)
        broker.start(START_LIMIT_S)
        time.sleep(SETTLE_S)
        figures: Figures = {}
        if self.rate:
            before = _PacedProducer(broker.port, self.rate)
            time.sleep(self.seconds_before)
            figures |= before.stop("before")
        beside = _PacedProducer(broker.port, self.rate) if self.rate else None
        figures |= _clean(broker, self.written)
        if beside:
            figures |= beside.stop("beside")
        folder = broker.log_dir / f"{COMPACTED}-0"
        figures["left_mb"] = sum(path.stat().st_size for path in folder.glob("*.log")) / 1e6
        return figures


def _put_in(broker: BrokerProcess, segments: Path, written: Written) -> None:
    """Hard links: a cleaner never changes a segment. The active one is a file of the broker's own."""
    folder = broker.log_dir / f"{COMPACTED}-0"
    for file in folder.iterdir():
        if file.name != OF_THE_TARGET:
            file.unlink()
    for file in segments.glob("*.log"):
        if int(file.stem) == written.active_offset:
            shutil.copy(file, folder)
        else:
            os.link(file, folder / file.name)
    for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint"):
        entries = read_checkpoint(broker.log_dir / name)
        write_checkpoint(broker.log_dir / name, entries | {f"{COMPACTED} 0": str(written.end_offset)})


def _clean(broker: BrokerProcess, written: Written) -> Figures:
    """From the change of the dirty ratio to the checkpoint that names the active segment."""
    resting_mb, cpu_s = memory_mb(broker.pid)[0], cpu_seconds(broker.pid)
    begun = time.perf_counter()
    resource = ConfigResource(ResourceType.TOPIC, COMPACTED)
    resource.add_incremental_config(
        ConfigEntry("min.cleanable.dirty.ratio", "0.01", incremental_operation=AlterConfigOpType.SET)
    )
    admin = admin_client(broker.bootstrap)
    admin.incremental_alter_configs([resource])[resource].result(30)
    peak_mb, passes, reached = 0.0, 0, -1
    while reached < written.active_offset:
        if time.perf_counter() - begun > CLEAN_LIMIT_S or not broker.is_running():
            raise SystemExit(f"{broker.kind} did not clean the log: {broker.output()[-2000:]}")
        time.sleep(POLL_S)
        peak_mb = max(peak_mb, memory_mb(broker.pid)[0])
        found = read_checkpoint(broker.log_dir / "cleaner-offset-checkpoint").get(f"{COMPACTED} 0", -1)
        passes, reached = passes + (int(found) != reached), int(found)
    elapsed_s, used_s = time.perf_counter() - begun, cpu_seconds(broker.pid) - cpu_s
    return {
        "seconds": elapsed_s,
        "cpu_s": used_s,
        "mb_per_s": written.size_bytes / 1e6 / elapsed_s,
        "mb_per_cpu_s": written.size_bytes / 1e6 / used_s,
        "records_per_cpu_s": written.active_offset / used_s,
        "passes": passes,
        "resting_rss_mb": resting_mb,
        "peak_rss_mb": peak_mb,
        "grown_mb": peak_mb - resting_mb,
    }


class _PacedProducer:
    """Produces at a steady rate in a thread of its own. A request's latency counts from when it was due, so that one
    that waits for the request before it counts the wait."""

    def __init__(self, port: int, rate: float) -> None:
        self._connection = Connection(port)
        wait_until_led(self._connection, LOAD, 0)
        self._gap_s = 1 / rate
        self._latencies_s: list[float] = []
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        request = produce_frame(LOAD, 0, batch([bytes(LOAD_VALUE_BYTES)] * LOAD_RECORDS), 1)
        due = time.perf_counter()
        while not self._is_over.is_set():
            time.sleep(max(0.0, due - time.perf_counter()))
            self._connection.socket.sendall(request)
            error = self._connection.produce_answered(LOAD)
            if error:
                raise RuntimeError(f"produce was answered with error {error}")
            self._latencies_s.append(time.perf_counter() - due)
            due += self._gap_s

    def stop(self, when: str) -> Figures:
        self._is_over.set()
        self._thread.join()
        self._connection.close()
        ordered = sorted(self._latencies_s)
        return {
            f"requests_{when}": len(ordered),
            f"produce_ms_p50_{when}": ordered[len(ordered) // 2] * 1e3,
            f"produce_ms_p99_{when}": ordered[len(ordered) * 99 // 100] * 1e3,
            f"produce_ms_p999_{when}": ordered[len(ordered) * 999 // 1000] * 1e3,
        }
