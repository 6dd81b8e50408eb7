"""The table of docs/tools.md of the public runbooks that ``tests/tools/test_runbooks.py`` runs."""

from __future__ import annotations

import re

from tools.runbooks import RUNBOOKS, Runbook

HEAD = "| what | address | tools |\n|---|---|---|\n"
TOOL = re.compile(r"\bkafka-(?:[a-z0-9]+-)*[a-z0-9]+(?=\.sh\b|[ \"\\])")
SHOWN = 48
"""Of an address."""


def table() -> str:
    return HEAD + "\n".join(
        f"| {one.what} | [{_short(one.source)}]({one.source}) | {_tools(one)} |" for one in RUNBOOKS
    )


def _short(address: str) -> str:
    plain = address.removeprefix("https://").split("/blob/")[0]
    return plain if len(plain) <= SHOWN else f"{plain[:SHOWN]}…"


def _tools(runbook: Runbook) -> str:
    return ", ".join(f"`{name}`" for name in dict.fromkeys(TOOL.findall(runbook.lines)))
