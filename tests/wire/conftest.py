"""The wire tests' broker, and a second, well-behaved connection that must never notice the other connections."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from peer.wire_socket import WireSocket

if TYPE_CHECKING:
    from collections.abc import Iterator

    from peer.broker_process import BrokerProcess


@pytest.fixture
def bystander(broker: BrokerProcess) -> Iterator[WireSocket]:
    """A connection that must be served before and after the test."""
    with WireSocket(broker.port) as connection:
        assert connection.has_broker()
        yield connection
        assert connection.has_broker(), "another connection suffered"
