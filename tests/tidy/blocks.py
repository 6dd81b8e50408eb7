"""Pages in parts: their blocks of code, and code within a line.

A block is what stands in a fence, or what is indented by four columns after a blank line. A comment right above it,
``<!-- not run: reason -->``, says why no test runs it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tidy.sources import Source

FENCE = re.compile(r"^( *)```(\w*)")
NOT_RUN = re.compile(r"^ *<!-- not run: (.+) -->$")


class Block(NamedTuple):
    """``line`` is that of the block's first line of code; ``language`` is a fence's, "" when it says none or there is
    no fence."""

    page: str
    line: int
    language: str
    lines: list[str]
    not_run: str
    """Why no test runs it."""

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def commands(self) -> Iterator[tuple[int, str]]:
        """(line, command) of a block of shell lines; a line that ends with a backslash goes on in the next."""
        begun, first = "", self.line
        for number, line in enumerate(self.lines, start=self.line):
            begun, first = (begun + line.lstrip(), first) if begun else (line, number)
            if begun.endswith("\\"):
                begun = begun[:-1]
                continue
            if begun.strip():
                yield first, begun.strip()
            begun = ""


def blocks(page: Source) -> Iterator[Block]:
    lines = page.lines
    number, reason = 0, ""
    while number < len(lines):
        line = lines[number]
        fence = FENCE.match(line)
        said = NOT_RUN.match(line)
        is_indented = (
            line.startswith("    ") and line.strip() and (number == 0 or not lines[number - 1].strip() or reason)
        )
        if said:
            reason = said[1]
            number += 1
        elif fence:
            begin = end = number + 1
            while not lines[end].startswith(f"{fence[1]}```"):
                end += 1
            inner = [one.removeprefix(fence[1]) for one in lines[begin:end]]
            yield Block(page.name, begin + 1, fence[2], inner, reason)
            number, reason = end + 1, ""
        elif is_indented:
            begin = end = number
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
                end += 1
            inner = [one[4:] for one in lines[begin:end]]
            while not inner[-1]:
                inner.pop()
            yield Block(page.name, begin + 1, "", inner, reason)
            number, reason = end, ""
        else:
            reason = reason if not line.strip() else ""
            number += 1


def inline_code(page: Source) -> Iterator[tuple[int, str]]:
    """(line, code) of what stands in backticks outside of blocks; line breaks in it are blanks."""
    text = list(page.lines)
    for block in blocks(page):
        for number in range(block.line - 1, block.line - 1 + len(block.lines)):
            text[number] = ""
    text = ["" if one.lstrip().startswith("```") else one for one in text]
    whole = "\n".join(text)
    for found in re.finditer(r"(?<!`)`([^`]+)`(?!`)", whole):
        yield whole.count("\n", 0, found.start()) + 1, " ".join(found[1].split())


def expanded(name: str) -> list[str]:
    """``a/{b,c}.rs`` as ``a/b.rs`` and ``a/c.rs``."""
    found = re.fullmatch(r"(.*)\{(.*)\}(.*)", name)
    return [f"{found[1]}{part}{found[3]}" for part in found[2].split(",")] if found else [name]


# ---- what a block is for
SHELL = ("", "sh", "shell", "bash", "console")
PROGRAMS = {"kafkastore", "kcat", "curl", "make", "cargo", "pip", "source", "sudo", "echo", "printf", "python"}
SET_UP = ("source ", "pip install ", "sudo apt-get install ", "make ", "cargo ")
"""Lines that `make test` has done in its own way, and those that build: their targets are checked without running."""


def is_for_a_shell(block: Block) -> bool:
    """It has a line that begins with a program."""
    return block.language in SHELL and any(_program(line) for _, line in block.commands())


def _program(line: str) -> bool:
    words = [word for word in line.removeprefix("$ ").split() if not re.fullmatch(r"[A-Z_]+=\S*", word)]
    return bool(words) and (words[0] in PROGRAMS or words[0].startswith("kafka-"))


def is_set_up(line: str) -> bool:
    return re.sub(r"^(?:[A-Z_]+=\S+ )+", "", line.removeprefix("$ ")).startswith(SET_UP)
