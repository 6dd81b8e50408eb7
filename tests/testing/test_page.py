"""The examples of docs/testing.md are test files that pass."""

from __future__ import annotations

from pathlib import Path

from testing.test_pytest_plugin import run
from tidy.blocks import blocks
from tidy.sources import ROOT, source


def test_examples_of_the_page_pass(tmp_path: Path) -> None:
    found = [block for block in blocks(source(ROOT / "docs" / "testing.md")) if block.language == "python"]
    assert found
    options = ("-p", "pytest_asyncio.plugin", "--strict-markers")
    ini = "asyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n"
    done = run(tmp_path, "\n\n".join(block.text for block in found), *options, ini=ini)
    assert "7 passed" in done.stdout, done.stdout + done.stderr
