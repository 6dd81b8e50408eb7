"""The Rust data plane and storage engine. Everything blocking detaches from the GIL.

This is the whole boundary (style rules 24 to 27): immutable snapshots go in, requests and events come out in batches,
and record bytes cross only for the coordinators' own logs.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self, final

__all__ = [
    "INTERNAL_TOPICS",
    "AppendDone",
    "BatchDescription",
    "BatchHeaders",
    "Check",
    "CheckFinding",
    "CheckProgress",
    "CheckReport",
    "DataLossError",
    "Engine",
    "EngineError",
    "ExpiredSession",
    "Figures",
    "GroupLease",
    "Groups",
    "GroupsCreated",
    "HostedLog",
    "IsrChange",
    "Lease",
    "LoadedGroups",
    "LogDir",
    "LogDirFailed",
    "LogDirReplica",
    "LogLine",
    "LowWatermarkMoved",
    "MissingLog",
    "OffsetsRemoval",
    "PartitionFigures",
    "PartitionOffsets",
    "PartitionPlan",
    "ProducerIdsLow",
    "PublishedBroker",
    "PublishedPartition",
    "PublishedTopic",
    "Record",
    "RecoveryNote",
    "ReplicaMoved",
    "Request",
    "RequestAbandoned",
    "Rows",
    "Scan",
    "ScanError",
    "ServedVersions",
    "SessionsExpired",
    "Split",
    "StartError",
    "ThreadFailed",
    "TooManyRowsError",
    "TopicPartitionFiles",
    "__version__",
    "build_batch",
    "give_back_memory",
    "list_partitions",
    "plan_scan",
    "register_shape",
    "remove_links",
    "resident_bytes",
    "sanitize",
]

INTERNAL_TOPICS: list[str]
"""Topics in which brokers keep their own state; the data plane lets no client write them (spec R3.2)."""

class EngineError(Exception):
    """An operation the engine refused. ``code`` is Kafka's error code; str() is one sentence."""

    code: int

class StartError(Exception):
    """A reason not to start, one sentence naming key/path, value and fix."""

@final
class Request:
    """A request for the control plane; immutable.

    ``token`` answers it with ``respond((token, body))``; ``client_host`` is as Kafka shows it ("/127.0.0.1");
    ``listener`` is the name of the listener the connection came in on; ``software_name`` and ``software_version`` are
    from ApiVersions (KIP-511) or ""; ``is_broker`` says that it may give orders: it came in on
    ``inter.broker.listener.name``, and where the brokers have a secret its connection has proven it; ``body`` is what
    follows the request header, unchecked: it goes through :func:`sanitize` before kio.
    """

    token: int
    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    client_host: str
    listener: str
    connection_id: int
    software_name: str
    software_version: str
    is_broker: bool
    @property
    def body(self) -> bytes: ...
    def forget_body(self) -> None:
        """It is not needed any more: what it holds of ``kafkastore.control.max.bytes`` is free again; :attr:`body` is
        empty then."""

@final
class AppendDone:
    """The end of an :meth:`Engine.append`; ``error_code`` 0 says that it is acknowledged as its acks asked."""

    token: int
    error_code: int
    base_offset: int
    last_offset: int
    log_append_time_ms: int
    message: str | None

@final
class GroupsCreated:
    """Groups came by their first commit, without members; told once for each, before that commit is answered."""

    partition: int
    """Of ``__consumer_offsets``."""
    group_ids: list[str]

@final
class SessionsExpired:
    """Nothing was heard of these members for their session timeout. One that was heard of since has a session again."""

    sessions: list[ExpiredSession]

@final
class ExpiredSession:
    """A member of which nothing was heard for long."""

    partition: int
    """Of ``__consumer_offsets``."""
    number: int
    """Of the partition's load."""
    group_id: str
    member_id: str

@final
class LoadedGroups:
    """What a partition of ``__consumer_offsets`` had when it was loaded; its offsets are kept by the data plane."""

    records: list[tuple[str, bytes]]
    """(group id, value of its last record)."""
    simple_groups: list[str]
    """With offsets, and without a record."""
    unstable_groups: list[str]
    """With offsets of open transactions."""
    skipped: int
    skip_reason: str

