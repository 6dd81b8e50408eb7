"""One broker of a test, from its first start to its end: one directory and one port through all stops, kills and
restarts.

Place: ``Broker`` is a node with a directory of its own, ``Cluster`` has several. Its methods block until what they say
has happened; from a loop they are called by ``await asyncio.to_thread(...)``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from kafkastore.errors import KafkastoreError, StartupError
from kafkastore.testing.faults import Faults

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from pathlib import Path

    from kafkastore.server.broker import Broker as ServerBroker
    from kafkastore.testing.clock import Clock
    from kafkastore.testing.running import RunningBroker
    from kafkastore.testing.settings import Settings

T = TypeVar("T")

TOPIC_LIMIT_MS = 30_000


class NotRunningError(KafkastoreError):
    """A call that needs a running broker."""

    def __init__(self, node_id: int) -> None:
        super().__init__(f"broker {node_id} does not run; call start() first")


class Node:
    """A broker of a test. Not made by tests: they make a ``Broker`` or a ``Cluster``."""

    def __init__(self, settings: Settings, clock: Clock, port: int = 0) -> None:
        self.settings = settings
        self.clock = clock
        self.faults = Faults(self)
        self._port = port
        self._running: RunningBroker | None = None

    # ---- life
    def start(self) -> None:
        """Nothing when it runs. Raises StartupError or ConfigError."""
        if self.is_running:
            return
        self.stop()  # one that has ended by itself
        from kafkastore.testing.running import RunningBroker

        config = self.settings.config(self._port)
        config.warn_of_unknown_keys()
        self._running = RunningBroker(config, self.clock)
        self._port = self.server.ports[0]
        self._begin()
        self.faults.begin()

    def stop(self) -> None:
        """As SIGTERM: requests in flight are answered, the logs are closed. Nothing when it does not run. Raises
        StartupError when it had ended by itself, unless by an ordered fault of its disk."""
        running, self._running = self._running, None
        if running is None:
            return
        self.faults.end()
        try:
            running.stop()
        except StartupError:
            if not self.faults.has_failed_disk:
                raise

    def kill(self) -> None:
        """As SIGKILL: clients get no answers any more, nothing is flushed or marked as closed; the next start recovers.
        Nothing when it does not run."""
        running, self._running = self._running, None
        if running is not None:
            self.faults.end()
            running.kill()

    def restart(self) -> None:
        self.stop()
        self.start()

    @property
    def is_running(self) -> bool:
        return self._running is not None and self._running.is_alive

    # ---- where and who
    @property
    def node_id(self) -> int:
        return self.settings.node_id

    @property
    def port(self) -> int:
        """Of the listener of clients: the same after each start."""
        if not self._port:
            raise NotRunningError(self.node_id)
        return self._port

    @property
    def bootstrap_servers(self) -> str:
        host = self.settings.host
        return f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"

    @property
    def directory(self) -> Path:
        """Of its logs: ``log.dirs``."""
        return self.settings.folder / "data"

    @property
    def cluster_id(self) -> str:
        return self.server.cluster_id

    @property
    def server(self) -> ServerBroker:
        """The broker itself, which lives on a loop of its own. Raises NotRunningError."""
        if self._running is None or not self._running.is_alive:
            raise NotRunningError(self.node_id)
        return self._running.broker

    def client_properties(self, user: str | None = None) -> dict[str, str]:
        """How a client of Java connects, as ``client.properties`` has it; as the first user without ``user``."""
        found = self.settings.security.java_properties(self.settings.certificates, user)
        return {"bootstrap.servers": self.bootstrap_servers} | found

    def librdkafka_properties(self, user: str | None = None) -> dict[str, str]:
        """How a client of librdkafka connects (confluent-kafka, kcat)."""
        found = self.settings.security.librdkafka_properties(self.settings.certificates, user)
        return {"bootstrap.servers": self.bootstrap_servers} | found

    # ---- what tests do to it
    def ask(self, api: str, version: int, fields: Mapping[str, Any]) -> Any:
        """The answer to a request that the broker asks itself, with all rights: ``ask("CreateAcls", 3, {...})``. Fields
        have the names of Kafka's messages in snake case."""
        from kafkastore.messages import OutgoingRequest

        return self.call(self.server.serve(OutgoingRequest(api, version, fields)))

    def create_topic(
        self,
        name: str,
        partitions: int = -1,
        replication_factor: int = -1,
        config: Mapping[str, object] | None = None,
    ) -> None:
        """Returns when the topic is served. -1 means the broker's default. Raises the KafkastoreError that Kafka
        answers."""
        configs = [{"name": key, "value": str(value)} for key, value in (config or {}).items()]
        topic = {
            "name": name,
            "num_partitions": partitions,
            "replication_factor": replication_factor,
            "assignments": (),
            "configs": configs,
        }
        answer = self.ask("CreateTopics", 7, {"topics": [topic], "timeout_ms": TOPIC_LIMIT_MS})
        _raise_for(answer.topics[0])

    def delete_topic(self, name: str) -> None:
        """Raises the KafkastoreError that Kafka answers."""
        answer = self.ask(
            "DeleteTopics", 6, {"topics": [{"name": name, "topic_id": bytes(16)}], "timeout_ms": TOPIC_LIMIT_MS}
        )
        _raise_for(answer.responses[0])

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine that runs on the broker's loop. Raises NotRunningError."""
        if self._running is None:
            coroutine.close()
            raise NotRunningError(self.node_id)
        return self._running.call(coroutine)

    def at_end(self, end: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Calls ``end`` on the broker's loop when the broker has ended. Raises NotRunningError."""
        if self._running is None:
            raise NotRunningError(self.node_id)
        self._running.at_end.append(end)

    # ---- inside
    def _begin(self) -> None:
        """What a broker gets at each of its starts."""
        upsertions = self.settings.security.scram_upsertions()
        if upsertions:
            answer = self.ask("AlterUserScramCredentials", 0, {"deletions": (), "upsertions": upsertions})
            for row in answer.results:
                _raise_for(row)


def _raise_for(row: Any) -> None:
    if row.error_code:
        raise KafkastoreError(row.error_message, row.error_code)
