"""The certificates of listeners with TLS: read at the start, and again when one of their files has changed. The
brokers' listener has the certificates of this broker's own connections to others, too.

A renewed certificate is used by handshakes that begin later; open connections go on. Files that cannot be used are
logged once for each change, and the certificates before them stay in use. Certificates that end soon are named
(``certificate_ends.py``). Never: reads the content of a file, which the data plane does (``rust/net/tls/``).
"""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from kafkastore._core import StartError
from kafkastore.config.tls import tls_settings
from kafkastore.server.certificate_ends import EndWarnings
from kafkastore.server.watcher import Watcher

if TYPE_CHECKING:
    from kafkastore._core import BrokerTls, Security
    from kafkastore.config import BrokerConfig

    State = tuple[tuple[int, int, int] | None, ...]

logger = logging.getLogger("kafkastore.server.certificates")


class Certificates(Watcher):
    """See the module. Runs on the loop."""

    def __init__(self, config: BrokerConfig, security: Security, to_brokers: BrokerTls | None) -> None:
        """``to_brokers``: TLS of this broker's connections to others."""
        self._security = security
        self._to_brokers = to_brokers
        self._link = config.brokers_link
        self._settings = {
            listener.name: tls_settings(config, listener) for listener in config.listeners if listener.has_tls
        }
        self._states = {name: _state(settings) for name, settings in self._settings.items()}
        self.warnings = EndWarnings()
        super().__init__(is_idle=not self._settings)

    def read(self) -> None:
        """Gives the data plane the certificates of each listener. Raises StartError."""
        for name, settings in self._settings.items():
            self._security.set_tls(name, settings)
            self.warnings.note(name, settings)

    async def look(self) -> None:
        """Reads a changed file again."""
        await asyncio.get_running_loop().run_in_executor(None, self._renew)
        self.warnings.look()

    def _renew(self) -> None:
        for name, settings in self._settings.items():
            state = _state(settings)
            if state == self._states[name]:
                continue
            self._states[name] = state
            try:
                self._security.set_tls(name, settings)
                self._renew_to_brokers(name)
            except StartError as error:
                logger.error("The certificates in use stay as they are: %s", error)  # noqa: TRY400
            else:
                logger.info("The certificates of listener %s are renewed", name)
                self.warnings.note(name, settings)

    def _renew_to_brokers(self, listener: str) -> None:
        link = self._link
        if (
            self._to_brokers is not None
            and link is not None
            and link.tls is not None
            and link.listener.name == listener
        ):
            self._to_brokers.renew(link.tls)


def _state(settings: dict[str, str]) -> State:
    """What tells that one of the files has changed; None for a file that is not there."""
    found: list[tuple[int, int, int] | None] = []
    for name, path in sorted(settings.items()):
        if name.endswith(".location"):
            found.append(None)
            with suppress(OSError):
                about = os.stat(path)
                found[-1] = about.st_ino, about.st_mtime_ns, about.st_size
    return tuple(found)
