"""The files of docs/testing-recipes.md, and the processes that run them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import kafkastore
from tidy.blocks import blocks
from tidy.sources import ROOT, source

PAGE: Final = ROOT / "docs" / "testing-recipes.md"
NAME: Final = re.compile(r"(?://|#) (\S+\.\w+)")
"""The first line of a block that is a file."""
LIMIT_S: Final = 90


def recipes() -> dict[str, str]:
    """By its name, each file of the page."""
    named = [(NAME.fullmatch(block.lines[0]), block) for block in blocks(source(PAGE))]
    return {name[1]: block.text + "\n" for name, block in named if name}


def dependencies() -> str:
    """The lines for Cargo.toml."""
    return next(block.text for block in blocks(source(PAGE)) if block.language == "toml")


def write(folder: Path, *names: str) -> None:
    files = recipes()
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(files[name])


def run(
    folder: Path, command: Sequence[str], variables: Mapping[str, str] | None = None, limit_s: float = LIMIT_S
) -> str:
    """What the command printed; `kafkastore` is on its PATH. Asserts that it succeeded."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    own = {"PATH": path, "PYTHONPATH": str(Path(kafkastore.__file__).parents[1])}
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **own, **(variables or {})},
        capture_output=True,
        text=True,
        timeout=limit_s,
        check=False,
    )
    printed: str = done.stdout + done.stderr
    assert done.returncode == 0, printed
    return printed
