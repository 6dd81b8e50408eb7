"""Fixtures of the handler tests: one broker in memory per test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from .one_broker import OneBroker

MakeBroker = Callable[[Mapping[str, str]], OneBroker]


@pytest.fixture
def make_broker(tmp_path: Path) -> Iterator[MakeBroker]:
    """Makes brokers with the properties that a test gives."""
    made: list[OneBroker] = []

    def make(properties: Mapping[str, str]) -> OneBroker:
        made.append(OneBroker(tmp_path / f"broker-{len(made)}", properties))
        return made[-1]

    yield make
    for broker in made:
        broker.close()


@pytest.fixture
def broker(make_broker: MakeBroker) -> OneBroker:
    """One broker with Kafka's defaults."""
    return make_broker({})
