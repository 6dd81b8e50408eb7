"""A test double of ``kafkastore._core``: the boundary to the Rust data plane, kept in memory.

``conftest.py`` replaces ``kafkastore._core`` by this module, so that unit tests of the control plane need no compiled
extension and can look at every call that crosses the boundary. It does not refuse what the real one refuses, except
where a test of the control plane needs it (leases, unknown partitions). Offsets and appends are those of a log with one
replica.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

UNKNOWN_TOPIC_OR_PARTITION = 3
NOT_LEADER_OR_FOLLOWER = 6
NOT_COORDINATOR = 16
TRANSACTIONAL_ID_NOT_FOUND = 105
INVALID_REGULAR_EXPRESSION = 128


class EngineError(Exception):
    """An operation the engine refused."""

    def __init__(self, code: int, message: str = "") -> None:
        super().__init__(message)
        self.code = code


class StartError(Exception):
    """A reason not to start."""


class Request:
    """A request for the control plane; keyword arguments replace the values of a plain client."""

    def __init__(self, api_key: int, api_version: int, body: bytes, token: int = 1, **fields: Any) -> None:
        self.token = token
        self.api_key = api_key
        self.api_version = api_version
        self.body = body
        self.correlation_id: int = fields.get("correlation_id", 1)
        self.client_id: str | None = fields.get("client_id", "test")
        self.client_host: str = fields.get("client_host", "/127.0.0.1")
        self.listener: str = fields.get("listener", "PLAINTEXT")
        self.is_broker: bool = fields.get("is_broker", False)
        self.principal: str = fields.get("principal", "User:ANONYMOUS")
        self.is_token_authenticated: bool = fields.get("is_token_authenticated", False)

    def forget_body(self) -> None:
        self.body = b""


@dataclass(frozen=True, kw_only=True)
class Lease:
    partition: int
    leader: int
    leader_epoch: int
    partition_epoch: int
    replicas: Sequence[int]
    in_sync_replicas: Sequence[int]


@dataclass(frozen=True, kw_only=True)
class PublishedPartition:
    partition: int
    leader: int
    leader_epoch: int
    replicas: Sequence[int]
    in_sync_replicas: Sequence[int]
    offline_replicas: Sequence[int]


@dataclass(frozen=True, kw_only=True)
class PublishedTopic:
    name: str
    topic_id: bytes
    is_internal: bool
    keys_over: int
    partitions: Sequence[PublishedPartition]


@dataclass(frozen=True, kw_only=True)
class PublishedBroker:
    node_id: int
    rack: str | None
    endpoints: Sequence[tuple[str, str, int]]


@dataclass(frozen=True, kw_only=True)
class ServedVersions:
    api_key: int
    min_version: int
    max_version: int
    flexible_from: int
    is_advertised: bool


@dataclass(frozen=True)
class Record:
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    producer_id: int
    control: str | None


@dataclass(frozen=True)
class PartitionOffsets:
    log_start_offset: int
    high_watermark: int
    last_stable_offset: int
    log_end_offset: int


@dataclass(frozen=True)
class EpochEnd:
    leader_epoch: int
    end_offset: int


@dataclass(frozen=True)
class RecoveryProgress:
    logs_loaded: int
    logs: int
    segments_checked: int
    segments_to_check: int


@dataclass(frozen=True)
class HostedLog:
    topic: str
    partition: int
    topic_id: bytes | None
    log_dir: str
    log_start_offset: int
    log_end_offset: int


@dataclass(frozen=True)
class MissingLog:
    topic: str
    partition: int
    log_dir: str
    log_end_offset: int


@dataclass(frozen=True)
class RecoveryNote:
    is_loss: bool
    text: str


@dataclass(frozen=True)
class LogDirReplica:
    topic: str
    partition: int
    size_bytes: int
    offset_lag: int
    is_future: bool


@dataclass(frozen=True)
class LogDir:
    path: str
    error_code: int
    total_bytes: int
    usable_bytes: int
    replicas: list[LogDirReplica]


@dataclass(frozen=True)
class PartitionFigures:
    topic: str
    partition: int
    size_bytes: int
    log_start_offset: int
    log_end_offset: int
    segments: int


@dataclass(frozen=True)
class Figures:
    totals: dict[str, int]
    requests: dict[int, int]
    topics: list[tuple[str, list[int]]]
    partitions: list[PartitionFigures]


class AppendDone:
    def __init__(
        self, token: int, error_code: int, base_offset: int, last_offset: int, message: str | None = None
    ) -> None:
        self.token = token
        self.error_code = error_code
        self.base_offset = base_offset
        self.last_offset = last_offset
        self.log_append_time_ms = -1
        self.message = message


class IsrChange:
    def __init__(
        self,
        topic: str,
        partition: int,
        leader_epoch: int,
        partition_epoch: int,
        in_sync_replicas: list[tuple[int, int]],
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.leader_epoch = leader_epoch
        self.partition_epoch = partition_epoch
        self.in_sync_replicas = in_sync_replicas


class LogDirFailed:
    def __init__(self, log_dir: str, reason: str) -> None:
        self.log_dir = log_dir
        self.reason = reason


class ReplicaMoved:
    def __init__(self, topic: str, partition: int, log_dir: str) -> None:
        self.topic = topic
        self.partition = partition
        self.log_dir = log_dir


class LowWatermarkMoved:
    def __init__(self, topic: str, partition: int) -> None:
        self.topic = topic
        self.partition = partition


class ProducerIdsLow:
    pass


class RequestAbandoned:
    def __init__(self, token: int) -> None:
        self.token = token


class ThreadFailed:
    def __init__(self, thread: str, reason: str) -> None:
        self.thread = thread
        self.reason = reason


class LogLine:
    def __init__(self, message: str, is_audit: bool = False) -> None:
        self.message = message
        self.is_audit = is_audit


class Log:
    """One partition's log: (offset, timestamp_ms, key, value, producer_id, control) records."""

    def __init__(self, topic_id: bytes | None, log_dir: str) -> None:
        self.topic_id = topic_id
        self.log_dir = log_dir
        self.start_offset = 0
        self.records: list[tuple[int, int, bytes | None, bytes | None, int, str | None]] = []

    @property
    def end_offset(self) -> int:
        return self.records[-1][0] + 1 if self.records else self.start_offset


