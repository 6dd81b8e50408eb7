"""Sends records with ``_core.Producer``, waits where its memory is full, and tells what became of every batch.

Works within its calls alone: who has nothing to send calls :meth:`Writer.serve`.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Self

from kafkastore._core import ClientError, Producer
from kafkastore.errors import ConfigError, ErrorCode, KafkastoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kafkastore._core import Delivery

    Headers = Sequence[tuple[str, bytes | None]]
    Row = tuple[bytes | None, bytes | None, Headers | None, int | None, int | None]

BUFFER_BYTES: Final = 32 << 20
"""Kafka's buffer.memory."""
STEP_MS: Final = 100
"""The longest call: Ctrl-C is looked at between calls."""


class WriteError(KafkastoreError):
    """The producer cannot go on: one sentence."""

    code = ErrorCode.UNKNOWN_SERVER_ERROR


class Writer:
    """See the module. Used as ``with Writer(...) as writer``; without a :meth:`flush` what is not sent is lost."""

    def __init__(self, properties: Mapping[str, str], on_delivery: Callable[[Delivery], None] = lambda _: None) -> None:
        """Raises ConfigError for properties that mean nothing; connects to nothing."""
        try:
            self._producer = Producer({key: str(value) for key, value in properties.items()})
        except ValueError as error:
            raise ConfigError(str(error)) from None
        self._on_delivery = on_delivery
        self._buffer_bytes = int(properties.get("buffer.memory", BUFFER_BYTES))
        self.acknowledged = 0
        self.failed = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._producer.close()

    @property
    def ignored(self) -> list[str]:
        """Keys of the properties that have no effect."""
        return self._producer.ignored

    # ---- records
    def send(self, topic: str, rows: Sequence[Row]) -> None:
        """Raises WriteError."""
        with _sentences():
            has_room = self._producer.send(topic, rows)
        self._wait_for_room(has_room)

    def send_values(self, topic: str, values: Sequence[bytes]) -> None:
        """Records without keys. Raises WriteError."""
        with _sentences():
            has_room = self._producer.send_values(topic, values)
        self._wait_for_room(has_room)

    def serve(self, seconds: float = 0.0) -> None:
        """Sends what is due and takes answers, for so long. Raises WriteError."""
        until = time.monotonic() + seconds
        while True:
            left_ms = int(min(max(until - time.monotonic(), 0) * 1000, STEP_MS))
            self._take(left_ms)
            if left_ms == 0:
                return

    def flush(self, limit_s: float = float("inf")) -> None:
        """Returns when every record is acknowledged or has failed, or the time is up. Raises WriteError."""
        is_flushed = False
        until = time.monotonic() + limit_s
        while not is_flushed and time.monotonic() < until:
            with _sentences():
                is_flushed = self._producer.flush(STEP_MS)
            self._take(0)

    @property
    def pending(self) -> int:
        """Records that are neither acknowledged nor failed."""
        return self._producer.pending()[0]

    def _wait_for_room(self, has_room: bool) -> None:
        self._take(0)
        while not has_room:
            self._take(STEP_MS)
            has_room = self._producer.pending()[1] <= self._buffer_bytes // 2

    def _take(self, timeout_ms: int) -> None:
        with _sentences():
            deliveries = self._producer.poll(timeout_ms)
        for delivery in deliveries:
            if delivery.error is None:
                self.acknowledged += delivery.count
            else:
                self.failed += delivery.count
            self._on_delivery(delivery)

    # ---- transactions
    def init_transactions(self) -> None:
        with _sentences():
            self._producer.init_transactions()

    def begin(self) -> None:
        with _sentences():
            self._producer.begin_transaction()

    def commit(self) -> None:
        """Raises WriteError when a record of the transaction failed: it can only be aborted then."""
        self.flush()
        with _sentences():
            self._producer.commit_transaction()

    def abort(self) -> None:
        with _sentences():
            self._producer.abort_transaction()
        self._take(0)


@contextmanager
def _sentences() -> Iterator[None]:
    try:
        yield
    except (ClientError, ValueError) as error:
        raise WriteError(str(error)) from None
