"""A cluster for each test that asks for one, on either store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cluster.cluster import Cluster

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(params=["sqlite", "zookeeper"])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
    """Three running brokers."""
    made = Cluster(tmp_path, request.param)
    try:
        yield made.start()
    finally:
        made.close()
