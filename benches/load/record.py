"""The record of a bench: the machine, the commit, and the file in ``benches/record``. This module measures nothing."""

from __future__ import annotations

import datetime as dt
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

RECORD = Path(__file__).parents[1] / "record"


def machine() -> str:
    model = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ),
        "",
    )
    cores = os.cpu_count()
    system = f"Linux {platform.release()}, Python {platform.python_version()}"
    return f"{cores} cores of {model or platform.machine()}, {system}"


def commit() -> str:
    git = shutil.which("git")
    if git is None:
        return "unknown"
    command = [git, "describe", "--always", "--dirty"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def write_record(text: str, suffix: str = "") -> None:
    """Writes today's next record, whose name ends with ``suffix``, and prints its path."""
    RECORD.mkdir(exist_ok=True)
    today = dt.datetime.now(tz=dt.UTC).date().isoformat() + suffix
    names = [today, *(f"{today}-{number}" for number in range(2, 100))]
    path = next(path for name in names if not (path := RECORD / f"{name}.md").exists())
    path.write_text(text)
    sys.stdout.write(f"\nwritten to {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}\n")
