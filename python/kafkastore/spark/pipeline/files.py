"""Files and folders wherever Spark's file systems reach: a local disk, HDFS, an object store.

All calls run in Spark's JVM, through Hadoop's ``FileSystem``. On a local disk the raw file system is used, which writes
no ``.crc`` files.
"""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kafkastore.spark.pipeline.session import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DRAFT: Final = ".tmp"
"""What the name of a file ends in that is being written."""
LOCK_WAIT_S: Final = 30.0
"""How long a lock is waited for: a command that was killed leaves a JVM that ends within seconds."""
_LOCK_POLL_S: Final = 0.2


@dataclass(frozen=True)
class File:
    """A file below a folder: its path relative to the folder, and its bytes."""

    name: str
    size_bytes: int


class Folder:
    """A folder that may not exist yet. Paths in calls are relative to it."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        session: Any = spark
        self._jvm = session._jvm  # noqa: SLF001 - PySpark has no other way to Hadoop's file systems
        given = self._jvm.org.apache.hadoop.fs.Path(path)
        self._conf = session._jsc.hadoopConfiguration()  # noqa: SLF001
        file_system = given.getFileSystem(self._conf)
        self.is_local = file_system.getScheme() == "file"
        self._fs = file_system.getRawFileSystem() if self.is_local else file_system
        if self.is_local and not path.startswith("file:"):  # relative to Python's folder, not to the JVM's
            given = self._jvm.org.apache.hadoop.fs.Path(str(Path(path).absolute()))
        self.uri: str = file_system.makeQualified(given).toString()

    def uri_of(self, name: str) -> str:
        """The whole path of a file or folder in it."""
        return f"{self.uri}/{name}" if name else self.uri

    def _path(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self.uri_of(name))

    def exists(self, name: str = "") -> bool:
        return bool(self._fs.exists(self._path(name)))

    def make(self, name: str = "") -> None:
        """Makes the folder and those above it."""
        self._fs.mkdirs(self._path(name))

    def files(self, name: str = "") -> list[File]:
        """Every file below, at any depth, by name; none when the folder does not exist."""
        if not self.exists(name):
            return []
        listing = self._fs.listFiles(self._path(name), True)
        start = len(self.uri_of(name)) + 1
        found = []
        while listing.hasNext():
            status = listing.next()
            found.append(File(status.getPath().toString()[start:], int(status.getLen())))
        return sorted(found, key=lambda file: file.name)

    def read(self, name: str) -> str:
        stream = self._fs.open(self._path(name))
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def write(self, name: str, text: str) -> None:
        """The file has the whole text or does not exist, whenever the process is killed."""
        draft = f"{name}.{uuid.uuid4().hex[:8]}{DRAFT}"
        stream = self._fs.create(self._path(draft), True)
        try:
            stream.write(bytearray(text.encode()))
        finally:
            stream.close()
        self.move(draft, self, name)

    def move(self, name: str, target: Folder, new_name: str) -> None:
        """Renames a file, into another folder of the same file system too. Raises PipelineError where it cannot be."""
        if not self._fs.rename(self._path(name), target._path(new_name)):
            raise PipelineError(
                f"{self.uri_of(name)} cannot be renamed to {target.uri_of(new_name)}; both must be on one file system"
                " that may be written to"
            )

    def remove(self, name: str) -> None:
        """Removes a file, or a folder and everything in it; nothing when it does not exist."""
        self._fs.delete(self._path(name), True)

    def parquet_records(self, name: str) -> int:
        """The records of a Parquet file, by its footer."""
        hadoop = self._jvm.org.apache.parquet.hadoop
        source = hadoop.util.HadoopInputFile.fromPath(self._path(name), self._conf)
        reader = hadoop.ParquetFileReader.open(source)
        try:
            return int(reader.getRecordCount())
        finally:
            reader.close()

    def lock(self, name: str) -> Any:
        """Takes the lock of this name for the JVM's life, or until :func:`unlock`; None where the file system has no
        locks. Raises PipelineError when another JVM has it for longer than LOCK_WAIT_S."""
        if not self.is_local:
            return None
        channel = self._jvm.java.io.RandomAccessFile(self._path(name).toUri().getPath(), "rw").getChannel()
        until = time.monotonic() + LOCK_WAIT_S
        while time.monotonic() < until:
            try:
                if channel.tryLock() is not None:
                    return channel
            except Exception:  # noqa: BLE001 - py4j has one class for all: this JVM holds the lock itself
                break
            time.sleep(_LOCK_POLL_S)
        channel.close()
        raise PipelineError(
            f"{self.uri_of(name)} is held by another run; wait for its end, or give another --checkpoint"
        )


def unlock(lock: Any) -> None:
    """Gives back what :meth:`Folder.lock` gave."""
    if lock is not None:
        lock.close()
