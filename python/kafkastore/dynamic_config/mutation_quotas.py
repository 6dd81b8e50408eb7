"""How many partitions a client may create and delete a second: ``controller_mutation_rate`` (KIP-599).

Each group of clients that share a limit has a bucket of tokens, one token for a partition. A bucket refills with the
limit's rate up to what its window holds (``controller.quota.window.num`` times ``.size.seconds``). A strict request
may take a bucket below zero once, and is refused with THROTTLING_QUOTA_EXCEEDED until the bucket has refilled; an
older request is never refused. Both are answered with the time that the bucket takes to refill. Only the controller
counts.

The entity whose limit decides also decides who shares it, as in the data plane
(``rust/broker/requests/quotas/limits.rs``). Times are passed in; no I/O.
"""

from __future__ import annotations

import heapq
from collections import deque
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from kafkastore.dynamic_config.quota_entities import DEFAULT, Entity
from kafkastore.errors import ErrorCode, KafkastoreError
from kafkastore.purgatory.turns import Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kafkastore.config import BrokerConfig

MAX_BUCKETS: Final = 10_000
"""Clients beyond this many that have taken tokens lately share one bucket."""

SWEEP_S: Final = 1.0
"""Idle buckets are looked for among all of them no more often."""

MAX_THROTTLE_MS: Final = 2**31 - 1

KEPT: Final = 100
"""Requests that a bucket remembers for the metrics."""

MAX_NAME: Final = 250
"""Clients with longer names are not in the metrics."""


class ThrottlingQuotaExceededError(KafkastoreError):
    """The client has created or deleted more partitions than its quota lets it."""

    code = ErrorCode.THROTTLING_QUOTA_EXCEEDED
    text = "The throttling quota has been exceeded."


class _Bucket:
    __slots__ = ("_at_s", "_held_back", "_taken", "_tokens", "limit")

    def __init__(self) -> None:
        self._tokens = 0.0
        self._at_s: float | None = None  # a new bucket is full
        self.limit = 0.0, 0.0  # the rate and the burst of the last request
        self._taken: deque[tuple[float, int]] = deque(maxlen=KEPT)
        self._held_back: deque[tuple[float, int]] = deque(maxlen=KEPT)

    def tokens(self, rate: float, burst: float, now_s: float) -> float:
        if self._at_s is None:
            self._tokens = burst
        else:
            self._tokens = min(burst, self._tokens + rate * (now_s - self._at_s))
        self._at_s = now_s
        return self._tokens

    def take(self, count: int, now_s: float) -> None:
        self._tokens -= count
        self._taken.append((now_s, count))

    def note_held_back(self, throttle_ms: int, now_s: float) -> None:
        self._held_back.append((now_s, throttle_ms))

    def figures(self, window_s: int, now_s: float) -> tuple[float, float, float]:
        """(partitions a second, tokens, average throttle time in milliseconds), the first and the last over the
        window."""
        rate, burst = self.limit
        at_s = now_s if self._at_s is None else self._at_s
        taken = sum(count for at, count in self._taken if now_s - at < window_s)
        held_back = [ms for at, ms in self._held_back if now_s - at < window_s]
        average_ms = sum(held_back) / len(held_back) if held_back else 0.0
        return taken / window_s, min(burst, self._tokens + rate * (now_s - at_s)), average_ms

    def is_idle(self, window_s: int, now_s: float) -> bool:
        """Whether the bucket was not used for a window. A bucket below zero may not have refilled by then, but no
        client of its own keeps it in use."""
        return self._at_s is None or now_s - self._at_s > window_s


class MutationQuota:
    """The quota of one request. :meth:`take` is called for each topic, before its partitions change."""

    __slots__ = ("_bucket", "_burst", "_now", "_rate", "_recorded_at_s", "_throttle_ms", "is_strict")

    def __init__(
        self, bucket: _Bucket | None, rate: float, burst: float, now: Callable[[], float], *, is_strict: bool
    ) -> None:
        self._bucket = bucket
        self._rate = rate
        self._burst = burst
        self._now = now
        self._throttle_ms = 0
        self._recorded_at_s = 0.0
        self.is_strict = is_strict

    def take(self, partitions: int) -> None:
        """Takes a token for each partition. Raises ThrottlingQuotaExceededError when a strict request finds the bucket
        below zero; no token is taken then."""
        if self._bucket is None:
            return
        now_s = self._now()
        tokens = self._bucket.tokens(self._rate, self._burst, now_s)
        if not self.is_strict:
            self._bucket.take(partitions, now_s)
            tokens -= partitions
        if tokens < 0:
            self._throttle_ms, self._recorded_at_s = round(min(-tokens / self._rate * 1000, MAX_THROTTLE_MS)), now_s
            self._bucket.note_held_back(self._throttle_ms, now_s)
            if self.is_strict:
                raise ThrottlingQuotaExceededError
        elif self.is_strict:
            self._bucket.take(partitions, now_s)

    @property
    def throttle_time_ms(self) -> int:
        """The answer's ``throttle_time_ms``: the request may have waited since the bucket was empty."""
        passed_ms = round((self._now() - self._recorded_at_s) * 1000)
        return max(0, self._throttle_ms - passed_ms)


class MutationQuotas:
    """See the module. ``now`` is a clock in seconds."""

    def __init__(self, config: BrokerConfig, now: Callable[[], float]) -> None:
        self._config = config
        self._now = now
        self._limits: dict[Entity, float] = {}
        self._buckets: dict[tuple[str, str], _Bucket] = {}
        self._spare = _Bucket()
        self._swept_s = 0.0

    def set_limits(self, limits: Mapping[Entity, float | None], *, is_whole: bool) -> None:
        """Replaces the limits of some entities (None: no limit), or of all; what was taken stays taken."""
        if is_whole:
            self._limits.clear()
        for entity, limit in limits.items():
            if limit is None:
                self._limits.pop(entity, None)
            else:
                self._limits[entity] = limit
        if not self._limits:
            self._buckets.clear()

    def of(self, principal: str, client_id: str | None, *, is_strict: bool) -> MutationQuota:
        """The quota of a request; a broker's own requests have no principal and no quota."""
        user = principal.partition(":")[2]
        found = self._find(user, client_id or "") if self._limits and principal else None
        if found is None:
            return MutationQuota(None, 0.0, 0.0, self._now, is_strict=is_strict)
        rate, sharers = found
        window_s = self._window_s()
        bucket = self._buckets.get(sharers) or self._make(sharers, window_s)
        bucket.limit = rate, rate * window_s
        return MutationQuota(bucket, rate, rate * window_s, self._now, is_strict=is_strict)

    async def figures(self, max_rows: int) -> tuple[list[tuple[str, str, float, float, float]], int]:
        """Rows of the clients that have taken most lately: (user, client id, rate, tokens, throttle time in
        milliseconds); and how many clients are left out. On the controller alone there are any."""
        window_s, now_s = self._window_s(), self._now()
        rows = [
            (user, client_id, *bucket.figures(window_s, now_s))
            async for (user, client_id), bucket in Turn().each(list(self._buckets.items()))
            if not bucket.is_idle(window_s, now_s) and max(len(user), len(client_id)) <= MAX_NAME
        ]
        shown = heapq.nlargest(max_rows, rows, key=itemgetter(2)) if len(rows) > max_rows else rows
        return shown, len(rows) - len(shown)

    def _window_s(self) -> int:
        return self._config.get_int("controller.quota.window.num") * self._config.get_int(
            "controller.quota.window.size.seconds"
        )

    def _find(self, user: str, client_id: str) -> tuple[float, tuple[str, str]] | None:
        both, of_user, of_client = (user, client_id), (user, ""), ("", client_id)
        levels = [
            (Entity(user, client_id), both),
            (Entity(user, DEFAULT), both),
            (Entity(user), of_user),
            (Entity(DEFAULT, client_id), both),
            (Entity(DEFAULT, DEFAULT), both),
            (Entity(DEFAULT), of_user),
            (Entity(client_id=client_id), of_client),
            (Entity(client_id=DEFAULT), of_client),
        ]
        for entity, sharers in levels:
            if entity.client_id is not None and not client_id:
                continue  # a client without client id has no limit by client id
            limit = self._limits.get(entity)
            if limit is not None:
                return limit, sharers
        return None

    def _make(self, sharers: tuple[str, str], window_s: int) -> _Bucket:
        now_s = self._now()
        if len(self._buckets) >= MAX_BUCKETS and now_s - self._swept_s >= SWEEP_S:
            self._swept_s = now_s
            self._buckets = {
                one: bucket for one, bucket in self._buckets.items() if not bucket.is_idle(window_s, now_s)
            }
        if len(self._buckets) >= MAX_BUCKETS:
            return self._spare
        return self._buckets.setdefault(sharers, _Bucket())