class GroupsCreated:
    def __init__(self, partition: int, group_ids: list[str]) -> None:
        self.partition = partition
        self.group_ids = group_ids


class SessionsExpired:
    def __init__(self, sessions: list[Any]) -> None:
        self.sessions = sessions


class Security:
    """How clients prove who they are; a salted password is its own key."""

    def __init__(self) -> None:
        self.users: list[tuple[Any, ...]] = []
        self.tokens: list[tuple[str, str, str, int]] = []
        self.users: list[tuple[int, str, bytes, bytes, bytes, int]] = []
        self.sasl: dict[str, dict[str, Any]] = {}
        self.tls: dict[str, dict[str, str]] = {}
        self.refused: set[tuple[int, int, str]] = set()
        self.refused_orders: list[tuple[str, tuple[str, str]]] = []

    def set_tls(self, listener: str, pairs: dict[str, str]) -> None:
        self.tls[listener] = pairs

    def set_sasl(self, listener: str, mechanisms: list[str], plain_users: dict[str, str], **more: Any) -> None:
        self.sasl[listener] = {"mechanisms": mechanisms, "plain_users": plain_users, **more}

    def scram_keys(self, mechanism: int, salted_password: bytes) -> tuple[bytes, bytes]:
        return b"%d" % mechanism + salted_password, salted_password

    def reach_brokers(self, tls: object, login: object, users: object) -> None:
        """No other broker is reached."""

    def delegation_token_hmac(self, secret: str, token_id: str) -> bytes:
        return f"{secret} {token_id}".encode()

    def publish_delegation_tokens(
        self, tokens: Sequence[tuple[str, tuple[str, str, int] | None]], *, is_whole: bool
    ) -> None:
        kept = [] if is_whole else [row for row in self.tokens if row[0] not in dict(tokens)]
        self.tokens = kept + [(name, *token) for name, token in tokens if token is not None]

    def publish_scram_credentials(
        self, users: Sequence[tuple[int, str, tuple[bytes, bytes, bytes, int] | None]], *, is_whole: bool
    ) -> None:
        changed = {(number, user) for number, user, _ in users}
        kept = [] if is_whole else [row for row in self.users if row[:2] not in changed]
        self.users = kept + [(number, user, *one) for number, user, one in users if one is not None]

    def set_authorizer(self, super_users: frozenset[str], allows_everyone: bool) -> None:
        self.authorizer = super_users, allows_everyone

    def log_refused_order(self, request: str, client: tuple[str, str]) -> None:
        self.refused_orders.append((request, client))

    def publish_acls(self, patterns: list[tuple[Any, ...]], *, is_whole: bool) -> None:
        del patterns, is_whole

    def authorize(
        self,
        request: str,
        client: tuple[str, str],
        operation: int,
        resource_type: int,
        names: list[str],
        *,
        is_logged: bool,
    ) -> list[bool] | None:
        """Allows what ``refused`` does not have."""
        del request, client, is_logged
        return [(operation, resource_type, name) not in self.refused for name in names]