@final
class GroupLease:
    """What the data plane knows of a group. Its calls change nothing when the group's partition is another broker's, or
    was begun anew."""

    def set_state(self, state: int, generation_id: int) -> None:
        """``state``: 0 Empty, 1 PreparingRebalance, 2 CompletingRebalance, 3 Stable."""
    def add_member(self, member_id: str, group_instance_id: str | None) -> None:
        """Without a session."""
    def remove_member(self, member_id: str, group_instance_id: str | None) -> None: ...
    def replace_member(self, old_member_id: str, new_member_id: str, group_instance_id: str) -> None:
        """A static member comes back under another id."""
    def start_session(self, member_id: str, timeout_ms: int) -> None:
        """Every heartbeat and commit of the member begins it anew; its end is told once, by
        :class:`SessionsExpired`."""
    def cancel_session(self, member_id: str) -> None: ...
    def has_session(self, member_id: str) -> bool: ...
    def has_offsets(self) -> bool:
        """Committed, being committed, or in an open transaction."""
    def offset_topics(self) -> list[str]:
        """With committed offsets."""
    def release(self) -> None:
        """The group is gone; one that still has offsets is told as a new one (:class:`GroupsCreated`)."""

@final
class OffsetsRemoval:
    """One step of a removal of committed offsets."""

    token: int | None
    """Of the :class:`AppendDone` that says that the tombstones are durable; None when nothing was left to go."""
    has_more: bool
    """Whether more is to go than one batch holds."""
    is_kept: bool
    """Whether something of the group stays that is not to go."""

@final
class Groups:
    """The groups that this broker coordinates, by partition of ``__consumer_offsets``."""

    def configure(self, offset_metadata_max_bytes: int, commit_timeout_ms: int, codec: int) -> None:
        """``codec``: ``offsets.topic.compression.codec``."""
    def stop(self) -> None:
        """Requests are answered COORDINATOR_NOT_AVAILABLE from now on."""
    def begin(self, partition: int) -> int:
        """Requests are told that the partition loads. The number of this load. Raises EngineError when this broker does
        not lead it."""
    def load(self, partition: int, number: int) -> LoadedGroups | None:
        """Reads the partition's log; nothing when it was begun anew or closed meanwhile. Blocks on the disk. Raises
        EngineError."""
    def activate(self, partition: int, number: int) -> None:
        """Requests for the groups of this load are served; their leases must be there."""
    def close(self, partition: int) -> None:
        """Requests are told NOT_COORDINATOR."""
    def lease(self, partition: int, number: int, group_id: str) -> GroupLease:
        """A new lease (Empty, generation 0, no members) in the place of the one that was there; nobody's, of a load
        that is over."""
    def delete_offsets(
        self, partition: int, group_id: str, topics: list[tuple[str, list[int]]] | None
    ) -> OffsetsRemoval:
        """Appends tombstones of offsets, one batch at most, also of those that are being committed. Raises EngineError
        with the code for clients."""
    def forget_topic(self, partition: int, topic: str) -> OffsetsRemoval:
        """The same for a deleted topic in every group; a topic of that name that exists keeps its own."""
    def expire_offsets(
        self,
        partition: int,
        group_id: str,
        subscribed: set[str],
        now_ms: int,
        retention_ms: int,
        since_ms: int | None,
    ) -> OffsetsRemoval:
        """The same by time (KIP-211)."""

@final
class LogLine:
    """A line of the data plane for the log."""

    @property
    def message(self) -> str: ...

@final
class IsrChange:
    """A leader here asks for another in-sync set (KIP-497); at most one is under way for a partition, until a lease
    with a higher partition epoch or :meth:`Engine.withdraw_isr_change` ends it."""

    topic: str
    partition: int
    leader_epoch: int
    partition_epoch: int
    in_sync_replicas: list[tuple[int, int]]
    """(node id, its broker epoch as it last fetched, or -1)."""

@final
class LogDirFailed:
    """A log directory went offline; nothing in it is served any more."""

    log_dir: str
    reason: str

@final
class ReplicaMoved:
    """A partition is in another log directory now."""

    topic: str
    partition: int
    log_dir: str

@final
class LowWatermarkMoved:
    """The low watermark of a partition may have moved since :meth:`Engine.watch_low_watermark`, or this broker leads it
    no more."""

    topic: str
    partition: int

