"""The data plane of a test's broker: an ``Engine`` but for the configuration of topics, which follows a turned clock,
and for the end of a broker that is killed.

The times that the data plane compares with the age of a record are given to it shorter by as much as the clock is
ahead. A killed broker leaves the files as ``kill -9`` does: while the threads end, the log directories have other
names, so nothing that a stop would write (indexes, snapshots, checkpoints, the marker of a clean shutdown) finds its
place.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from kafkastore._core import Engine

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kafkastore.testing.clock import Clock

AGES: Final = ("retention.ms", "max.compaction.lag.ms", "min.compaction.lag.ms")
"""The keys of a topic whose value the data plane compares with the age of a record."""

AWAY: Final = ".killed"
"""The end of a log directory's name while a killed broker ends."""

LOCK: Final = ".lock"


class TestedEngine:
    """See the module."""

    __test__ = False  # pytest takes a class of this name for a test

    def __init__(
        self, clock: Clock, node_id: int, cluster_id: str, log_dirs: list[str], options: dict[str, str]
    ) -> None:
        self._engine = Engine(node_id, cluster_id, log_dirs, options)
        self._log_dirs = log_dirs
        self._clock = clock
        self._configs: dict[str, Mapping[str, str]] = {}
        self.is_killed = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    # ---- time
    def open_log_dirs(self, topic_configs: Mapping[str, Mapping[str, str]], missing: Mapping[str, str]) -> Any:
        self._configs |= topic_configs
        return self._engine.open_log_dirs({name: self._turned(one) for name, one in topic_configs.items()}, missing)

    def create_logs(
        self, topic: str, topic_id: bytes, config: Mapping[str, str], partitions: Sequence[tuple[int, str]]
    ) -> Any:
        self._configs[topic] = config
        return self._engine.create_logs(topic, topic_id, self._turned(config), partitions)

    def set_topic_config(self, topic: str, config: Mapping[str, str]) -> None:
        self._configs[topic] = config
        self._engine.set_topic_config(topic, self._turned(config))

    def turn(self) -> None:
        """Applies the clock as it is now, and deletes what is too old by it. Blocking."""
        for topic, config in self._configs.copy().items():
            self._engine.set_topic_config(topic, self._turned(config))
        self._engine.run_retention()

    def _turned(self, config: Mapping[str, str]) -> dict[str, str]:
        ahead_ms = self._clock.ahead_ms
        return dict(config) | {
            key: str(max(0, int(config[key]) - ahead_ms)) for key in AGES if int(config.get(key, -1)) > 0
        }

    # ---- the end
    def close_logs(self) -> None:
        """Raises EngineError, as it has to when the broker is killed."""
        away = [one for one in self._log_dirs if self.is_killed and os.path.isdir(one)]
        for one in away:
            os.rename(one, one + AWAY)
        try:
            self._engine.close_logs()
        finally:
            for one in away:
                os.rename(one + AWAY, one)
                with suppress(FileNotFoundError):  # the lock is held until the interpreter lets the engine go
                    os.unlink(os.path.join(one, LOCK))
