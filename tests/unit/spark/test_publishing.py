"""The commit of an export, killed at each step of its way: whatever is there is there once, and the next run ends it.

The folders are real ones; a count of what is done to them decides when the process dies. Spark is played by a few
lines: it fixes the records of a batch before it is written, and gives a batch again until it has noted it as done.
"""

from __future__ import annotations

import shutil
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kafkastore.spark.pipeline.files import DRAFT, File
from kafkastore.spark.pipeline.publishing import Publication
from kafkastore.spark.pipeline.session import PipelineError

FIXED = {"--partition-by": "day"}
RECORDS = 8
BATCH = 5


class KilledError(Exception):
    """The process dies here."""


class Steps:
    """Counts what is done to files, and dies before the step that is one too many."""

    def __init__(self, left: int = 1 << 30) -> None:
        self.left = left
        self.done = 0

    def next(self) -> None:
        if self.left == 0:
            raise KilledError
        self.left -= 1
        self.done += 1


class DiskFolder:
    """What ``Folder`` is, without a JVM: each change of one file is a step."""

    is_local = True

    def __init__(self, path: Path, steps: Steps) -> None:
        self._path = path
        self._steps = steps
        self.uri = str(path)

    def uri_of(self, name: str) -> str:
        return str(self._path / name)

    def exists(self, name: str = "") -> bool:
        return (self._path / name).exists()

    def make(self, name: str = "") -> None:
        self._steps.next()
        (self._path / name).mkdir(parents=True, exist_ok=True)

    def files(self, name: str = "") -> list[File]:
        folder = self._path / name
        found = [path for path in folder.rglob("*") if path.is_file()]
        return sorted(
            (File(str(path.relative_to(folder)), path.stat().st_size) for path in found), key=lambda file: file.name
        )

    def read(self, name: str) -> str:
        return (self._path / name).read_text()

    def write(self, name: str, text: str) -> None:
        draft = self._path / f"{name}{DRAFT}"
        self._steps.next()
        draft.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(text[: len(text) // 2])
        self._steps.next()
        draft.write_text(text)
        self.move(draft.name if "/" not in name else f"{name}{DRAFT}", self, name)

    def move(self, name: str, target: DiskFolder, new_name: str) -> None:
        self._steps.next()
        assert not (target._path / new_name).exists(), f"{new_name} is there already"
        (self._path / name).rename(target._path / new_name)

    def remove(self, name: str) -> None:
        path = self._path / name
        for file in sorted(path.rglob("*")) if path.is_dir() else []:
            if file.is_file():
                self._steps.next()
                file.unlink()
        self._steps.next()
        if path.is_dir():
            shutil.rmtree(path)
        elif path.exists():
            path.unlink()

    def parquet_records(self, name: str) -> int:
        return len((self._path / name).read_text().split())

    def lock(self, name: str) -> None:
        """Another process's part; a dead process holds no lock."""


class PlayedSpark:
    """What Spark's checkpoint keeps over restarts: the records of each batch, and the batches that are done."""

    def __init__(self) -> None:
        self.batches: list[range] = []
        self.done = 0

    def run(self, folder: Path, steps: Steps, records: int = RECORDS) -> None:
        """A run of the export over the records 0 to ``records``."""
        made: Any = [DiskFolder(folder / name, steps) for name in ("lake", "lake.checkpoint")]
        publication = Publication(*made)
        publication.open(FIXED)
        while self.done < len(self.batches) or self._waiting(records):
            if self.done == len(self.batches):
                self.batches.append(self._waiting(records))
            if not publication.has(self.done):
                staging = publication.staging(self.done)
                self._write(folder / "lake.checkpoint" / staging, self.batches[self.done], steps)
                publication.commit(self.done, staging)
            steps.next()
            self.done += 1
        publication.close()

    def _waiting(self, records: int) -> range:
        start = self.batches[-1].stop if self.batches else 0
        return range(start, min(start + BATCH, records))

    @staticmethod
    def _write(staging: Path, batch: range, steps: Steps) -> None:
        """What tasks do: a file for each of three days, and what Spark writes beside them."""
        for day in range(3):
            steps.next()
            file = staging / f"topic=t/date=day-{day}" / f"part-0000{day}-5f.c000.zstd.parquet"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(" ".join(str(number) for number in batch if number % 3 == day))
        (staging / "_SUCCESS").touch()
        (staging / "_temporary").mkdir()


def exported(folder: Path) -> Counter[int]:
    """How often each record is in the plain files of the output."""
    files = (folder / "lake").rglob("*")
    return Counter(int(one) for file in files if file.is_file() for one in file.read_text().split())


def test_a_kill_at_any_step_loses_nothing_doubles_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    """Killed at one step and at a second step of the next run; then a run to the end."""
    steps = Steps()
    PlayedSpark().run(tmp_path / "whole", steps)
    assert exported(tmp_path / "whole") == Counter(range(RECORDS))
    assert steps.done > 20
    for first in range(steps.done):
        for second in range(first % 7, steps.done, 7):
            folder = tmp_path / f"{first}-{second}"
            spark = PlayedSpark()
            for left in (first, second):
                with suppress(KilledError):  # a second run may have less to do
                    spark.run(folder, Steps(left), RECORDS * 2)
                assert max(exported(folder).values(), default=1) == 1, "a record is there twice after a kill"
            spark.run(folder, Steps(), RECORDS * 2)
            assert exported(folder) == Counter(range(RECORDS * 2))
            left_over = {path.name for path in (folder / "lake.checkpoint").rglob("*") if path.is_file()}
            assert "export.json" in left_over
            assert all(name.endswith(".json") for name in left_over), left_over
            shutil.rmtree(folder)


def test_published_names_say_the_export_the_batch_and_the_codec(tmp_path: Path) -> None:
    PlayedSpark().run(tmp_path, Steps())
    names = [path.name for path in sorted((tmp_path / "lake").rglob("*.parquet"))]
    assert len(names) == len(set(names)) == 6
    export = names[0].split("-")[1]
    assert names[:2] == [f"part-{export}-{batch:010}-00000.zstd.parquet" for batch in range(2)]


def test_output_and_checkpoint_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    PlayedSpark().run(tmp_path, Steps())

    def opened(output: str, checkpoint: str, fixed: dict[str, str]) -> None:
        made: Any = [DiskFolder(tmp_path / name, Steps()) for name in (output, checkpoint)]
        Publication(*made).open(fixed)

    opened("lake", "lake.checkpoint", FIXED)
    with pytest.raises(PipelineError, match="--partition-by: this export began with day, not hour; give the same, or"):
        opened("lake", "lake.checkpoint", {"--partition-by": "hour"})
    with pytest.raises(PipelineError, match=r"lake has Parquet files, but .*other knows nothing of them"):
        opened("lake", "other", FIXED)
    shutil.rmtree(tmp_path / "lake")
    with pytest.raises(PipelineError, match=r"lake is gone, but .*lake.checkpoint says what was exported there"):
        opened("lake", "lake.checkpoint", FIXED)