@final
class ProducerIdsLow:
    """Few producer ids are left, or none: whoever claims blocks gives the next one to
    :meth:`Engine.add_producer_ids`."""

@final
class RequestAbandoned:
    """The client of a request that is not answered yet has gone, or sends no more. It may have been answered
    meanwhile."""

    token: int

@final
class ThreadFailed:
    """A thread of the data plane ended by a panic or an error: what waits for it waits for ever, so the process has to
    end."""

    thread: str
    reason: str

@final
class Lease:
    """What a broker may do with a partition: lead it, follow ``leader``, or nothing while that is -1. Replaced
    whole."""

    def __new__(
        cls,
        *,
        partition: int,
        leader: int,
        leader_epoch: int,
        partition_epoch: int,
        replicas: Sequence[int],
        in_sync_replicas: Sequence[int],
    ) -> Self: ...
    @property
    def partition(self) -> int: ...
    @property
    def leader(self) -> int: ...
    @property
    def leader_epoch(self) -> int: ...
    @property
    def partition_epoch(self) -> int: ...
    @property
    def replicas(self) -> list[int]: ...
    @property
    def in_sync_replicas(self) -> list[int]: ...

@final
class PublishedPartition:
    """A partition as clients are told of it. ``offline_replicas`` are those in a log directory that is offline."""

    def __new__(
        cls,
        *,
        partition: int,
        leader: int,
        leader_epoch: int,
        replicas: Sequence[int],
        in_sync_replicas: Sequence[int],
        offline_replicas: Sequence[int],
    ) -> Self: ...
    @property
    def partition(self) -> int: ...
    @property
    def leader(self) -> int: ...
    @property
    def leader_epoch(self) -> int: ...
    @property
    def replicas(self) -> list[int]: ...
    @property
    def in_sync_replicas(self) -> list[int]: ...
    @property
    def offline_replicas(self) -> list[int]: ...

@final
class PublishedTopic:
    """A topic, or some of its partitions, as clients are told of it. ValueError for a ``topic_id`` that has not 16
    bytes."""

    def __new__(
        cls, *, name: str, topic_id: bytes, is_internal: bool, partitions: Sequence[PublishedPartition]
    ) -> Self: ...
    @property
    def name(self) -> str: ...
    @property
    def topic_id(self) -> bytes: ...
    @property
    def is_internal(self) -> bool: ...
    @property
    def partitions(self) -> list[PublishedPartition]: ...

@final
class PublishedBroker:
    """A broker as clients are told of it; ``endpoints`` are (listener name, host, port)."""

    def __new__(cls, *, node_id: int, rack: str | None, endpoints: Sequence[tuple[str, str, int]]) -> Self: ...
    @property
    def node_id(self) -> int: ...
    @property
    def rack(self) -> str | None: ...
    @property
    def endpoints(self) -> list[tuple[str, str, int]]: ...

@final
class ServedVersions:
    """The versions of an API that are served. ``flexible_from`` is 32767 for none; ``is_advertised``: ApiVersions tells
    of it."""

    def __new__(
        cls, *, api_key: int, min_version: int, max_version: int, flexible_from: int, is_advertised: bool
    ) -> Self: ...
    @property
    def api_key(self) -> int: ...
    @property
    def min_version(self) -> int: ...
    @property
    def max_version(self) -> int: ...
    @property
    def flexible_from(self) -> int: ...
    @property
    def is_advertised(self) -> bool: ...

