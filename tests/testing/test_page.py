"""The examples of docs/testing.md are test files that pass, and commands that run."""

from __future__ import annotations

import json
import os
from pathlib import Path

from testing.recipes import run as run_command
from testing.test_pytest_plugin import run
from tidy.blocks import blocks, is_for_a_shell
from tidy.sources import ROOT, source


def test_examples_of_the_page_pass(tmp_path: Path) -> None:
    found = [block for block in blocks(source(ROOT / "docs" / "testing.md")) if block.language == "python"]
    assert found
    options = ("-p", "pytest_asyncio.plugin", "--strict-markers")
    ini = "asyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n"
    done = run(tmp_path, "\n\n".join(block.text for block in found), *options, ini=ini)
    assert "7 passed" in done.stdout, done.stdout + done.stderr


def test_commands_of_the_page_run(tmp_path: Path) -> None:
    """The first stays until its stdin ends, the others leave nothing that runs."""
    first, others = (block.text for block in blocks(source(ROOT / "docs" / "testing.md")) if is_for_a_shell(block))
    assert json.loads(run_command(tmp_path, ["bash", "-c", f": | {first}"]))["topics"] == ["orders"]
    run_command(tmp_path, ["bash", "-ec", f"{others}\nwait || true"])
    ready = json.loads((tmp_path / "ready.json").read_text())
    assert not os.path.exists(ready["brokers"][0]["log.dir"])
