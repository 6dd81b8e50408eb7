"""Exports a topic to Parquet files on one machine; each call goes on where the files of earlier calls end.

What was exported is in the names of the files, so nothing else must be kept in step with them: a file that appears is
whole, and the files of a partition appear in the order of offsets, although several are written at once. So whatever is
killed, the files hold the records up to some offset, each once, and the next call removes the parts and goes on there.
A lock keeps a second export out of the topic's folder. Nothing is written to a log directory.
"""

from __future__ import annotations

import fcntl
import queue
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafkastore.scanning.parquet_files import (
    ExportedFile,
    FileOptions,
    StoppedError,
    commit,
    exported_files,
    partition_folder,
    remove_partials,
    topic_id_of,
    write_piece,
)
from kafkastore.scanning.scan import Scan, scan

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kafkastore.scanning.bounds import Bound
    from kafkastore.scanning.scan import Piece

LOCK = ".lock"


class ExportError(Exception):
    """A topic that cannot be exported; one sentence."""


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """What is exported. ``start`` holds where a partition has no files yet; ``file_bytes``: about so many bytes of
    segment files in a Parquet file."""

    log_dirs: tuple[str, ...]
    topic: str
    output: Path
    columns: tuple[str, ...]
    start: Bound | None = None
    end: Bound | None = None
    bootstrap_server: str | None = None
    command_config: str | None = field(default=None, repr=False)
    isolation_level: str = "read_uncommitted"
    allows_data_loss: bool = False
    ignores_corrupt_batches: bool = False
    file_bytes: int = 256 << 20
    files: FileOptions = field(default_factory=lambda: FileOptions("zstd", 64 << 20))
    threads: int = 1


@dataclass(frozen=True, slots=True)
class Exported:
    """A file that has appeared."""

    path: Path
    partition: int
    start_offset: int
    end_offset: int
    records: int
    size_bytes: int


class FileExport:
    """One call: :meth:`plan` and :meth:`run` while the folder is :meth:`locked`."""

    def __init__(self, request: ExportRequest) -> None:
        self.request = request
        self.segment_bytes = 0
        """Bytes of segment files to export."""
        self.offsets, self.records_done = 0, 0
        """Offsets to export, and records that are written so far, in parts too."""
        self.lost: list[tuple[int, int, int]] = []
        """(partition, from, to) of offsets that were gone, or could not be read, where that is allowed."""
        self._topic_ids: dict[int, str | None] = {}
        self._whole: Scan | None = None
        self._pieces: list[Piece] = []
        self._is_stopped = threading.Event()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Holds the topic's folder, which it makes; no other export enters. Raises ExportError when one is there."""
        folder = self.request.output / self.request.topic
        inside = [path for path in self.request.log_dirs if folder.resolve().is_relative_to(Path(path).resolve())]
        if inside:
            raise ExportError(f"{self.request.output} is in the log directory {inside[0]}; name a folder elsewhere")
        self._whole = self._scanned({})  # raises before a folder is made
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / LOCK).open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ExportError(f"another export writes to {folder}; wait for its end") from None
            yield

    def plan(self) -> None:
        """Fixes what is exported. Raises what a scan raises, and ExportError."""
        request, whole = self.request, self._whole
        assert whole is not None, "the folder is locked first"
        starts: dict[int, Bound] = {}
        for one in whole.partitions():
            folder = partition_folder(request.output, request.topic, one.partition)
            self._topic_ids[one.partition] = _topic_id(request, one.partition)
            remove_partials(folder)
            if files := exported_files(folder):
                self._refuse_other_topic(files[-1], one.partition)
                starts[one.partition] = files[-1].end_offset
            elif request.start is not None:
                starts[one.partition] = request.start
        ends = {one.partition: one.end_offset for one in whole.partitions()}
        left = {number: start for number, start in starts.items() if not isinstance(start, int) or start < ends[number]}
        wanted = [number for number in ends if number in left or number not in starts]
        if not wanted:
            return
        exported = self._scanned(left, wanted, ends)
        self._pieces = exported.pieces(request.file_bytes)
        self.segment_bytes = sum(piece.size_bytes for piece in self._pieces)
        self.offsets = sum(piece.end_offset - piece.start_offset for piece in self._pieces)
        self.lost = exported.lost

    def _scanned(
        self,
        start: Mapping[int, Bound],
        partitions: list[int] | None = None,
        end: Mapping[int, Bound] | None = None,
    ) -> Scan:
        request = self.request
        return scan(
            request.log_dirs,
            request.topic,
            partitions=partitions,
            columns=request.columns,
            start=start,
            end=request.end if end is None else end,
            isolation_level=request.isolation_level,
            bootstrap_servers=request.bootstrap_server,
            command_config=request.command_config,
            fail_on_data_loss=not request.allows_data_loss,
            ignore_corrupt_batches=request.ignores_corrupt_batches,
        )

    def _refuse_other_topic(self, file: ExportedFile, partition: int) -> None:
        exported, here = topic_id_of(file), self._topic_ids[partition]
        if exported is not None and here is not None and exported != here:
            raise ExportError(
                f"{file.path} was exported from a topic {self.request.topic} that was deleted (its id was {exported}, "
                f"now it is {here}); give another --output"
            )

    def unseen(self) -> dict[int, tuple[int, int]]:
        """See :meth:`Scan.unseen`."""
        return {} if self._whole is None else self._whole.unseen()

    def stop(self) -> None:
        """Makes :meth:`run` end soon, with the files that are whole by then."""
        self._is_stopped.set()

    def run(self) -> Iterator[Exported]:
        """Writes the files and gives each when it has appeared. Raises what a scan raises and OSError; files that have
        appeared stay."""
        found: queue.SimpleQueue[Exported | BaseException | None] = queue.SimpleQueue()
        writer = _Writers(self, self._pieces, found)
        threads = [
            threading.Thread(target=writer.work, name="export", daemon=True)
            for _ in range(min(self.request.threads, len(self._pieces)))
        ]
        for thread in threads:
            thread.start()
        working = len(threads)
        failure: BaseException | None = None
        try:
            while working:
                told = found.get()
                if told is None:
                    working -= 1
                elif isinstance(told, Exported):
                    yield told
                else:
                    failure = failure or told
        finally:
            self.stop()
            for thread in threads:
                thread.join()
            for number in {piece.partition for piece in self._pieces}:
                remove_partials(partition_folder(self.request.output, self.request.topic, number))
        if failure is not None:
            raise failure

    # ---- called by the threads

    def write(self, piece: Piece) -> tuple[Path, int]:
        """Writes the part of a piece."""
        request = self.request
        folder = partition_folder(request.output, request.topic, piece.partition)
        folder.mkdir(exist_ok=True)

        def progress(records: int) -> None:
            self.records_done += records
            if self._is_stopped.is_set():
                raise StoppedError

        progress(0)
        topic_id = self._topic_ids[piece.partition]
        path, records, lost = write_piece(piece, folder, request.topic, topic_id, request.files, progress)
        self.lost += lost
        return path, records


