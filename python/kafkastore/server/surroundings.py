"""What a broker takes from outside: how its data plane is made, its store opened, other brokers reached; the clock;
where ids come from. The defaults are those of a real broker; a simulation or a test passes its own. Several brokers in
one process share nothing.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kafkastore._core import Engine
from kafkastore.interbroker.dialer import Dialer
from kafkastore.membership.metadata_marks import refuse_missing_store
from kafkastore.metadata.nodes import new_id
from kafkastore.metadata.opening import open_store

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kafkastore.config import BrokerConfig
    from kafkastore.interbroker.client import BrokerClient
    from kafkastore.interbroker.dialer import Connection
    from kafkastore.metadata.store import MetadataStore


def now_ms() -> int:
    """Wall clock in milliseconds, as Kafka's timestamps."""
    return int(time.time() * 1000)


def connect(host: str, port: int, client_id: str, **options: Any) -> BrokerClient:
    """The client of another broker. The client's code is imported at the first call."""
    from kafkastore.interbroker.client import BrokerClient

    return BrokerClient(host, port, client_id, **options)


@dataclass(frozen=True, slots=True, eq=False, repr=False, match_args=False)
class Surroundings:
    """See the module."""

    make_engine: Callable[[int, str, list[str], dict[str, str]], Engine] = Engine
    open_store: Callable[[BrokerConfig], MetadataStore] = open_store
    refuse_missing_store: Callable[[BrokerConfig], None] = refuse_missing_store
    """Raises StartupError where the metadata store is a file that has to exist and does not."""
    now_ms: Callable[[], int] = now_ms
    make_id: Callable[[], bytes] = new_id
    """Makes the id of a cluster or of a topic."""
    connect: Callable[..., BrokerClient] = connect
    """``(host, port, client id, dialer=)``: the client of another broker."""
    watch: Callable[[Dialer, str, int, str], Awaitable[Connection]] = Dialer.watch
    """``(dialer, host, port, client id)``: a connection that shows whether another broker is there."""


REAL = Surroundings()