@final
class Record:
    """A record that the control plane reads. ``producer_id`` is of the transaction that the record belongs to or ends,
    -1 outside of transactions; ``control`` is "commit", "abort" or "other" for a control record, None for any other."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    producer_id: int
    control: str | None

@final
class PartitionOffsets:
    """The offsets of a partition at one time."""

    log_start_offset: int
    high_watermark: int
    last_stable_offset: int
    log_end_offset: int

@final
class HostedLog:
    """A log that was found or created; ``topic_id`` is None while the log knows none."""

    topic: str
    partition: int
    topic_id: bytes | None
    log_dir: str
    log_start_offset: int
    log_end_offset: int

@final
class MissingLog:
    """A log that was there in the last run and is not."""

    topic: str
    partition: int
    log_dir: str
    log_end_offset: int

@final
class RecoveryNote:
    """One sentence about what opening a log found. ``is_loss``: records are or may be gone."""

    is_loss: bool
    text: str

@final
class PartitionFigures:
    """One partition in the metrics."""

    topic: str
    partition: int
    size_bytes: int
    log_start_offset: int
    log_end_offset: int
    segments: int

@final
class Figures:
    """What the metrics show: ``totals`` by name, ``requests`` by API key, (topic, counts). A topic's counts are, in
    this order: messages in, bytes in, bytes out, replication bytes in and out, partitions of produces and those
    refused, partitions of fetches and those refused."""

    totals: dict[str, int]
    requests: dict[int, int]
    topics: list[tuple[str, list[int]]]
    partitions: list[PartitionFigures]

@final
class LogDirReplica:
    """A replica in a log directory. ``is_future``: it moves there, and ``offset_lag`` is what the copy lacks."""

    topic: str
    partition: int
    size_bytes: int
    offset_lag: int
    is_future: bool

@final
class LogDir:
    """A log directory; KAFKA_STORAGE_ERROR when it is offline. Sizes are those of its file system, -1 when unknown."""

    path: str
    error_code: int
    total_bytes: int
    usable_bytes: int
    replicas: list[LogDirReplica]

@final
class Engine:
    """One broker's data plane. Methods may be called from any thread unless said otherwise."""

    def __new__(cls, node_id: int, cluster_id: str, log_dirs: Sequence[str], options: Mapping[str, str]) -> Self:
        """``options``: broker configs by Kafka's name, values as text (already validated by config). An empty
        ``cluster_id`` takes over that of the directories."""
    # ---- start: directories, recovery (R0.2)
    def open_log_dirs(
        self, topic_configs: Mapping[str, Mapping[str, str]], missing: Mapping[str, str]
    ) -> list[tuple[str, str | None]]:
        """Lock, check meta.properties, recover every log in parallel. Blocks (run in a thread). Those of ``missing``
        (log_dir -> why) are not touched and offline. Returns (log_dir, failure or None) of each. Raises StartError."""
    def set_loss_policy(
        self, accepted: Sequence[tuple[str, int, int]], replicated: Sequence[tuple[str, Sequence[int]]]
    ) -> None:
        """Before open_log_dirs: (topic, partition, log end offset) of losses that are accepted, and (topic, partitions)
        that have another in-sync replica. Other logs that lack what was durable refuse the start."""
    def take_recovery_notes(self) -> list[RecoveryNote]:
        """Of what open_log_dirs found and did, also when it raised; once."""
    def short_logs(self) -> list[tuple[str, int]]:
        """Logs that open_log_dirs opened though they end before what was durable: another replica has the rest."""
    def missing_logs(self) -> list[MissingLog]:
        """Logs that were there in the last run and are not."""
    def put_back_shutdown(self) -> None:
        """After open_log_dirs, of a start that is refused: the clean-shutdown markers as they were, since nothing was
        written."""
    def unclean_log_dirs(self) -> list[str]:
        """The log directories, of those that open_log_dirs opened, that have logs and whose last run did not end with a
        clean stop: records that were acknowledged from the page cache may be lost. Empty before open_log_dirs."""
    def recovery_progress(self) -> tuple[int, int, int, int]:
        """(logs done, logs in all, segments checked, segments to check); callable while open_log_dirs runs."""
    def cluster_id(self) -> str:
        """As given, or as the opened log directories have it."""
    def logs(self) -> list[HostedLog]:
        """Every log found or created."""
    # ---- partitions
    def create_logs(
        self, topic: str, topic_id: bytes, config: Mapping[str, str], partitions: Sequence[tuple[int, str]]
    ) -> list[str | None]:
        """Creates logs (partition, log_dir); existing ones are kept. Blocking; returns an error text or None for
        each."""
    def publish_leases(self, topic: str, topic_id: bytes, leases: Sequence[Lease]) -> None:
        """Replaces the leases of these partitions whole. A partition that another broker leads is fetched from it by
        itself, from its listener ``inter.broker.listener.name``."""
    def set_broker_epoch(self, epoch: int) -> None:
        """This registration's number in the metadata store; followers' fetches carry it (KIP-903)."""
    def shrink_isrs(self) -> None:
        """Proposes, by :class:`IsrChange`, to go on without followers that have not caught up for
        ``replica.lag.time.max.ms``."""
    def withdraw_isr_change(self, topic: str, partition: int, partition_epoch: int) -> None:
        """The change proposed for this partition epoch was refused; whom it would have taken in is not proposed for a
        while. Raises EngineError when the partition is not here."""
    def delete_logs(self, topic: str, partitions: Sequence[int]) -> None:
        """Revokes leases, answers what is parked, renames the directories to -delete; files go after
        file.delete.delay.ms."""
    def mark_stray(self, topic: str, partition: int) -> None:
        """Renames the log's directory to `-stray` and forgets it."""
    def alter_log_dir(self, topic: str, partition: int, log_dir: str) -> None:
        """Begins to move a partition that is here to another log directory, in the background; ReplicaMoved tells when
        it is there. Replaces another move; to where it is, ends one. Raises EngineError."""
    def set_topic_config(self, topic: str, config: Mapping[str, str]) -> None:
        """The topic's effective configuration, for all of its logs at once."""
    def set_broker_options(self, options: Mapping[str, str]) -> None:
        """The broker's effective configuration, as given to the constructor."""
    # ---- published state
    def publish_api_versions(self, served: Sequence[ServedVersions]) -> None:
        """Every API that this broker serves, by either plane. Others close the connection."""
    def publish_cluster(self, brokers: Sequence[PublishedBroker], controller_id: int) -> None:
        """The brokers that are alive. With controller -1 Metadata comes to the control plane first."""
    def take_producer_id(self) -> int | None:
        """An id that was never given before; None when no block has any left."""
    def add_producer_ids(self, first: int, last: int) -> None:
        """A block that was claimed for this broker alone, both ends included. Producers are given its ids without
        asking again."""
    def publish_topics(self, topics: Sequence[PublishedTopic]) -> None:
        """Adds topics to the metadata image; of those that it has with the same id, adds or replaces the partitions
        that are given."""
    def withdraw_topics(self, names: Sequence[str]) -> None:
        """Clients no longer see these topics."""
    # ---- network
    def listen(self, listeners: Sequence[tuple[str, str, int]]) -> list[int]:
        """(listener name, host, port; 0 picks one) -> bound ports; starts the network threads. Raises StartError naming
        the listener."""
    def refuse_produces(self) -> None:
        """Clients' produces are answered NOT_LEADER_OR_FOLLOWER from now on, before anything of them is appended."""
    def waiting_produces(self) -> int:
        """Produces that were appended and wait for followers or a flush, once for each partition. Blocking: it walks
        over all partitions."""
    def close_network(self, timeout_ms: int) -> None:
        """Stops accepting, answers what is in flight, closes. Blocking."""
    def close_logs(self) -> None:
        """Flushes and closes every log, writes checkpoints and the clean-shutdown markers. Blocking."""
    # ---- requests and events for the control plane
    def fileno(self) -> int:
        """An eventfd, readable when take() has something."""
    def take(
        self, limit: int
    ) -> list[
        Request
        | AppendDone
        | GroupsCreated
        | IsrChange
        | LogLine
        | LogDirFailed
        | LowWatermarkMoved
        | ProducerIdsLow
        | ReplicaMoved
        | RequestAbandoned
        | SessionsExpired
        | ThreadFailed
    ]:
        """At most ``limit`` requests and events, oldest first."""
    def respond(self, answers: Sequence[tuple[int, bytes | None]]) -> None:
        """(token, response body after the response header); None closes the connection."""
    def has_much_unsent(self) -> bool:
        """Whether clients have left as much of their answers as ``kafkastore.unsent.max.bytes`` says."""
    def groups(self) -> Groups:
        """The groups that this broker coordinates."""

    def serve_here(self, token: int) -> None:
        """Hands a Metadata request back to the data plane (after topics were created)."""
    def disconnect(self, connection_id: int) -> None:
        """Closes a client's connection."""
    # ---- records for the coordinators
    def append(self, topic: str, partition: int, batch: bytes, required_acks: int, timeout_ms: int) -> int:
        """The append path of everyone (R3.1), origin Coordinator. Returns a token; AppendDone comes by take()."""
    def read_records(self, topic: str, partition: int, offset: int, max_bytes: int) -> tuple[list[Record], int]:
        """Records up to the log end, and the next offset; blocking."""
    def partition_offsets(self, topic: str, partition: int) -> PartitionOffsets:
        """Raises EngineError (UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER)."""
    def delete_records(self, topic: str, partition: int, before_offset: int) -> int:
        """Moves the log start of the leader, which is this broker; -1 means the high watermark. Returns the offset that
        is meant: the low watermark reaches it when the replicas have followed. Blocking. EngineError codes as Kafka."""
    def watch_low_watermark(self, topic: str, partition: int, offset: int) -> int:
        """The least log start offset of the leader, which is this broker, and of the replicas on brokers that live
        (publish_cluster); -1 while one of them has not fetched. While it is below ``offset``, LowWatermarkMoved comes
        once when it may have moved. EngineError (UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER,
        KAFKA_STORAGE_ERROR)."""
    def offset_for_leader_epoch(
        self, topic: str, partition: int, current_leader_epoch: int, leader_epoch: int
    ) -> tuple[int, int, int]:
        """(error_code, leader_epoch, end_offset)"""
    def describe_producers(self, topic: str, partition: int) -> bytes:
        """Of each active producer 36 bytes, big-endian: producer id (int64), epoch (int32), last sequence (int32), last
        timestamp in ms (int64), coordinator epoch (int32), start of the current transaction (int64)."""
    def describe_log_dirs(self) -> list[LogDir]:
        """Each entry of ``log.dirs`` with its replicas. Blocking."""
    # ---- housekeeping, scheduled by Python; all blocking, run in a thread
    def run_retention(self) -> int:
        """Deletes old segments of every log by its config; returns segments deleted."""
    def flush_due(self) -> int:
        """Flushes logs past flush.ms; returns how many."""
    def write_checkpoints(
        self, *, recovery_points: bool = False, high_watermarks: bool = False, log_starts: bool = False
    ) -> None:
        """Writes the checkpoint files of every log directory."""
    def expire_producers(self) -> int:
        """Forgets producers idle for producer.id.expiration.ms; returns how many."""
    def metrics(self, max_rows: int) -> Figures:
        """Blocking: it walks over all partitions. A list of more than ``max_rows`` is empty."""

