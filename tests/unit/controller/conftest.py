"""Fixtures of the controller's tests: a cluster in memory, and moves of its replicas."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from .controller_world import World, playing
from .test_reassignment import BROKERS, Mover


@pytest.fixture
async def world(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> AsyncIterator[World]:
    """Three brokers, or those that moves need; stopped before what a test has patched is as before."""
    brokers = BROKERS if "mover" in request.fixturenames else (1, 2, 3)
    async with playing(tmp_path, brokers) as world:
        yield world


@pytest.fixture
def mover(world: World) -> Mover:
    return Mover(world)
