"""The folder where what tests need beside Python is kept between runs, each entry named after what it was made from.

An entry is made whole or not at all, and never changed: what it is made from changes its name.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "kafkastore-tests"


def digest(*paths: Path) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:12]


def filled(name: str, command: list[str], environment: Mapping[str, str] | None = None) -> Path:
    """`command` (with {} for its output folder) fills a temporary folder that is then renamed: never half a cache."""
    folder = cache_folder() / name
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = folder.with_name(f"{folder.name}.{os.getpid()}")
    partial.mkdir()
    try:
        done = subprocess.run(
            [part.replace("{}", str(partial)) for part in command],
            env=os.environ | (environment or {}),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command[0]} failed:\n{done.stdout}\n{done.stderr}"
        if not folder.exists():
            partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder
