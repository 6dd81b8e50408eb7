"""Runs a tool of ours in this process, and beside it Kafka's own with the same words on the same broker."""

from __future__ import annotations

import contextlib
import io
import sys
from typing import TYPE_CHECKING
from unittest import mock

from kafkastore.cli import main
from peer.java_tools import JavaTools, ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable


def ours(*words: str, stdin: str = "") -> ToolResult:
    """``kafkastore`` with these words."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    given = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), mock.patch.object(sys, "stdin", given):
        status = main.main(list(words))
    texts = [stream.buffer.getvalue().decode(errors="replace") for stream in (out, err)]
    return ToolResult(status, *texts)


def same(
    java: JavaTools, tool: str, *words: str, stdin: str = "", plain: Callable[[str], str] = lambda text: text
) -> str:
    """What both print on stdout, which must be the same text, as must be the exit status. ``plain`` takes out what
    differs between any two runs, such as times."""
    theirs = java.tool(tool, *words, stdin=stdin)
    mine = ours(tool, *words, stdin=stdin)
    assert (mine.exit, plain(mine.out)) == (theirs.exit, plain(theirs.out)), (mine.err, theirs.err)
    return mine.out
