"""``kafkastore dump --batches``: one line a batch, as ``kafka-dump-log.sh`` prints them (scripts read these lines).

Files are listed whole and in order. A broken batch is listed too (``isvalid: false``) and makes the exit status 1.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kafkastore._core import BatchHeaders, ScanError, list_partitions
from kafkastore.cli.dump import DumpError
from kafkastore.cli.segment_end import REPAIR, fault_at_end
from kafkastore.scanning.bounds import as_timestamp_ms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkastore._core import BatchDescription
    from kafkastore.cli.dump import DumpOptions, DumpSource

SEGMENT_DIGITS = 20


def dump_batches(source: DumpSource, options: DumpOptions) -> int:
    """Prints every batch of the files. Returns 1 when a file has a broken batch, else 0."""
    out = sys.stdout if options.output is None else options.output.open("w")
    listing = _Listing(options)
    try:
        for path in segment_files(source):
            for line in listing.lines(path):
                out.write(f"{line}\n")
        out.flush()
    finally:
        if out is not sys.stdout:
            out.close()
    if listing.fault:
        sys.stderr.write(f"kafkastore dump: {listing.fault}\n")
    return 1 if listing.fault else 0


def segment_files(source: DumpSource) -> list[Path]:
    """The .log files in order of partition and offset."""
    if source.file is not None:
        return [source.file]
    found = list_partitions([str(source.log_dir)], source.topic)
    there = {one.partition: Path(one.path) for one in found}
    if not there:
        raise DumpError(f"{source.log_dir} holds no topic {source.topic}; kafkastore.topics() lists what it holds")
    for partition in source.partitions or ():
        if partition not in there:
            raise DumpError(f"topic {source.topic} has no partition {partition}; it has {', '.join(map(str, there))}")
    chosen = sorted(there if source.partitions is None else set(source.partitions))
    return [path for partition in chosen for path in _segments(there[partition])]


def _segments(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.log") if len(path.stem) == SEGMENT_DIGITS and path.stem.isdigit())


class _Listing:
    """The lines of several files. ``fault`` is the first fault that was found, as a sentence."""

    def __init__(self, options: DumpOptions) -> None:
        self.fault = ""
        self._options = options
        self._left = options.max_records

    def lines(self, path: Path) -> Iterator[str]:
        if self._left == 0:
            return
        yield f"Dumping {path}"
        if path.stem.isdigit():
            yield f"Log starting offset: {int(path.stem)}"
        headers = BatchHeaders(str(path))
        error: ScanError | None = None
        try:
            while chunk := headers.next_chunk():
                for batch in filter(self._is_wanted, chunk):
                    if self._left == 0:
                        return
                    self._left = None if self._left is None else self._left - 1
                    if not batch.is_valid:
                        self._fault(f"{path} has a batch at position {batch.position} whose CRC does not match")
                    yield line_of(batch)
        except ScanError as found:
            error = found
        if fault := fault_at_end(path, headers, error):
            self._fault(f"{fault}; {REPAIR}")
            if error is None:
                yield f"Found {headers.rest_bytes} invalid bytes at the end of {path.name}"

    def _fault(self, sentence: str) -> None:
        self.fault = self.fault or sentence

    def _is_wanted(self, batch: BatchDescription) -> bool:
        """Whether the batch has an offset within the bounds, or, for bounds that are times, its newest timestamp."""
        start, end = self._options.start, self._options.end
        if isinstance(start, int):
            if batch.last_offset < start:
                return False
        elif start is not None and batch.max_timestamp_ms < as_timestamp_ms("--from", start):
            return False
        if isinstance(end, int):
            return batch.base_offset < end
        return end is None or batch.max_timestamp_ms < as_timestamp_ms("--to", end)


def line_of(batch: BatchDescription) -> str:
    """The batch as kafka-dump-log.sh of Apache Kafka 4.4 prints it."""
    horizon = "OptionalLong.empty" if batch.delete_horizon_ms is None else f"OptionalLong[{batch.delete_horizon_ms}]"
    return (
        f"baseOffset: {batch.base_offset} lastOffset: {batch.last_offset} count: {batch.count}"
        f" baseSequence: {batch.base_sequence} lastSequence: {batch.last_sequence}"
        f" producerId: {batch.producer_id} producerEpoch: {batch.producer_epoch}"
        f" partitionLeaderEpoch: {batch.partition_leader_epoch} isTransactional: {_word(batch.is_transactional)}"
        f" isControl: {_word(batch.is_control)} deleteHorizonMs: {horizon} position: {batch.position}"
        f" {timestamp_type(batch)}: {batch.max_timestamp_ms} size: {batch.size_bytes} magic: {batch.magic}"
        f" compresscodec: {batch.codec} crc: {batch.crc} isvalid: {_word(batch.is_valid)}"
    )


def timestamp_type(batch: BatchDescription) -> str:
    """What the times of its records are, in Kafka's words."""
    if batch.magic == 0:
        return "NoTimestampType"
    return "LogAppendTime" if batch.is_log_append_time else "CreateTime"


def _word(value: bool) -> str:
    return "true" if value else "false"