@final
class Check:
    """A check of log directories, partition directories and ``.log`` files: reads, never writes, takes no lock. Runs
    once."""

    def __new__(cls, paths: Sequence[str], *, topic: str | None = None, threads: int = 1, deep: bool = False) -> Self:
        """``threads`` segments at a time; ``deep`` also inflates and decodes records. ValueError for less than one
        thread."""
    def run(self) -> CheckReport:
        """Blocks (run in a thread). ValueError, one sentence, for a path that cannot be checked."""
    def progress(self) -> CheckProgress:
        """How far it is by now."""
    def cancel(self) -> None:
        """Ends the run soon; what it then returns is incomplete."""

@final
class CheckReport:
    """What a check saw."""

    partitions: int
    segments: int
    batches: int
    records: int
    bytes: int
    """Of segment files."""
    faults: int
    """Findings of severity ``fault``, those that are not listed included."""
    findings: list[CheckFinding]

@final
class CheckFinding:
    """Something that a check has to say."""

    severity: str
    """``fault``, ``warning`` or ``note``."""
    path: str
    position: int | None
    """Byte in the file."""
    message: str
    """One sentence."""

@final
class CheckProgress:
    """How far a check is; 0 until the directories are listed."""

    bytes_walked: int
    bytes_in_all: int
    segments_done: int
    segments_in_all: int

