"""A broker that has had no request of a controller yet."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from .replica_world import Replicas


@pytest.fixture
async def replicas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Replicas]:
    """Stopped before what a test has patched is as before."""
    replicas = Replicas(tmp_path)
    yield replicas
    replicas.engine.close()
