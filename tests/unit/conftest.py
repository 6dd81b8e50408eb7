"""Replaces the compiled data plane by the test double, before any module imports it.

The double hands names that it lacks (scans, checks) on to the compiled module: other folders of tests run in the same
process and need the compiled module.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import fake_engine
import pytest

import kafkastore._core as compiled


def _of_the_compiled(name: str) -> Any:
    return getattr(compiled, name)


fake_engine.__getattr__ = _of_the_compiled  # type: ignore[attr-defined]
sys.modules["kafkastore._core"] = fake_engine

from kafkastore import client_log  # noqa: E402 - over the double


@pytest.fixture(autouse=True)
def _client_lines_begin_anew() -> None:
    """Resets the limit of clients' log lines, so that earlier tests do not use up a test's lines."""
    client_log.LIMIT.reset()