class Groups:
    """The groups of a broker for tests that do not look at groups: partitions are loaded empty, and go. Groups have
    tests over ``MemoryGroups`` (see ``coordinator/memory_groups``) and the compiled engine (``compiled_core``)."""

    def __init__(self) -> None:
        self.settings: tuple[int, int, int] | None = None
        self.states: dict[int, str] = {}
        self.is_stopped = False

    def configure(self, offset_metadata_max_bytes: int, commit_timeout_ms: int, codec: int) -> None:
        self.settings = (offset_metadata_max_bytes, commit_timeout_ms, codec)

    def begin(self, partition: int) -> int:
        self.states[partition] = "loading"
        return 1

    def load(self, partition: int, _number: int) -> Any:
        is_loading = self.states.get(partition) == "loading"
        return LoadedGroups() if is_loading else None

    def activate(self, partition: int, _number: int) -> None:
        if partition in self.states:
            self.states[partition] = "active"

    def close(self, partition: int) -> None:
        self.states.pop(partition, None)

    def stop(self) -> None:
        self.is_stopped = True


class LoadedGroups:
    """A loaded partition without groups."""

    def __init__(self) -> None:
        self.records: list[tuple[str, bytes]] = []
        self.simple_groups: list[str] = []
        self.unstable_groups: list[str] = []
        self.skipped = 0
        self.skip_reason = ""


@dataclass(frozen=True)
class TransactionDescription:
    transactional_id: str
    producer_id: int
    producer_epoch: int
    state: str
    timeout_ms: int
    start_ms: int
    partitions: list[tuple[str, int]]


@dataclass(frozen=True)
class ListedTransaction:
    transactional_id: str
    producer_id: int
    state: str


@dataclass(frozen=True)
class LoadedTransactions:
    count: int = 0
    skipped: int = 0
    skip_reason: str = ""


class Transactions:
    """The transactional ids of a broker, as a test puts them in ``kept``, by partition. Numbers of loads count up."""

    def __init__(self) -> None:
        self.settings: dict[str, int] = {}
        self.kept: dict[int, list[TransactionDescription]] = {}
        self.loaded: dict[int, LoadedTransactions | EngineError] = {}  # the results of loads
        self.states: dict[int, str] = {}
        self.calls: list[str] = []
        self.listed: list[tuple[Any, ...]] = []  # the arguments of each list
        self._number = 0

    def configure(self, **settings: int) -> None:
        self.settings = settings

    def stop(self) -> None:
        self.calls.append("stop")

    def begin(self, partition: int) -> int:
        self._number += 1
        self.states[partition] = "loading"
        self.calls.append(f"begin {partition}")
        return self._number

    def load(self, partition: int, number: int) -> LoadedTransactions | None:
        self.calls.append(f"load {partition}")
        found = self.loaded.get(partition, LoadedTransactions(len(self.kept.get(partition, []))))
        if isinstance(found, EngineError):
            raise found
        return found if number == self._number or partition in self.states else None

    def activate(self, partition: int, number: int) -> None:
        del number
        self.states[partition] = "active"
        self.calls.append(f"activate {partition}")

    def close(self, partition: int) -> None:
        self.states.pop(partition, None)
        self.calls.append(f"close {partition}")

    def describe(self, transactional_id: str) -> TransactionDescription:
        for partition, rows in self.kept.items():
            for row in rows:
                if row.transactional_id == transactional_id:
                    if self.states.get(partition) == "active":
                        return row
                    raise EngineError(NOT_COORDINATOR, "This broker does not coordinate the id.")
        raise EngineError(TRANSACTIONAL_ID_NOT_FOUND, "There is no such id.")

    def list(
        self,
        partition: int,
        states: Sequence[str],
        producer_ids: Sequence[int],
        min_duration_ms: int,
        pattern: str | None,
        now_ms: int,
    ) -> Sequence[ListedTransaction]:
        self.listed.append((partition, states, producer_ids, min_duration_ms, pattern, now_ms))
        try:
            expression = re.compile(pattern or "")
        except re.error as error:
            raise EngineError(INVALID_REGULAR_EXPRESSION, str(error)) from None
        return [
            ListedTransaction(row.transactional_id, row.producer_id, row.state)
            for row in (self.kept.get(partition, []) if self.states.get(partition) == "active" else [])
            if (not states or row.state in states)
            and (not producer_ids or row.producer_id in producer_ids)
            and (min_duration_ms < 0 or now_ms - row.start_ms > min_duration_ms)
            and (pattern is None or expression.fullmatch(row.transactional_id))
        ]


