"""The keys that sign the tokens of OAUTHBEARER: read at the start, and again from time to time (KIP-768).

``sasl.oauthbearer.jwks.endpoint.url`` names a JWK set. A set that cannot be read at the start refuses the start;
later the keys before it stay in use, and it is tried again after ``sasl.oauthbearer.jwks.endpoint.retry.backoff.ms``,
doubled with each failure, and after ``sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms`` at the latest. A set is
read again after ``sasl.oauthbearer.jwks.endpoint.refresh.ms``, when its file has changed, and when a token names a key
that is not known: no sooner than that maximum after the last reading, since anyone can make such tokens. Never: looks
at a key, which the data plane does (``rust/net/sasl/bearer.rs``).
"""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from kafkastore._core import StartError
from kafkastore.config.sasl import sasl_settings
from kafkastore.purgatory.hanging_calls import HangingCalls
from kafkastore.server.watcher import Watcher

if TYPE_CHECKING:
    from kafkastore._core import Security
    from kafkastore.config import BrokerConfig
    from kafkastore.config.sasl import TokenSettings

logger = logging.getLogger("kafkastore.server.token_keys")

TIMEOUT_S: Final = 10.0
MAX_BYTES: Final = 1 << 20


class _KeySet:
    """The keys of one listener."""

    def __init__(self, listener: str, settings: TokenSettings) -> None:
        self.listener = listener
        self.settings = settings
        self.state: tuple[int, int, int] | None = None
        self.unknown = 0
        self.failures = 0
        self.due_at = 0.0
        self.read_at = 0.0

    @property
    def path(self) -> str | None:
        """The file of a ``file:`` URL."""
        parts = urlsplit(self.settings.keys_url)
        return unquote(parts.path) if parts.scheme == "file" else None

    def retry_s(self) -> float:
        """How long to wait after so many failures in a row."""
        backoff_ms = self.settings.retry_ms << min(self.failures - 1, 32)
        return min(backoff_ms, self.settings.retry_max_ms) / 1000

    def file_state(self) -> tuple[int, int, int] | None:
        """What tells that the file has changed."""
        with suppress(OSError):
            about = os.stat(self.path or "")
            return about.st_ino, about.st_mtime_ns, about.st_size
        return None


class TokenKeys(Watcher):
    """See the module. Runs on the loop, the reading in threads."""

    def __init__(self, config: BrokerConfig, security: Security) -> None:
        self._security = security
        self._servers = HangingCalls()
        self._sets: list[_KeySet] = []
        for listener in config.listeners:
            tokens = sasl_settings(config, listener).tokens if listener.has_sasl else None
            if tokens is not None:
                self._sets.append(_KeySet(listener.name, tokens))
        super().__init__(is_idle=not self._sets)

    async def read(self) -> None:
        """Gives the data plane the keys of each listener. Raises StartError."""
        loop = asyncio.get_running_loop()
        for keys in self._sets:
            await self._servers.call(self._read, keys, loop.time())

    async def look(self) -> None:
        """Reads again the sets that are due."""
        loop = asyncio.get_running_loop()
        for keys in self._sets:
            if self._is_due(keys, loop.time()):
                await self._servers.call(self._renew, keys, loop.time())

    def _is_due(self, keys: _KeySet, now: float) -> bool:
        if now >= keys.due_at or (keys.path is not None and keys.file_state() != keys.state):
            return True
        unknown = self._security.unknown_token_keys(keys.listener)
        if unknown == keys.unknown or now < keys.read_at + keys.settings.retry_max_ms / 1000:
            return False
        keys.unknown = unknown
        return True

    def _renew(self, keys: _KeySet, now: float) -> None:
        try:
            self._read(keys, now)
            keys.failures = 0
        except StartError as error:
            keys.failures += 1
            keys.due_at = now + keys.retry_s()
            logger.error("The keys of tokens in use stay as they are: %s", error)  # noqa: TRY400

    def _read(self, keys: _KeySet, now: float) -> None:
        keys.state, keys.read_at = keys.file_state(), now
        keys.due_at = now + keys.settings.refresh_ms / 1000
        url = keys.settings.keys_url
        where = f"sasl.oauthbearer.jwks.endpoint.url={url} of listener {keys.listener}"
        try:
            text = _fetch(url, keys.path)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or getattr(error, "reason", None) or error
            raise StartError(f"{where} cannot be read: {reason}") from None
        try:
            self._security.set_token_keys(keys.listener, text)
        except StartError as error:
            raise StartError(f"{where} cannot be used: {error}") from None


def _fetch(url: str, path: str | None) -> str:
    if path is not None:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    else:
        from http.client import HTTPException  # brings OpenSSL, as urlopen: other brokers do without
        from urllib.request import urlopen

        try:
            with urlopen(url, timeout=TIMEOUT_S) as response:  # noqa: S310 - the configuration lets in no other kinds
                data = response.read(MAX_BYTES + 1)
        except HTTPException as error:
            raise ValueError(f"its answer is no HTTP: {error!r}") from None
    if len(data) > MAX_BYTES:
        raise ValueError(f"it is larger than {MAX_BYTES} bytes")
    return str(data, "utf-8")
