"""What programs write into the pages (``make docs``): whole pages, and blocks between two comments.

A block begins with ``<!-- generated: NAME; make docs -->`` and ends with ``<!-- end -->``; what stands between them is
replaced. ``BLOCKS`` has the names. A test fails when a page differs from what would be written.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from tidy import apis_page, commands_page, figures, keys_page, layout, man_page, metrics_page, runbooks_page
from tidy.sources import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BLOCK = re.compile(r"(<!-- generated: ([a-z-]+); make docs -->\n)(.*?)(\n<!-- end -->)", re.DOTALL)


BLOCKS: dict[str, Callable[[str], str]] = {
    "figures": lambda old: figures.table(figures.named_in(old)),
    "runbooks": lambda _: runbooks_page.table(),
    "tree": lambda _: layout.tree(),
}
"""By its name, what a block gets in the place of what stands in it; each stands on one page, whichever."""
PAGES = (apis_page, commands_page, keys_page, metrics_page, man_page)
"""Modules of whole pages: ``PAGE`` is a page's path, ``page()`` its text."""


def filled(text: str, blocks: dict[str, Callable[[str], str]]) -> str:
    """A page with its blocks as they should be."""
    return BLOCK.sub(lambda found: f"{found[1]}{blocks[found[2]](found[3])}{found[4]}", text)


def pages_with_blocks() -> list[Path]:
    paths = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [path for path in paths if "<!-- generated: " in path.read_text()]


def write() -> None:
    """Writes all of them; the figures are those of the newest record."""
    for one in PAGES:
        one.PAGE.parent.mkdir(exist_ok=True)
        one.PAGE.write_text(one.page())
    blocks = {**BLOCKS, "figures": lambda _: figures.table(figures.newest())}
    for path in pages_with_blocks():
        path.write_text(filled(path.read_text(), blocks))


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "python"))
    write()
