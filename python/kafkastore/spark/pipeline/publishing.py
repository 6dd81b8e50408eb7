"""The files of an export appear once, whole and never twice, whatever process is killed.

    OUTPUT/topic=T/date=2026-01-31/part-<export>-<batch>-<file>.parquet     only published files, nothing else
    CHECKPOINT/export.json           the export's id and what must not change between its runs
    CHECKPOINT/lock                  held by the JVM of a run
    CHECKPOINT/query/                Spark's checkpoint: the offsets of each batch, fixed before the batch is written
    CHECKPOINT/staging/<batch>-<x>/  what the tasks of a batch write
    CHECKPOINT/batches/<batch>.json  the manifest of a batch: each staged file and its published name

A batch goes through these steps:

    a. Spark fixes its offsets in ``query/offsets``; a run after a kill gets the batch with the same offsets again
    b. tasks write its records to a new folder in ``staging``
    c. the manifest is written, by one rename: from here on the batch is exported
    d. each staged file is renamed to its published name; then the staging folder is removed
    e. Spark notes the batch as done in ``query/commits``

A kill before c leaves a staging folder without a manifest, which the next run removes before Spark gives it the batch
anew. A kill in d leaves files in the staging folder of the last manifest, and the next run goes on with d. A kill
between c and e makes Spark give the batch again: a batch with a manifest is left alone. Nothing but d writes to OUTPUT,
and the manifest fixes each name, so a reader that knows nothing of this sees each record once; only in the middle of d
it sees a part of a batch's files, and the rest at the latest after the next run.
"""

from __future__ import annotations

import json
import re
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kafkastore.spark.pipeline.files import DRAFT, unlock
from kafkastore.spark.pipeline.session import PipelineError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkastore.spark.pipeline.files import Folder

STATE: Final = "export.json"
VERSION: Final = 1
SUFFIX: Final = ".parquet"
_ENDING: Final = re.compile(r"(\.(?!c\d)\w+)?\.parquet$")
"""Of what Spark calls part-….c000.zstd.parquet."""


@dataclass(frozen=True)
class PublishedFile:
    """A published file: its name in the output, bytes and records."""

    name: str
    size_bytes: int
    records: int


class Publication:
    """The output and the checkpoint of one export. One run at a time: :meth:`open` takes the lock, :meth:`close` gives
    it back."""

    def __init__(self, output: Folder, checkpoint: Folder) -> None:
        self.output = output
        self.checkpoint = checkpoint
        self._lock: Any = None
        self._id = ""

    def open(self, fixed: Mapping[str, str]) -> list[PublishedFile]:
        """Takes the lock, ends what a killed run left, and notes ``fixed`` (option -> value) in the first run. Returns
        the files of a batch that a killed run had not published wholly. Raises PipelineError when ``fixed`` is not that
        of the first run, or the output and the checkpoint do not belong together."""
        self.checkpoint.make()
        self._lock = self.checkpoint.lock("lock")
        self._id = self._recorded_id(dict(fixed))
        self.output.make()
        manifest = self._last()
        is_unfinished = manifest is not None and self.checkpoint.exists(str(manifest["staging"]))
        if manifest is not None and is_unfinished:
            self._publish(manifest)
        self.checkpoint.remove("staging")
        for file in self.checkpoint.files("batches"):
            if file.name.endswith(DRAFT):
                self.checkpoint.remove(f"batches/{file.name}")
        return _published(manifest) if manifest is not None and is_unfinished else []

    def close(self) -> None:
        unlock(self._lock)

    def _recorded_id(self, fixed: dict[str, str]) -> str:
        """The export's id."""
        if self.checkpoint.exists(STATE):
            state = json.loads(self.checkpoint.read(STATE))
            for option, value in fixed.items():
                if (before := state["fixed"].get(option, "")) != value:
                    raise PipelineError(
                        f"{option}: this export began with {before or 'none'}, not {value or 'none'}; give the same, or"
                        " another --output and --checkpoint"
                    )
            if self._last() and not self.output.exists():
                raise PipelineError(
                    f"{self.output.uri} is gone, but {self.checkpoint.uri} says what was exported there; put it back,"
                    " or remove the checkpoint to export everything again"
                )
            return str(state["id"])
        if any(file.name.endswith(SUFFIX) for file in self.output.files()):
            raise PipelineError(
                f"{self.output.uri} has Parquet files, but {self.checkpoint.uri} knows nothing of them: records would"
                " be there twice; give an empty --output, or the --checkpoint that belongs to it"
            )
        name = uuid.uuid4().hex[:8]
        self.checkpoint.write(STATE, encode_state(name, fixed))
        return name

    def has(self, batch: int) -> bool:
        """Whether the batch is exported."""
        return self.checkpoint.exists(_manifest(batch))

    def staging(self, batch: int) -> str:
        """A new folder in the checkpoint for what tasks write; no other run writes to it, not even one that was killed
        and whose tasks still run."""
        return f"staging/{batch:010}-{uuid.uuid4().hex[:8]}"

    def commit(self, batch: int, staging: str) -> list[PublishedFile]:
        """Exports the Parquet files below ``staging`` as the batch."""
        staged = [file for file in self.checkpoint.files(staging) if _is_data(file.name)]
        files: list[dict[str, Any]] = []
        for number, file in enumerate(staged):
            folder, slash, name = file.name.rpartition("/")
            codec = _ENDING.search(name)
            files.append(
                {
                    "staged": file.name,
                    "name": f"{folder}{slash}part-{self._id}-{batch:010}-{number:05}{codec[0] if codec else SUFFIX}",
                    "bytes": file.size_bytes,
                    "records": self.checkpoint.parquet_records(f"{staging}/{file.name}"),
                }
            )
        manifest = {"batch": batch, "staging": staging, "files": files}
        self.checkpoint.write(_manifest(batch), json.dumps(manifest))  # c
        self._publish(manifest)
        return _published(manifest)

    def _publish(self, manifest: Mapping[str, Any]) -> None:  # d
        staging = str(manifest["staging"])
        folders = {str(file["name"]).rpartition("/")[0] for file in manifest["files"]}
        for folder in sorted(folders):
            self.output.make(folder)
        for file in manifest["files"]:
            staged = f"{staging}/{file['staged']}"
            if self.checkpoint.exists(staged):
                self.checkpoint.move(staged, self.output, str(file["name"]))
        self.checkpoint.remove("staging")

    def _last(self) -> dict[str, Any] | None:
        """The last manifest."""
        names = [file.name for file in self.checkpoint.files("batches") if file.name.endswith(".json")]
        if not names:
            return None
        manifest: dict[str, Any] = json.loads(self.checkpoint.read(f"batches/{names[-1]}"))
        return manifest


def encode_state(name: str, fixed: Mapping[str, str]) -> str:
    """The content of :data:`STATE`; ``name`` is the export's id."""
    return json.dumps({"version": VERSION, "id": name, "fixed": dict(fixed)}, indent=1)


def _published(manifest: Mapping[str, Any]) -> list[PublishedFile]:
    return [PublishedFile(file["name"], file["bytes"], file["records"]) for file in manifest["files"]]


def _manifest(batch: int) -> str:
    return f"batches/{batch:010}.json"


def _is_data(name: str) -> bool:
    """Whether the file is one of Spark's data files and none of its markers."""
    return name.endswith(SUFFIX) and not name.rpartition("/")[2].startswith(("_", "."))