class Quotas:
    """The limits that were published last."""

    def __init__(self) -> None:
        self.rows: list[tuple[str | None, str | None, str, float]] = []
        self.connection_rates: list[tuple[str | None, float]] = []
        self.spent: list[tuple[int, int]] = []

    def publish(self, rows: Sequence[tuple[str | None, str | None, str, float | None]], *, is_whole: bool) -> None:
        changed = {row[:3] for row in rows}
        kept = [] if is_whole else [row for row in self.rows if row[:3] not in changed]
        self.rows = sorted(kept + [(*row[:3], row[3]) for row in rows if row[3] is not None], key=repr)

    def note_request_times(self, spent: Sequence[tuple[int, int]]) -> None:
        self.spent += spent

    def client_figures(self, _: int) -> tuple[list[tuple[str, str, str, float, float]], list[tuple[str, int]]]:
        return [("Produce", "", "app", 5.0, 6.0)], [("Produce", 1), ("Fetch", 0), ("Request", 0)]

    def connection_figures(self, _: int) -> tuple[list[tuple[str, str, float, float, float]], int]:
        return [("", "", 1.0, 0.0, 0.0)], 0

    def publish_connection_rates(self, rows: Sequence[tuple[str | None, float]]) -> None:
        self.connection_rates = sorted(rows, key=repr)


def certificate_ends(pairs: dict[str, str]) -> list[tuple[str, str, int]]:
    return []


