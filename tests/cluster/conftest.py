"""A cluster for each test that asks for one, on either store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.cluster import Cluster
from cluster.stores import ON_SQLITE


@pytest.fixture(params=ON_SQLITE)
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
    """Three running brokers. A test that needs the other store, or both, parametrizes this."""
    with Cluster(tmp_path, request.param).running() as made:
        yield made
