"""What each unit test begins with."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from kafkastore import client_log


@pytest.fixture(autouse=True)
def _client_lines_begin_anew() -> None:
    """Resets the limit of clients' log lines, so that earlier tests do not use up a test's lines."""
    client_log.LIMIT.reset()
