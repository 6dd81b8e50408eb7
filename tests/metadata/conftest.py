"""ZooKeeper servers: one for the session, and ones that a test may kill."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from peer.zookeeper import ZookeeperProcess

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZookeeperProcess]:
    """A server that all tests share; each has its own chroot."""
    server = ZookeeperProcess(tmp_path_factory.mktemp("zookeeper"))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def own_zookeeper(tmp_path: Path) -> Iterator[ZookeeperProcess]:
    """A server of this test, to kill and to restart."""
    server = ZookeeperProcess(tmp_path / "zookeeper")
    server.start()
    yield server
    server.kill()