def build_batch(
    records: Sequence[tuple[bytes | None, bytes | None]], timestamp_ms: int, compression: str = "none"
) -> bytes:
    """A v2 record batch (key, value) with base offset 0, as coordinators write them."""

class TooManyRowsError(ValueError):
    """A well-formed request that asks for more at once than its API takes."""

def register_shape(api_key: int, api_version: int, program: bytes, max_rows: int | None = None) -> None:
    """Registers the program (``interbroker/shapes.py``) that request bodies of this version are checked against;
    answers of other brokers are registered under -1 - api_key. ``max_rows`` bounds the elements of all arrays of a
    body, of which eight numbers count as one; without it the bound is that of any frame."""

def sanitize(api_key: int, api_version: int, body: bytes) -> bytes:
    """Checks a request body against its registered shape and drops unknown tagged fields; ValueError when malformed,
    TooManyRowsError when it has more rows than the shape takes, KeyError when no shape is registered."""

def resident_bytes() -> int:
    """Of this process, in memory that belongs to no file. Raises OSError where /proc is missing."""

def give_back_memory() -> None:
    """Blocking. Gives freed memory back to the operating system; other threads' allocations wait meanwhile, some
    milliseconds for 100 MB."""

__version__: str
"""The version of the package."""

class ScanError(Exception):
    """A scan that cannot go on: a corrupt or unreadable file. ``path`` and ``position`` say where, when it is a
    file."""

    path: str | None
    position: int | None

