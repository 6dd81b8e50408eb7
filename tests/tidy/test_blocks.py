"""Each block of commands or of Python in a page is run by a test, or the page says in a comment why it is not."""

from __future__ import annotations

import code
import re
from typing import TYPE_CHECKING

from clients.page_lines import RUN_PAGES
from tidy.blocks import blocks, is_for_a_shell, is_set_up
from tidy.sources import ROOT, Source, pages, report

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

OF_PAGE = re.compile(r"^<!-- no block is run: .+ -->$", re.MULTILINE)
ENDS = (".rs", "/main.rs")
"""Of targets that cargo finds by itself."""


def blocks_that_nothing_runs(sources: Iterable[Source]) -> Iterator[str]:
    for one in sources:
        if one.name in RUN_PAGES or OF_PAGE.search(one.text):
            continue
        for block in blocks(one):
            is_of_make = is_for_a_shell(block) and all(is_set_up(line) for _, line in block.commands())
            if (block.language == "python" or is_for_a_shell(block)) and not is_of_make and not block.not_run:
                yield f"{one}:{block.line}: nothing runs this: say why above it, `<!-- not run: reason -->`"


class _Prompt(code.InteractiveConsole):
    """Takes lines as Python's prompt does, where a loop ends with an empty line, and runs none."""

    def __init__(self) -> None:
        super().__init__()
        self.has_failed = False

    def runcode(self, _: object) -> None:
        """Nothing."""

    def showsyntaxerror(self, filename: str | None = None, **_: object) -> None:
        del filename
        self.has_failed = True


def blocks_that_a_prompt_refuses(sources: Iterable[Source]) -> Iterator[str]:
    for one in sources:
        for block in blocks(one):
            prompt = _Prompt()
            for number, line in enumerate([*block.lines, ""] if block.language == "python" else [], start=block.line):
                prompt.push(line)
                if prompt.has_failed:
                    yield f"{one}:{number}: pasted into Python's prompt this fails: an empty line ends a loop there"
                    break


def unknown_targets_of_cargo(sources: Iterable[Source]) -> Iterator[str]:
    cargo = "\n".join(path.read_text() for path in ROOT.glob("rust/*/Cargo.toml"))
    for one in sources:
        for found in re.finditer(r"\bcargo (?:test|bench)\b[^\n`]*?--(test|bench) (\w+)", one.text):
            kind, name = found.groups()
            is_found = any((ROOT / folder / f"{name}{end}").exists() for folder in ("tests", "benches") for end in ENDS)
            if not is_found and f'[[{kind}]]\nname = "{name}"' not in cargo:
                yield f"{one.at(found.start())}: Cargo.toml has no {found[1]} {found[2]}"


def test_blocks_are_run_or_say_why_not() -> None:
    report(blocks_that_nothing_runs(pages()))


def test_blocks_of_python_can_be_pasted() -> None:
    report(blocks_that_a_prompt_refuses(pages()))


def test_targets_of_cargo_exist() -> None:
    report(unknown_targets_of_cargo(pages()))
