"""What the tests of tools share: a broker with an authorizer, and one with two log directories."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from peer.broker_factory import KINDS
from tools import guarded as brokers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from peer.broker_process import BrokerProcess


@pytest.fixture(scope="session")
def guarded(against: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[brokers.Guarded]:
    """See ``guarded.py``."""
    started = brokers.start(against, tmp_path_factory.mktemp("guarded"))
    yield started
    started.broker.stop()


@pytest.fixture(scope="session")
def two_dirs(against: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A broker with two log directories and small segments."""
    folder = tmp_path_factory.mktemp("two-dirs")
    overrides = {"log.segment.bytes": "1048576", "log.index.interval.bytes": "64"}
    started = KINDS[against](folder, overrides, [folder / "d1", folder / "d2"])
    started.start()
    yield started
    started.stop()
