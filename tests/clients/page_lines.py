"""Runs a page's blocks in the order in which they stand, in a plain shell beside a broker.

Each H2 section's Python blocks are one program, run at the place of the first; it has the imports of the sections
before it. ``RUN_PAGES`` are run whole, but for blocks below a comment ``<!-- not run: reason -->``; in other pages each
block has such a comment or is of ``make`` (``tests/tidy/test_blocks.py``).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from peer.broker_process import BrokerProcess
from tidy.blocks import Block, blocks, is_for_a_shell, is_set_up
from tidy.sources import ROOT, source

PAGES_OF_FILES = ("docs/scan.md", "docs/sql.md", "docs/export.md", "docs/dump.md")
RUN_PAGES = ("README.md", "docs/first-steps.md", *PAGES_OF_FILES, "docs/clusters.md")
LIMIT_S = 120


class PlainShell:
    """A folder in which ``data`` is a broker's log directory and ``server.properties`` its configuration, and an
    environment of a PATH and a HOME. Pages name ``localhost:9092`` and folders from the root: those are the test's."""

    def __init__(self, broker: BrokerProcess, folder: Path) -> None:
        self.folder = folder
        self.imports: list[str] = []
        (folder / "data").symlink_to(broker.log_dir)
        (folder / "server.properties").symlink_to(broker.properties_file)
        self.replaced = {"localhost:9092": broker.bootstrap, "/var/lib/kafka": "data", "/lake": "lake"}
        programs = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
        self.environment = {"PATH": programs, "HOME": str(folder), "KAFKASTORE_BOOTSTRAP_SERVERS": broker.bootstrap}
        self.environment |= {name: os.environ[name] for name in ("JAVA_HOME", "LD_LIBRARY_PATH") if name in os.environ}

    def run(self, *command: str) -> str:
        given = list(command)
        for old, new in self.replaced.items():
            given = [part.replace(old, new) for part in given]
        ended = subprocess.run(
            given, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
        assert ended.returncode == 0, f"{given}:\n{ended.stdout}\n{ended.stderr}"
        return ended.stdout

    def run_section(self, parts: list[Block]) -> dict[str, str]:
        """What each line of a section printed, by the line; its Python by "python"."""
        printed: dict[str, str] = {}
        lines = [line for block in parts if block.language == "python" for line in block.lines]
        program = "\n".join([*self.imports, *lines])
        self.imports += [line for line in lines if line.startswith(("import ", "from "))]
        for block in parts:
            if block.language == "python":
                if "python" not in printed:
                    printed["python"] = self.run("python", "-c", program)
                continue
            for _, line in block.commands():
                if not is_set_up(line):
                    printed[line] = self.run("bash", "-ec", line.removeprefix("$ "))
        return printed


def sections(page: str) -> Mapping[str, list[Block]]:
    """By its heading, each H2 section's blocks that are run, in the page's order."""
    one = source(ROOT / page)
    headings = [(one.at(found.start()), found[1]) for found in re.finditer(r"^## (.+)$", one.text, re.MULTILINE)]
    lines = [(int(at.rpartition(":")[2]), heading) for at, heading in headings]
    found: dict[str, list[Block]] = {}
    for block in _run_blocks(page):
        heading = [heading for line, heading in lines if line < block.line][-1:] or [""]
        found.setdefault(heading[0], []).append(block)
    return found


def _run_blocks(page: str) -> Iterator[Block]:
    for block in blocks(source(ROOT / page)):
        if (block.language == "python" or is_for_a_shell(block)) and not block.not_run:
            yield block