class DataLossError(ScanError):
    """Records of the planned range are gone (Spark's ``failOnDataLoss``). Offsets [``start_offset``,
    ``end_offset``)."""

    topic: str
    partition: int
    start_offset: int
    end_offset: int

@final
class Split:
    """One task's share of a partition; immutable, and picklable (open files stay behind, links and paths go along)."""

    topic: str
    partition: int
    start_offset: int
    end_offset: int
    size_bytes: int
    @staticmethod
    def decode(text: str) -> Split:
        """Of what :meth:`encode` gave. ValueError for anything else."""
    def encode(self) -> str:
        """As JSON."""
    def __reduce__(self) -> tuple[object, ...]: ...

@final
class PartitionPlan:
    """The closed range of one partition that a scan reads, as it was when planned; it does not move with the log.

    ``log_start_offset`` and ``end_limit`` (the high watermark, or under read_committed the last stable offset) are what
    was there; ``start_offset`` and ``end_offset`` what will be read; ``size_bytes`` of segment files touched;
    ``leader_epoch`` the latest in the leader epoch checkpoint, -1 without one; ``lost`` ranges [from, to) asked for and
    no longer there, empty unless ``fail_on_data_loss`` was False.
    """

    topic: str
    partition: int
    path: str
    start_offset: int
    end_offset: int
    log_start_offset: int
    end_limit: int
    leader_epoch: int
    size_bytes: int
    segments: int
    lost: list[tuple[int, int]]
    link_folder: str | None
    """The folder of links of the whole plan, for :func:`remove_links`; None without ``link_dir``."""
    def splits(self, split_bytes: int) -> list[Split]:
        """The range cut on batch boundaries into shares of about ``split_bytes``; none when it is empty."""
    def summary(
        self, *, min_timestamp_ms: int | None = None, end_timestamp_ms: int | None = None
    ) -> tuple[int, int, int, int, int]:
        """(records, least offset, greatest offset, least timestamp ms, greatest timestamp ms), -1 for none; from batch
        headers, reading records only of the batches that a bound or a timestamp limit cuts. Control batches and, under
        read_committed, aborted ones are not counted. The least timestamp is the least first timestamp of a batch.
        Headers have no least timestamp of their own: with ``min_timestamp_ms`` the records of every batch that is not
        wholly before it are read, but for batches of LogAppendTime."""

@final
class TopicPartitionFiles:
    """A partition found on disk. Offsets as in :class:`PartitionPlan`; timestamps in ms, -1 when unknown."""

    topic: str
    partition: int
    log_dir: str
    path: str
    segments: int
    size_bytes: int
    log_start_offset: int
    end_offset: int
    first_timestamp_ms: int
    max_timestamp_ms: int

def list_partitions(log_dirs: Sequence[str], topic: str | None = None) -> list[TopicPartitionFiles]:
    """Every partition below the log directories, sorted. FileNotFoundError, NotADirectoryError or ValueError, one
    sentence."""

def remove_links(link_dir: str, older_than_s: float = 0.0) -> int:
    """Removes the folders of links that plans made in ``link_dir`` at least ``older_than_s`` seconds ago, or
    ``link_dir`` itself when it is one (:attr:`PartitionPlan.link_folder`); gives how many. Nothing else is touched."""

