"""A broker inside a test: ``with Broker() as broker`` starts it in the test's own process and removes it at the end.

It has no port and no directory in common with any other, so several run at once. Its data are in memory where there is
room (``homes.py``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.testing.clock import Clock
from kafkastore.testing.homes import Home
from kafkastore.testing.lifetime import Lifetime
from kafkastore.testing.node import Node
from kafkastore.testing.security import Security
from kafkastore.testing.settings import LOOPBACK, Settings

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping


class Broker(Node, Lifetime):
    """A broker in the test's own process: ``with Broker() as broker`` starts it, and removes it at the end. Also an
    asynchronous context manager."""

    def __init__(
        self,
        *,
        config: Mapping[str, object] | None = None,
        topics: Mapping[str, int] | None = None,
        directory: str | os.PathLike[str] | None = None,
        host: str = LOOPBACK,
        port: int = 0,
        security_protocol: str = "PLAINTEXT",
        sasl_mechanism: str = "PLAIN",
        users: Mapping[str, str] | None = None,
        client_certificates: bool = False,
        clock: Clock | None = None,
    ) -> None:
        """``config``: keys of server.properties. ``topics``: name -> number of partitions, made at the first start.
        ``directory`` is kept at the end. ``users``: name -> password. Starts nothing. Raises ConfigError."""
        security = Security(security_protocol, sasl_mechanism, users or {}, client_certificates)
        self._home = Home(directory)
        self._topics = dict(topics or {})
        super().__init__(Settings(self._home.path, 1, host, security, config or {}), clock or Clock(), port)

    def close(self) -> None:
        """Stops it, and removes its temporary directory: the end. May be called twice."""
        try:
            self.stop()
        finally:
            self._home.close()

    def _begin(self) -> None:
        super()._begin()
        topics, self._topics = self._topics, {}
        known = self.server.image.topics
        for name, partitions in topics.items():
            if name not in known:  # else the directory has it from another broker's time
                self.create_topic(name, partitions)
