"""``kafkastore check`` as a user runs it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from peer.kafkastore_broker import executable

LIMIT_S = 60


def check(*paths: Path) -> tuple[int, list[dict[str, Any]], dict[str, Any]]:
    """(exit status, faults, summary)."""
    command = [executable(), "check", "--deep-iteration", "--json", *map(str, paths)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert not ran.stderr, ran.stderr
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    return ran.returncode, [line for line in lines if line["severity"] == "fault"], lines[-1]


def assert_check_finds_nothing(log_dir: Path) -> None:
    status, faults, summary = check(log_dir)
    assert (status, faults) == (0, []), faults[:5]
    assert summary["records"] > 0
