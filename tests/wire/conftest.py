"""The wire tests' broker and a second, well-behaved connection that must never notice what the others do."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from peer.broker_process import BrokerProcess
from peer.wire_socket import WireSocket


@pytest.fixture
def bystander(broker: BrokerProcess) -> Iterator[WireSocket]:
    """A connection that is served before and after the test."""
    with WireSocket(broker.port) as connection:
        assert connection.has_broker()
        yield connection
        assert connection.has_broker(), "another connection suffered"
