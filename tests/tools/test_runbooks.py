"""Snippets of public runbooks run as they stand, with our commands in the place of Kafka's: ``runbooks.py`` has them,
``runbook_machine.py`` the machine on which ``localhost:9092`` and ``/opt/kafka/bin`` are what they say. Only this finds
what a command does within a pipe, a loop and a script that ends with the first failure."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from kafkastore.cli.kafka.run_class import TOOLS
from peer import java_tools
from tidy.sources import PYTHON, ROOT
from tools.runbook_machine import commands
from tools.runbooks import RUNBOOKS, Runbook

LIMIT_S = 90


def test_runbooks_do_with_our_commands_what_they_do_with_kafkas(tmp_path: Path) -> None:
    """All on one broker, in their order: one machine for all of them."""
    command = [sys.executable, "-m", "tools.runbook_machine", str(tmp_path)]
    ended = subprocess.run(command, cwd=ROOT / "tests", capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    outcomes = json.loads((tmp_path / "outcomes.json").read_text())
    faults = [fault for one in RUNBOOKS if (fault := _fault(one, outcomes[one.name]))]
    assert not faults, "\n".join(faults)


def _fault(runbook: Runbook, outcome: dict[str, Any]) -> str:
    if outcome["status"] in runbook.statuses and re.fullmatch(runbook.prints, outcome["out"]):
        return ""
    return f"{runbook.name} ({runbook.source}) ended with {outcome['status']}:\n{outcome['out']}{outcome['err']}"


def test_each_runbook_has_a_name_and_an_address_of_its_own() -> None:
    assert len({one.name for one in RUNBOOKS}) == len(RUNBOOKS) >= 30
    assert len({one.source for one in RUNBOOKS}) == len(RUNBOOKS)


def test_package_of_tools_has_a_command_for_each_tool() -> None:
    modules = [path for path in (PYTHON / "cli" / "kafka").glob("*.py") if "\ndef main(" in path.read_text()]
    tools = [f"kafka-{path.stem.replace('_', '-')}" for path in modules]
    assert commands() == sorted([*tools, *(f"{tool}.sh" for tool in tools)])


def test_class_of_each_tool_is_known_to_run_class() -> None:
    by_class = {name.rpartition(".")[2]: tool for tool, name in java_tools.TOOLS.items()}
    assert by_class.items() <= TOOLS.items()