class _Writers:
    """The threads of an export. Each takes the next piece; a part gets its name when those before it have theirs."""

    def __init__(self, export: FileExport, pieces: list[Piece], found: queue.SimpleQueue[Any]) -> None:
        self._export = export
        self._found = found
        self._lock = threading.Lock()
        self._left = iter(pieces)
        self._waiting: dict[int, list[Piece]] = {}
        for piece in pieces:
            self._waiting.setdefault(piece.partition, []).append(piece)
        self._written: dict[tuple[int, int], tuple[Path, int]] = {}

    def work(self) -> None:
        try:
            while True:
                with self._lock:
                    piece = next(self._left, None)
                if piece is None:
                    break
                written = self._export.write(piece)
                with self._lock:
                    self._written[piece.partition, piece.start_offset] = written
                    self._commit(piece.partition)
        except StoppedError:
            pass
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
            self._export.stop()
            self._found.put(error)
        finally:
            self._found.put(None)

    def _commit(self, partition: int) -> None:
        waiting = self._waiting[partition]
        while waiting and (partition, waiting[0].start_offset) in self._written:
            piece = waiting.pop(0)
            partial, records = self._written.pop((partition, piece.start_offset))
            if records == 0:
                partial.unlink()
                continue
            path = commit(partial)
            self._found.put(
                Exported(path, partition, piece.start_offset, piece.end_offset, records, path.stat().st_size)
            )


def _topic_id(request: ExportRequest, partition: int) -> str | None:
    """The id in the partition's directory; None where there is none (before Kafka 2.8)."""
    for log_dir in request.log_dirs:
        path = Path(log_dir, f"{request.topic}-{partition}", "partition.metadata")
        try:
            lines = path.read_text(encoding="ascii", errors="replace").splitlines()
        except OSError:
            continue
        return next((line.partition(":")[2].strip() for line in lines if line.startswith("topic_id:")), None)
    return None
