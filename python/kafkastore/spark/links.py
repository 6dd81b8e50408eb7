"""The folder of hard links that keeps what a query reads on disk until its last task is done, whatever retention does.

    <linkDir>/<PREFIX><uuid>/           a lease: one query
        done-<share>                    left by each task at its end; the task that ends last removes the lease
        ...                             the links, made by ``plan_scan``

A lease whose tasks did not all end (a ``limit``, a killed job) is removed by age at the next planning with the same
folder. Links live on the file system of the log directories but outside of them: inside, the broker would take them for
strays. This module touches only files that it made.
"""

from __future__ import annotations

import shutil
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

PREFIX = "kafkastore-lease-"
MAX_AGE_S = 24 * 3600
"""A lease is removed this long after a task of its query last ended; no single task should take a day."""


@dataclass(frozen=True)
class Lease:
    """One share's part in a lease: number ``share`` of ``shares``."""

    folder: str
    share: int
    shares: int

    def finish(self) -> None:
        """Marks the share as read; when all shares are, removes the folder. Harmless when it is called twice, or when
        the folder is gone."""
        folder = Path(self.folder)
        try:
            (folder / f"done-{self.share}").touch()
        except FileNotFoundError:
            return
        if all((folder / f"done-{number}").exists() for number in range(self.shares)):
            release(self.folder)


def take(link_dir: str, log_dirs: Sequence[str]) -> str:
    """Makes a lease's folder below ``link_dir``, and that folder too, and removes old leases. Raises ValueError of one
    sentence."""
    base = Path(link_dir).resolve()
    for log_dir in map(Path, log_dirs):
        if base.is_relative_to(log_dir.resolve()):
            raise ValueError(f"linkDir: {link_dir} is inside the log directory {log_dir}; name a folder beside it")
    folder = base / f"{PREFIX}{uuid.uuid4()}"
    try:
        sweep(base)
        folder.mkdir(parents=True)
    except OSError as error:
        raise ValueError(f"linkDir: {link_dir} cannot be written ({error.strerror}); name another folder") from None
    return str(folder)


def sweep(base: Path, max_age_s: float = MAX_AGE_S) -> None:
    """Removes leases in which no task has ended for ``max_age_s``."""
    for folder in base.glob(f"{PREFIX}*"):
        try:
            old = time.time() - folder.stat().st_mtime > max_age_s
        except FileNotFoundError:
            continue
        if old:
            release(str(folder))


def release(folder: str) -> None:
    """Removes a lease; a task that reads through it can go on with the files that it has open."""
    shutil.rmtree(folder, ignore_errors=True)
