"""The folder where what tests need beside Python is kept between runs, each entry named after what it was made from.

An entry is made whole or not at all, by one process, and never changed: what it is made from changes its name.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "kafkastore-tests"


def digest(*paths: Path) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:12]


def filled(name: str, command: list[str], environment: Mapping[str, str] | None = None) -> Path:
    """The entry that `command` makes (with {} for its output folder)."""

    def run(folder: Path) -> None:
        done = subprocess.run(
            [part.replace("{}", str(folder)) for part in command],
            env=os.environ | (environment or {}),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command[0]} failed:\n{done.stdout}\n{done.stderr}"

    return made(name, run)


def made(name: str, make: Callable[[Path], None]) -> Path:
    """The entry that `make` writes into a temporary folder, which is then renamed: never half a cache. Other processes
    wait for it."""
    folder = cache_folder() / name
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.exists():
            return folder
        partial = folder.with_name(f"{name}.{os.getpid()}")
        partial.mkdir()
        try:
            make(partial)
            partial.rename(folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return folder