def plan_scan(
    log_dirs: Sequence[str],
    topic: str,
    *,
    partitions: Sequence[int] | None = None,
    start: Mapping[int, tuple[str, int]] | None = None,
    end: Mapping[int, tuple[str, int]] | None = None,
    isolation_level: str = "read_uncommitted",
    watermarks: Mapping[int, tuple[int, int, int]] | None = None,
    fail_on_data_loss: bool = True,
    keep_open: bool = True,
    link_dir: str | None = None,
) -> list[PartitionPlan]:
    """Fixes what a scan of ``topic`` reads, a plan for each of its partitions in order.

    ``start`` and ``end`` by partition (-1: every other): ("offset", n), with -2 the earliest and -1 the latest, or
    ("timestamp", ms), the first offset whose timestamp is at least that. ``watermarks`` by partition, as a broker told
    them: (log start offset, high watermark, last stable offset); without, from the files: the log start and high
    watermark checkpoints (the log's end where the directory has no high watermark checkpoint), open transactions from
    the producer snapshot and the log behind it. ``keep_open`` keeps the segment files open in the plan's splits;
    ``link_dir`` (on the same file system) gets hard links to them, in a folder of its own which its readers or
    :func:`remove_links` remove. As in Spark, an offset below the log start, or an end beyond what can be read, is loss:
    DataLossError, or clamped and told in ``lost``. Gaps within a log are compaction, never loss; a segment taken out by
    hand cannot be told from one. ValueError for mistakes (reversed bounds, a start beyond what can be read, unknown
    partitions, an unusable ``link_dir``), FileNotFoundError for a directory or topic that is not there, ScanError
    naming file and position.
    """

@final
class Scan:
    """Splits read as Arrow. Each ``__arrow_c_stream__`` starts a scan of its own; threads run without the GIL."""

    def __new__(
        cls,
        splits: Sequence[Split],
        columns: Sequence[str],
        *,
        min_timestamp_ms: int | None = None,
        end_timestamp_ms: int | None = None,
        keys: Sequence[bytes | None] | None = None,
        check_crcs: bool = True,
        threads: int = 1,
        batch_rows: int = 65536,
        batch_bytes: int = 1048576,
        fail_on_data_loss: bool = True,
    ) -> Self:
        """``columns``: any of Spark's Kafka source's, in any order. Rows come in the order of ``splits``, whatever
        ``threads`` is. A batch ends at ``batch_rows`` rows or ``batch_bytes`` bytes of keys, values and headers,
        whichever is first. ValueError for an unknown or repeated column, or limits below 1."""
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The Arrow PyCapsule stream of the rows."""
    def __arrow_c_schema__(self) -> object:
        """The Arrow PyCapsule schema of the columns."""
    @property
    def lost(self) -> list[tuple[str, int, int, int]]:
        """(topic, partition, from, to) of what streams skipped because it was gone; only with
        ``fail_on_data_loss=False``."""
    @property
    def failure(self) -> ScanError | ValueError | OSError | None:
        """Why a stream ended early, as the exception it is: Arrow's interface carries an error as text alone."""

@final
class Rows:
    """The rows of a scan, once, from its beginning: a list of tuples for each batch, columns in the scan's order.
    Timestamps are microseconds, headers lists of (name, value). For callers without an Arrow library; much slower than
    a stream."""

    def __new__(cls, scan: Scan) -> Self: ...
    def __iter__(self) -> Iterator[list[tuple[Any, ...]]]: ...
    def __next__(self) -> list[tuple[Any, ...]]:
        """ScanError, DataLossError."""

@final
class BatchDescription:
    """A batch as its header says, in the words of kafka-dump-log. ``is_valid``: the CRC matches; ``codec`` is "unknown"
    for the ids that mean nothing; ``delete_horizon_ms`` is None without one."""

    position: int
    size_bytes: int
    base_offset: int
    last_offset: int
    count: int
    base_sequence: int
    last_sequence: int
    producer_id: int
    producer_epoch: int
    partition_leader_epoch: int
    is_transactional: bool
    is_control: bool
    delete_horizon_ms: int | None
    is_log_append_time: bool
    max_timestamp_ms: int
    magic: int
    codec: str
    crc: int
    is_valid: bool

@final
class BatchHeaders:
    """The batches of one segment file, as long as it is when opened. ScanError where a length or magic cannot be."""

    def __new__(cls, path: str) -> Self: ...
    def next_chunk(self) -> list[BatchDescription]:
        """Some batches more, in order; none at the end or where a batch is cut short."""
    @property
    def rest_bytes(self) -> int:
        """Bytes from where it stands to the end: behind the last batch, those that are no whole batch."""