class Engine:
    """See the module. Attributes keep the calls, for tests to look at."""

    def __init__(self, node_id: int, cluster_id: str, log_dirs: list[str], options: dict[str, str]) -> None:
        self.node_id = node_id
        self.cluster_id = cluster_id
        self.log_dirs = list(log_dirs)
        self.options = dict(options)
        self.is_pressed = False
        self.limits = Quotas()
        self.topic_configs: dict[str, dict[str, str]] = {}
        self.features: tuple[int, dict[str, int]] | None = None
        self.partitions: dict[tuple[str, int], Log] = {}
        self.leases: dict[tuple[str, int], tuple[int, int, int, tuple[int, ...], tuple[int, ...]]] = {}
        self.published_topics: dict[str, tuple[bytes, bool, list[Any]]] = {}
        self.keys_over: dict[str, int] = {}  # of internal topics
        self.rows_published = 0  # rows of partitions, with repeats
        self.api_versions: list[ServedVersions] = []
        self.cluster: tuple[list[Any], int] = ([], -1)
        self.answers: dict[int, bytes | None] = {}
        self.producer_ids: list[int] = []
        self.served_here: list[int] = []
        self.deleted: list[tuple[str, list[int]]] = []
        self.stray: list[tuple[str, int]] = []
        self.moves: list[tuple[str, int, str]] = []
        self.listening: list[tuple[str, str, int]] = []
        self.unclean_dirs: list[str] = []
        self.failed_dirs: dict[str, str] = {}
        self.create_failures: dict[tuple[str, int], str] = {}  # the errors that create_logs returns
        self.append_error = 0  # the error code of the next appends
        self.calls: list[str] = []
        self.broker_epoch = -1
        self.withdrawn: list[tuple[str, int, int]] = []
        self.replica_starts: dict[tuple[str, int], list[int]] = {}  # where the logs of live followers start
        self.watched: list[tuple[str, int]] = []
        self.loss_policy: tuple[list[tuple[str, int, int]], list[tuple[str, list[int]]]] = ([], [])
        self.recovery_notes: list[RecoveryNote] = []
        self.short: list[tuple[str, int]] = []
        self.missing: list[MissingLog] = []
        self._security = Security()
        self._groups = Groups()
        self._transactions = Transactions()
        self._queue: list[Any] = []
        self._token = 1000
        self._eventfd = os.eventfd(0, os.EFD_NONBLOCK)

    # ---- for tests
    def submit(self, *events: Any) -> None:
        """Delivers requests and events to the control plane."""
        self._queue.extend(events)
        os.eventfd_write(self._eventfd, 1)

    def add_log(self, topic: str, partition: int, topic_id: bytes | None = None, log_dir: str | None = None) -> Log:
        """Adds a log that ``open_log_dirs`` will find on the disk."""
        log = self.partitions[topic, partition] = Log(topic_id, log_dir or self.log_dirs[0])
        return log

    def close(self) -> None:
        os.close(self._eventfd)

    # ---- start
    def open_log_dirs(
        self, topic_configs: dict[str, dict[str, str]], missing: dict[str, str]
    ) -> list[tuple[str, str | None]]:
        self.calls.append("open_log_dirs")
        self.topic_configs.update({name: dict(config) for name, config in topic_configs.items()})
        failed = self.failed_dirs | missing
        for log_dir in self.log_dirs:
            if log_dir not in failed:
                os.makedirs(log_dir, exist_ok=True)
                open(os.path.join(log_dir, "meta.properties"), "a").close()
        return [(log_dir, failed.get(log_dir)) for log_dir in self.log_dirs]

    def recovery(self) -> Engine:
        return self

    def set_loss_policy(self, accepted: list[tuple[str, int, int]], replicated: list[tuple[str, list[int]]]) -> None:
        self.loss_policy = (accepted, replicated)

    def take_notes(self) -> list[RecoveryNote]:
        taken, self.recovery_notes = self.recovery_notes, []
        return taken

    def short_logs(self) -> list[tuple[str, int]]:
        return self.short

    def missing_logs(self) -> list[MissingLog]:
        return self.missing

    def put_back_shutdown(self) -> None:
        self.calls.append("put_back_shutdown")

    def unclean_log_dirs(self) -> list[str]:
        return [one for one in self.unclean_dirs if any(log.log_dir == one for log in self.partitions.values())]

    def progress(self) -> RecoveryProgress:
        return RecoveryProgress(len(self.partitions), len(self.partitions), 0, 0)

    def logs(self) -> list[HostedLog]:
        return [
            HostedLog(topic, partition, log.topic_id, log.log_dir, log.start_offset, log.end_offset)
            for (topic, partition), log in self.partitions.items()
        ]

    # ---- partitions
    def create_logs(
        self, topic: str, topic_id: bytes, config: dict[str, str], partitions: list[tuple[int, str]]
    ) -> list[str | None]:
        self.topic_configs[topic] = dict(config)
        errors: list[str | None] = []
        for partition, log_dir in partitions:
            error = self.create_failures.get((topic, partition))
            if error is None:
                self.partitions.setdefault((topic, partition), Log(topic_id, log_dir))
            errors.append(error)
        return errors

    def publish_leases(self, topic: str, topic_id: bytes, leases: list[Lease]) -> None:
        del topic_id
        for one in leases:
            replicas, isr = tuple(one.replicas), tuple(one.in_sync_replicas)
            self.leases[topic, one.partition] = (one.leader, one.leader_epoch, one.partition_epoch, replicas, isr)

    def delete_logs(self, topic: str, partitions: list[int]) -> None:
        self.deleted.append((topic, list(partitions)))
        for partition in partitions:
            self.partitions.pop((topic, partition), None)
            self.leases.pop((topic, partition), None)

    def mark_stray(self, topic: str, partition: int) -> None:
        self.stray.append((topic, partition))
        del self.partitions[topic, partition]

    def alter_log_dir(self, topic: str, partition: int, log_dir: str) -> None:
        self.moves.append((topic, partition, log_dir))

    def set_topic_config(self, topic: str, config: dict[str, str]) -> None:
        self.topic_configs[topic] = dict(config)

    def set_broker_options(self, options: dict[str, str]) -> None:
        self.options = dict(options)

    # ---- published state
    def highest_producer_id(self) -> int:
        return -1

    def publish_features(self, epoch: int, levels: list[tuple[str, int]]) -> None:
        self.features = epoch, dict(levels)

    def publish_api_versions(self, served: list[ServedVersions]) -> None:
        self.api_versions = list(served)

    def take_producer_id(self) -> int | None:
        return self.producer_ids.pop(0) if self.producer_ids else None

    def add_producer_ids(self, first: int, last: int) -> None:
        self.producer_ids += range(first, last + 1)

    def publish_cluster(self, brokers: list[PublishedBroker], controller_id: int) -> None:
        self.cluster = ([(broker.node_id, broker.rack, broker.endpoints) for broker in brokers], controller_id)

    def publish_topics(self, topics: list[PublishedTopic]) -> None:
        for topic in topics:
            known_id, _, known = self.published_topics.get(topic.name, (None, False, []))
            rows = {row[0]: row for row in known} if known_id == topic.topic_id else {}
            for one in topic.partitions:
                state = (one.leader, one.leader_epoch, one.replicas, one.in_sync_replicas, one.offline_replicas)
                rows[one.partition] = (one.partition, *state)
            self.rows_published += len(topic.partitions)
            if topic.is_internal:
                self.keys_over[topic.name] = topic.keys_over
            self.published_topics[topic.name] = (topic.topic_id, topic.is_internal, [rows[at] for at in sorted(rows)])

    def withdraw_topics(self, names: list[str]) -> None:
        for name in names:
            self.published_topics.pop(name, None)

    # ---- network
    def listen(self, listeners: list[tuple[str, str, int]]) -> list[int]:
        self.calls.append("listen")
        self.listening = list(listeners)
        return [port or 40000 + index for index, (_, _, port) in enumerate(listeners)]

    def refuse_produces(self) -> None:
        self.calls.append("refuse_produces")

    def waiting_produces(self) -> int:
        return 0

    def close_network(self, timeout_ms: int) -> None:
        del timeout_ms
        self.calls.append("close_network")

    def close_logs(self) -> None:
        self.calls.append("close_logs")

    # ---- requests and events
    def fileno(self) -> int:
        return self._eventfd

    def take(self, limit: int) -> list[Any]:
        taken, self._queue = self._queue[:limit], self._queue[limit:]
        if not self._queue:
            with contextlib.suppress(BlockingIOError):
                os.eventfd_read(self._eventfd)
        return taken

    def respond(self, answers: list[tuple[int, bytes | None]]) -> None:
        self.answers.update(answers)

    def has_much_unsent(self) -> bool:
        return self.is_pressed

    def quotas(self) -> Quotas:
        return self.limits

    def security(self) -> Security:
        return self._security

    def groups(self) -> Groups:
        return self._groups

    def transactions(self) -> Transactions:
        return self._transactions

    def serve_here(self, token: int) -> None:
        self.served_here.append(token)

    # ---- records
    def append(self, topic: str, partition: int, batch: bytes, required_acks: int, timeout_ms: int) -> int:
        del required_acks, timeout_ms
        log = self._led(topic, partition)
        self._token += 1
        if self.append_error:
            done = AppendDone(self._token, self.append_error, -1, -1, "refused by the test")
        else:
            base_offset = log.end_offset
            records, timestamp_ms = pickle.loads(batch)
            for index, (key, value) in enumerate(records):
                log.records.append((base_offset + index, timestamp_ms, key, value, -1, None))
            done = AppendDone(self._token, 0, base_offset, log.end_offset - 1)
        self.submit(done)
        return self._token

    def read_records(self, topic: str, partition: int, offset: int, max_bytes: int) -> tuple[list[Record], int]:
        log = self._log(topic, partition)
        found = []
        size = 0
        for record in log.records:
            if record[0] >= offset and (not found or size < max_bytes):
                found.append(record)
                size += len(record[2] or b"") + len(record[3] or b"")
        return [Record(*record) for record in found], found[-1][0] + 1 if found else max(offset, log.end_offset)

    def partition_offsets(self, topic: str, partition: int) -> PartitionOffsets:
        log = self._log(topic, partition)
        return PartitionOffsets(log.start_offset, log.end_offset, log.end_offset, log.end_offset)

    def delete_records(self, topic: str, partition: int, before_offset: int) -> int:
        log = self._led(topic, partition)
        offset = log.end_offset if before_offset == -1 else before_offset
        if offset > log.end_offset or offset < 0:
            raise EngineError(1, "The requested offset is not within the range of offsets maintained by the server.")
        log.start_offset = max(log.start_offset, offset)
        log.records = [record for record in log.records if record[0] >= log.start_offset]
        return offset

    def watch_low_watermark(self, topic: str, partition: int, offset: int) -> int:
        """Keeps the watched partition; a test moves the low watermark and reports it."""
        log = self._led(topic, partition)
        low_watermark = min(log.start_offset, *self.replica_starts.get((topic, partition), [log.start_offset]))
        if low_watermark < offset:
            self.watched.append((topic, partition))
        return low_watermark

    def offset_for_leader_epoch(
        self, topic: str, partition: int, current_leader_epoch: int, leader_epoch: int
    ) -> EpochEnd:
        del current_leader_epoch
        log = self._led(topic, partition)
        return EpochEnd(leader_epoch, log.end_offset)

    def describe_producers(self, topic: str, partition: int) -> bytes:
        self._led(topic, partition)
        return b""

    def describe_log_dirs(self) -> list[LogDir]:
        return [
            LogDir(
                log_dir,
                0,
                1 << 30,
                1 << 29,
                [
                    LogDirReplica(topic, partition, 0, 0, False)
                    for (topic, partition), log in self.partitions.items()
                    if log.log_dir == log_dir
                ],
            )
            for log_dir in self.log_dirs
        ]

    # ---- housekeeping
    def shrink_isrs(self) -> None:
        self.calls.append("shrink_isrs")

    def set_broker_epoch(self, epoch: int) -> None:
        self.broker_epoch = epoch

    def withdraw_isr_change(self, topic: str, partition: int, partition_epoch: int) -> None:
        self.withdrawn.append((topic, partition, partition_epoch))

    def clean_filthiest(self) -> None:
        self.calls.append("clean_filthiest")

    def stop_cleaning(self) -> None:
        pass  # every stop calls it

    def run_retention(self) -> int:
        self.calls.append("run_retention")
        return 0

    def flush_due(self) -> int:
        self.calls.append("flush_due")
        return 0

    def write_checkpoints(
        self, *, recovery_points: bool = False, high_watermarks: bool = False, log_starts: bool = False
    ) -> None:
        self.calls.append(f"write_checkpoints {recovery_points} {high_watermarks} {log_starts}")

    def note_deletions(self) -> None:
        self.calls.append("note_deletions")

    def write_stale_checkpoints(self) -> None:
        pass  # not noted: a job calls it every second

    def expire_producers(self) -> int:
        self.calls.append("expire_producers")
        return 0

    def metrics(self, max_rows: int) -> Figures:
        self.calls.append("metrics")
        return Figures({}, {}, [], [])

    def _log(self, topic: str, partition: int) -> Log:
        log = self.partitions.get((topic, partition))
        if log is None:
            raise EngineError(UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition.")
        return log

    def _led(self, topic: str, partition: int) -> Log:
        log = self._log(topic, partition)
        if self.leases.get((topic, partition), (-1,))[0] != self.node_id:
            raise EngineError(NOT_LEADER_OR_FOLLOWER, "This broker does not lead the partition.")
        return log


def build_batch(
    records: list[tuple[bytes | None, bytes | None]], timestamp_ms: int, compression: str = "none"
) -> bytes:
    """A batch that only :meth:`Engine.append` above understands."""
    del compression
    return pickle.dumps((list(records), timestamp_ms))


def client_security(properties: dict[str, str]) -> Any:
    """The compiled module's, with this module's error."""
    compiled = __getattr__("client_security")  # type: ignore[name-defined]  # noqa: F821
    try:
        return compiled(properties)
    except __getattr__("StartError") as error:  # type: ignore[name-defined]  # noqa: F821
        raise StartError(str(error)) from None


__version__ = "0.0.0"


def resident_bytes() -> int:
    return 0


def give_back_memory() -> None:
    pass
