"""The folder of hard links that keeps what a query reads on disk until its last task is done, whatever retention does.

    <linkDir>/<PREFIX><uuid>/           a lease: one query
        done-<share>                    left by each task at its end; who leaves the last one removes the lease
        ...                             the links, made by ``plan_scan``

A lease whose tasks never all ended (a ``limit``, a killed job) is removed by age at the next planning with the same
folder. Links live on the file system of the log directories and outside of them, where the broker would take them for
strays. Nothing here touches a file that it did not make.
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
"""Since a task of the query last ended; no single task should take a day."""


@dataclass(frozen=True)
class Lease:
    """One share's part in a lease: it is number ``share`` of ``shares``."""

    folder: str
    share: int
    shares: int

    def finish(self) -> None:
        """The share has been read; the last one removes the folder. Twice does no harm, nor does a folder that is
        gone."""
        folder = Path(self.folder)
        try:
            (folder / f"done-{self.share}").touch()
        except FileNotFoundError:
            return
        if all((folder / f"done-{number}").exists() for number in range(self.shares)):
            release(self.folder)


def take(link_dir: str, log_dirs: Sequence[str]) -> str:
    """Makes a lease's folder below ``link_dir``, which is made too, and removes old ones. ValueError, one sentence."""
    base = Path(link_dir).absolute()
    for log_dir in map(Path, log_dirs):
        if base == log_dir.absolute() or base.is_relative_to(log_dir.absolute()):
            raise ValueError(f"linkDir: {link_dir} is inside the log directory {log_dir}; name a folder beside it")
    folder = base / f"{PREFIX}{uuid.uuid4()}"
    try:
        sweep(base)
        folder.mkdir(parents=True)
    except OSError as error:
        raise ValueError(f"linkDir: {link_dir} cannot be written ({error.strerror}); name another folder") from None
    return str(folder)


def sweep(base: Path, max_age_s: float = MAX_AGE_S) -> None:
    """Removes leases in which nothing ended for ``max_age_s``."""
    for folder in base.glob(f"{PREFIX}*"):
        try:
            old = time.time() - folder.stat().st_mtime > max_age_s
        except FileNotFoundError:
            continue
        if old:
            release(str(folder))


def release(folder: str) -> None:
    """Removes a lease; whoever reads through it goes on with what is open."""
    shutil.rmtree(folder, ignore_errors=True)
