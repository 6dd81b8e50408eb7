"""The Rust data plane and storage engine. Every blocking call detaches from the GIL.

This is the whole boundary: immutable snapshots go in, requests and events come out in batches,
and record bytes cross only for the coordinators' own logs.
"""

import builtins
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Literal, Self, final

__all__ = [
    "INTERNAL_TOPICS",
    "AppendDone",
    "BatchDescription",
    "BatchHeaders",
    "BrokerConnection",
    "BrokerLogin",
    "BrokerTls",
    "Check",
    "CheckFinding",
    "CheckProgress",
    "CheckReport",
    "CleanerFigures",
    "CleanerReport",
    "ClientError",
    "Consumer",
    "DataLossError",
    "Delivery",
    "Encoder",
    "Engine",
    "EngineError",
    "EpochEnd",
    "ExpiredSession",
    "FetchedRecord",
    "FetchedRecords",
    "Figures",
    "GroupLease",
    "Groups",
    "GroupsCreated",
    "HostedLog",
    "IsrChange",
    "LazyRows",
    "Lease",
    "ListedTransaction",
    "LoadBuildError",
    "LoadBuilder",
    "LoadedGroups",
    "LoadedTransactions",
    "LogDir",
    "LogDirFailed",
    "LogDirReplica",
    "LogLine",
    "LowWatermarkMoved",
    "MessageField",
    "MissingLog",
    "OffsetsRemoval",
    "PartitionFigures",
    "PartitionOffsets",
    "PartitionPlan",
    "Pieces",
    "Producer",
    "ProducerIdsLow",
    "PublishedBroker",
    "PublishedPartition",
    "PublishedTopic",
    "Quotas",
    "Record",
    "Recovery",
    "RecoveryNote",
    "RecoveryProgress",
    "ReplicaMoved",
    "Request",
    "RequestAbandoned",
    "Rows",
    "Scan",
    "ScanError",
    "Security",
    "ServedVersions",
    "SessionsExpired",
    "Split",
    "StartError",
    "ThreadFailed",
    "TooManyRowsError",
    "TopicPartitionFiles",
    "TransactionDescription",
    "Transactions",
    "UnknownFieldError",
    "Unwritten",
    "__version__",
    "broker_offsets",
    "build_batch",
    "certificate_ends",
    "certificate_hosts",
    "client_security",
    "decode_message",
    "decode_request",
    "decode_response",
    "error_codes",
    "finish_lease",
    "give_back_memory",
    "is_flexible",
    "issue_certificates",
    "list_partitions",
    "make_staging_dir",
    "message_encoder",
    "message_fields",
    "message_key",
    "message_type",
    "parse_servers",
    "plan_read",
    "plan_scan",
    "request_encoder",
    "resident_bytes",
    "response_encoder",
    "supported_features",
    "sweep_staged",
    "value_spec",
]

INTERNAL_TOPICS: list[str]
"""Topics in which brokers keep their own state; the data plane lets no client write them."""

class EngineError(Exception):
    """An operation the engine refused. ``code`` is Kafka's error code; str() is one sentence."""

    code: int

class StartError(Exception):
    """A reason not to start, one sentence naming key/path, value and fix."""

@final
class Request:
    """A request for the control plane; immutable.

    ``token`` answers it with ``respond((token, body))``; ``client_host`` is as Kafka shows it ("/127.0.0.1");
    ``listener`` is the name of the listener the connection came in on; ``is_broker`` says that its connection may send
    inter-broker requests: it was accepted on ``inter.broker.listener.name``, and where the brokers have a secret it has
    proven the secret; ``principal`` is the user that the client has proven to be, as Kafka writes it (``User:alice``;
    ``User:ANONYMOUS`` for a client that has proven nothing), ``is_token_authenticated`` whether by a delegation token;
    ``body`` is what follows the request header, unchecked.
    """

    token: int
    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    client_host: str
    listener: str
    is_broker: bool
    principal: str
    is_token_authenticated: bool
    @property
    def body(self) -> bytes: ...
    def forget_body(self) -> None:
        """Drops the body when it is not needed any more, and frees its share of ``kafkastore.control.max.bytes``;
        :attr:`body` is empty then."""

@final
class AppendDone:
    """The end of an :meth:`Engine.append`; ``error_code`` 0 says that the append is acknowledged as its acks asked."""

    token: int
    error_code: int
    base_offset: int
    last_offset: int
    log_append_time_ms: int
    message: str | None

@final
class GroupsCreated:
    """Groups without members that their first commit created; reported once for each group, before that commit is
    answered."""

    partition: int
    """The groups' partition of ``__consumer_offsets``."""
    group_ids: list[str]

@final
class SessionsExpired:
    """Members whose sessions have expired: they sent nothing for their session timeout. A member that has sent a
    heartbeat or a commit since has a session again."""

    sessions: list[ExpiredSession]

@final
class ExpiredSession:
    """A member whose session has expired."""

    partition: int
    """The group's partition of ``__consumer_offsets``."""
    number: int
    """The number of the partition's load (:meth:`Groups.begin`)."""
    group_id: str
    member_id: str

@final
class LoadedGroups:
    """The groups of a partition of ``__consumer_offsets``, as it was loaded; the data plane keeps their offsets."""

    records: list[tuple[str, bytes]]
    """(group id, value of its last record)."""
    simple_groups: list[str]
    """Groups that have offsets and no record."""
    unstable_groups: list[str]
    """Groups that have offsets of open transactions."""
    skipped: int
    skip_reason: str

@final
class GroupLease:
    """The data plane's state of a group. The methods change nothing when another broker leads the group's partition, or
    when the partition was loaded anew."""

    def set_state(self, state: int, generation_id: int) -> None:
        """``state``: 0 Empty, 1 PreparingRebalance, 2 CompletingRebalance, 3 Stable."""
    def add_member(self, member_id: str, group_instance_id: str | None) -> None:
        """Adds a member without a session."""
    def remove_member(self, member_id: str, group_instance_id: str | None) -> None: ...
    def replace_member(self, old_member_id: str, new_member_id: str, group_instance_id: str) -> None:
        """A static member rejoins under another member id."""
    def start_session(self, member_id: str, timeout_ms: int) -> None:
        """Starts a session, which every heartbeat and commit of the member restarts; its end is reported once, by
        :class:`SessionsExpired`."""
    def cancel_session(self, member_id: str) -> None: ...
    def has_session(self, member_id: str) -> bool: ...
    def has_offsets(self) -> bool:
        """Whether the group has offsets: committed, being committed, or in an open transaction."""
    def offset_topics(self) -> list[str]:
        """The topics with committed offsets."""
    def release(self) -> None:
        """Ends the lease of a group that is gone; if it still has offsets, it is reported as a new group
        (:class:`GroupsCreated`)."""

@final
class OffsetsRemoval:
    """One step of a removal of committed offsets."""

    token: int | None
    """The token of the :class:`AppendDone` that says that the tombstones are durable; None when there was no offset to
    remove."""
    has_more: bool
    """Whether offsets are left to remove because one batch does not hold all tombstones."""
    is_kept: bool
    """Whether the group keeps offsets that are not to be removed."""

def issue_certificates(
    hosts: Sequence[str], users: Sequence[str], now_s: int, days: int, authority: str | None = None
) -> tuple[tuple[str, str], tuple[str, str], list[tuple[str, str]]]:
    """(certificate, private key) in PEM of an authority, of a broker at ``hosts`` (names or addresses) and of each
    user, valid for ``days``. ``authority``: the private key of one that was issued before; None makes a new one. Raises
    StartError."""

def certificate_ends(pairs: Mapping[str, str]) -> list[tuple[str, str, int]]:
    """Of the certificates that ``ssl.*`` keys give: ("ssl.keystore" or "ssl.truststore", the subject, its end in
    seconds since 1970). Blocking. Raises StartError for a store that cannot be read."""

def certificate_hosts(pem: bytes) -> list[str] | None:
    """The names and addresses that the first certificate in PEM is for; None when there is no certificate."""

@final
class Recovery:
    """What :meth:`Engine.open_log_dirs` finds, and what it may lose."""

    def set_loss_policy(
        self, accepted: Sequence[tuple[str, int, int]], replicated: Sequence[tuple[str, Sequence[int]]]
    ) -> None:
        """Before open_log_dirs: (topic, partition, log end offset) of losses that are accepted, and (topic, partitions)
        that have another in-sync replica. Any other log that lacks durable records makes open_log_dirs refuse the
        start."""
    def progress(self) -> RecoveryProgress:
        """Callable while open_log_dirs runs."""
    def take_notes(self) -> list[RecoveryNote]:
        """The notes of open_log_dirs, also when it raised; each is returned once."""
    def short_logs(self) -> list[tuple[str, int]]:
        """Logs that open_log_dirs opened though they end before their last durable record: another replica has the
        rest."""
    def missing_logs(self) -> list[MissingLog]:
        """Logs that existed in the last run and are missing now."""
    def unclean_logs(self) -> list[tuple[str, int]]:
        """Logs that open_log_dirs opened in directories whose last run did not end with a clean stop: records that were
        acknowledged from the page cache may be lost, wherever a move puts the log. Empty before open_log_dirs."""
    def put_back_shutdown(self) -> None:
        """After open_log_dirs, when the start is refused: restores the clean-shutdown markers, since nothing was
        written."""

@final
class Quotas:
    """The limits of clients."""

    def publish(self, rows: Sequence[tuple[str | None, str | None, str, float | None]], *, is_whole: bool) -> None:
        """Replaces limits of bytes and request time, all of them when ``is_whole``: (user, client id, key, limit).
        None: not part of the entity, or no limit; empty: the default. The keys are ``producer_byte_rate``,
        ``consumer_byte_rate`` and ``request_percentage``. Connections take the limits over at their next request; what
        was counted stays."""
    def note_request_times(self, spent: Sequence[tuple[int, int]]) -> None:
        """Counts the time that the control plane has spent on requests: (token, microseconds). Called before they are
        answered, so that the answers name the time that they cost."""
    def client_figures(self, max_rows: int) -> tuple[list[tuple[str, str, str, float, float]], list[tuple[str, int]]]:
        """Blocking. What clients that have a limit use of it, at most ``max_rows`` rows of each kind, those with the
        highest rates: ("Produce", "Fetch" or "Request", user, client id, bytes a second or percent of one thread,
        average throttle time in milliseconds). A name is empty where it does not matter. And by kind how many clients
        are left out."""
    def connection_figures(self, max_rows: int) -> tuple[list[tuple[str, str, float, float, float]], int]:
        """Blocking. New connections a second: (label, name, rate, average throttle time in milliseconds of the
        listener, and of addresses on it) of the broker (no label), of each "listener", and of at most ``max_rows``
        addresses that have a limit ("ip"). And how many addresses are left out."""
    def publish_connection_rates(self, rows: Sequence[tuple[str | None, float]]) -> None:
        """Replaces the limits of new connections a second by address; None: the addresses without one of their
        own."""

@final
class Security:
    """How clients prove who they are, and what they may do."""

    def set_tls(self, listener: str, pairs: Mapping[str, str]) -> None:
        """Gives a listener TLS as its ``ssl.*`` keys say (without the listener's prefix), before ``listen``; or renews
        the certificates that later handshakes use. Blocking. Raises StartError with a sentence that names the key."""
    def set_sasl(
        self,
        listener: str,
        mechanisms: Sequence[str],
        plain_users: Mapping[str, str],
        *,
        max_session_ms: int,
        max_frame_bytes: int,
        failure_delay_ms: int,
        audiences: Sequence[str],
        issuer: str | None,
        clock_skew_s: int,
        user_claim: str,
    ) -> None:
        """Lets clients of a listener prove who they are by SASL, before ``listen``. ``plain_users``: passwords by user
        for PLAIN; ``max_session_ms``: ``connections.max.reauth.ms``, 0 for sessions without an end;
        ``max_frame_bytes``: of a request before the proof; ``failure_delay_ms``:
        ``connection.failed.authentication.delay.ms``. The rest is for OAUTHBEARER: audiences of which a token has to
        name one (empty: none), the issuer that it has to name, the clock skew, the claim with the user's name.
        Raises StartError for a mechanism that is not served."""
    def set_token_keys(self, listener: str, text: str) -> int:
        """Replaces the keys that sign the tokens of a listener by a JWK set (RFC 7517); returns how many keys of it
        count. Raises StartError with the reason, and then the keys stay."""
    def unknown_token_keys(self, listener: str) -> int:
        """How many tokens of a listener named a key that is not known, since the start."""
    @staticmethod
    def scram_keys(mechanism: int, salted_password: bytes) -> tuple[bytes, bytes]:
        """The stored key and the server's key of a salted password (RFC 5802)."""
    @staticmethod
    def delegation_token_hmac(secret: str, token_id: str) -> bytes:
        """The HMAC-SHA-512 of a token's id, 64 bytes (KIP-48)."""
    def publish_delegation_tokens(
        self, tokens: Sequence[tuple[str, tuple[str, str, int] | None]], *, is_whole: bool
    ) -> None:
        """Replaces delegation tokens, all of them when ``is_whole``: (id, (owner's name, password, end in milliseconds
        since 1970)); None: it is gone."""
    def publish_scram_credentials(
        self, users: Sequence[tuple[int, str, tuple[bytes, bytes, bytes, int] | None]], *, is_whole: bool
    ) -> None:
        """Replaces users of SCRAM, all of them when ``is_whole``: (mechanism, user, (salt, stored key, server key,
        iterations)); None: the user has none. Mechanism 1 is SCRAM-SHA-256, 2 is SCRAM-SHA-512 (KIP-554)."""
    def reach_brokers(self, tls: BrokerTls | None, login: BrokerLogin | None, users: AbstractSet[str] | None) -> None:
        """How the data plane reaches other brokers, before ``listen``: TLS, and what proves who this broker is.
        ``users``: the principals that may act as brokers, where each client of the brokers' listener proves who it is;
        None where the secret tells them, or nothing."""
    def set_authorizer(self, super_users: AbstractSet[str], allows_everyone: bool) -> None:
        """From now on ACLs decide what clients may do; there are none yet. ``allows_everyone``:
        ``allow.everyone.if.no.acl.found``."""
    def publish_acls(
        self,
        patterns: Sequence[tuple[int, int, str, Sequence[tuple[str, str, int, int]]]],
        *,
        is_whole: bool,
    ) -> None:
        """Replaces the ACLs of each resource pattern: (resource type, pattern type, name, its ACLs), an ACL as
        (principal, host, operation, permission), in Kafka's numbers. ``is_whole`` drops the ACLs of all other patterns.
        Each decision after this call is made by the new ACLs."""
    def authorize(
        self,
        request: str,
        client: tuple[str, str],
        operation: int,
        resource_type: int,
        names: Sequence[str],
        *,
        is_logged: bool,
    ) -> builtins.list[bool] | None:
        """Whether ``client`` (principal, host) may do the operation with each of the resources; None when it may do it
        with all. ``request`` is the request's name, for the log lines about refusals; ``is_logged``: whether there are
        any."""
    def log_refused_order(self, request: str, client: tuple[str, str]) -> None:
        """Logs that ``client`` (principal, host) asked for what brokers alone may do to each other, and was refused.
        Nothing without an authorizer."""
    def authorized_operations(
        self, client: tuple[str, str], resource_type: int, names: Sequence[str]
    ) -> builtins.list[int]:
        """The operations that ``client`` may do with each of the resources, as a response's bit field."""

@final
class BrokerTls:
    """TLS of connections to other brokers, by the ``ssl.*`` keys of the brokers' listener (without its prefix)."""

    def __new__(cls, pairs: Mapping[str, str]) -> Self:
        """Blocking. Raises StartError with a sentence that names the key."""
    def renew(self, pairs: Mapping[str, str]) -> None:
        """Reads the certificates again, for later connections. Blocking. Raises StartError, and then nothing
        changes."""
    @property
    def user(self) -> str | None:
        """The user that this broker's own certificate names, by ``ssl.principal.mapping.rules``."""

@final
class BrokerLogin:
    """What proves to another broker who this one is: the secret of the brokers, or a user of SASL."""

    @staticmethod
    def of_secret(secret: str, *, is_required: bool) -> BrokerLogin: ...
    @staticmethod
    def of_user(mechanism: str, user: str, password: str) -> BrokerLogin:
        """A user of PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512. Raises ValueError for another mechanism."""
    @property
    def is_secret(self) -> bool:
        """Whether it is the secret of the brokers, not a user of SASL."""
    @property
    def is_required(self) -> bool:
        """Whether a connection to a broker that does not serve the proof is of no use."""

@final
class BrokerConnection:
    """A connection to a broker for a loop that must not wait: where a method returns None, the same call goes on once
    the socket may be written to (:attr:`wants_to_write`) or else read from. Requests are answered in their order. After
    an error it is of no more use; the error's text is a clause."""

    def __new__(
        cls,
        host: str,
        addresses: Sequence[tuple[str, int]],
        client_id: str,
        tls: BrokerTls | None,
        login: BrokerLogin | None,
    ) -> Self:
        """Not opened yet. ``addresses``: of the host, with the port."""
    def fileno(self) -> int:
        """The socket, which another one may follow while it is opened; -1 when there is none."""
    @property
    def wants_to_write(self) -> bool: ...
    @property
    def is_usable(self) -> bool:
        """Whether the next request may be sent: all are answered, the broker has not closed it, and its session does
        not end soon."""
    def open(self) -> Literal[True] | None:
        """Connects, to the first address that accepts; TLS; the proof. Raises OSError: PermissionError when the proof
        failed."""
    def send(self, api_key: int, api_version: int, is_flexible: bool, body: bytes) -> None:
        """Puts a request in line. Raises ConnectionError."""
    def receive(self) -> bytes | None:
        """The answer's body behind the correlation id. Raises ConnectionError."""
    def close(self) -> None:
        """Whoever waits for its socket goes on, and gets an error; the descriptor lives as long as this object."""

@final
class Groups:
    """The groups that this broker coordinates, by partition of ``__consumer_offsets``."""

    def configure(self, offset_metadata_max_bytes: int, commit_timeout_ms: int, codec: int) -> None:
        """``codec``: ``offsets.topic.compression.codec``."""
    def stop(self) -> None:
        """From now on requests are answered COORDINATOR_NOT_AVAILABLE."""
    def begin(self, partition: int) -> int:
        """From now on requests are answered that the partition is loading. Returns the number of this load. Raises
        EngineError when this broker does not lead the partition."""
    def load(self, partition: int, number: int) -> LoadedGroups | None:
        """Reads the partition's log; returns None when another load was begun or the partition was closed meanwhile.
        Blocks on the disk. Raises EngineError."""
    def activate(self, partition: int, number: int) -> None:
        """From now on requests for the groups of this load are served; the groups' leases must exist."""
    def close(self, partition: int) -> None:
        """From now on requests are answered NOT_COORDINATOR."""
    def lease(self, partition: int, number: int, group_id: str) -> GroupLease:
        """A new lease (Empty, generation 0, no members), which replaces the group's previous lease; for a load that is
        over, a lease without effect."""
    def delete_offsets(
        self, partition: int, group_id: str, topics: list[tuple[str, list[int]]] | None
    ) -> OffsetsRemoval:
        """Appends tombstones of offsets, one batch at most, also of offsets that are being committed. Raises
        EngineError with the code for clients."""
    def forget_topic(self, partition: int, topic: str) -> OffsetsRemoval:
        """As :meth:`delete_offsets`, for a deleted topic in every group; an existing topic of the same name keeps its
        offsets."""
    def expire_offsets(
        self,
        partition: int,
        group_id: str,
        subscribed: set[str],
        now_ms: int,
        retention_ms: int,
        since_ms: int | None,
    ) -> OffsetsRemoval:
        """As :meth:`delete_offsets`, for offsets that have expired (KIP-211)."""

@final
class LoadedTransactions:
    """The transactional ids of a partition of ``__transaction_state``, as it was loaded; the data plane keeps them."""

    count: int
    """How many transactional ids there are."""
    skipped: int
    """Records that do not follow their grammar."""
    skip_reason: str
    """Why the first of these records was skipped; empty without one."""

@final
class TransactionDescription:
    """A transactional id and its transaction."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    state: str
    """Kafka's name of the state: ``Ongoing``."""
    timeout_ms: int
    start_ms: int
    """When the transaction began; -1 when there is none."""
    partitions: list[tuple[str, int]]
    """The partitions (topic, partition) in the transaction; of a prepared transaction those without a marker."""

@final
class ListedTransaction:
    """A row of :meth:`Transactions.list`."""

    transactional_id: str
    producer_id: int
    state: str
    """Kafka's name of the state: ``Ongoing``."""

@final
class Transactions:
    """The transactional ids that this broker coordinates, by partition of ``__transaction_state``. The data plane
    serves the requests of producers, aborts transactions whose timeout is over, sends markers, and removes expired
    ids."""

    def configure(
        self, *, max_timeout_ms: int, id_expiration_ms: int, abort_interval_ms: int, expiry_interval_ms: int
    ) -> None:
        """The times of ``transaction.max.timeout.ms``, ``transactional.id.expiration.ms``, and the intervals between
        two searches for timed out transactions and for expired ids."""
    def stop(self) -> None:
        """From now on requests are answered COORDINATOR_NOT_AVAILABLE."""
    def begin(self, partition: int) -> int:
        """From now on requests are answered that the partition is loading. Returns the number of this load. Raises
        EngineError when this broker does not lead the partition."""
    def load(self, partition: int, number: int) -> LoadedTransactions | None:
        """Reads the partition's log; returns None when another load was begun or the partition was closed meanwhile.
        Blocks on the disk. Raises EngineError."""
    def activate(self, partition: int, number: int) -> None:
        """From now on requests for the transactional ids of this load are served, and its prepared transactions are
        finished. A load that is over is ignored."""
    def close(self, partition: int) -> None:
        """From now on requests are answered NOT_COORDINATOR."""
    def describe(self, transactional_id: str) -> TransactionDescription:
        """Raises EngineError with the code for clients, TRANSACTIONAL_ID_NOT_FOUND among others."""
    def list(
        self,
        partition: int,
        states: Sequence[str],
        producer_ids: Sequence[int],
        min_duration_ms: int,
        pattern: str | None,
        now_ms: int,
    ) -> builtins.list[ListedTransaction]:
        """The transactional ids of the partition that are in one of ``states``, have one of ``producer_ids``, began
        their transaction more than ``min_duration_ms`` before ``now_ms``, and match ``pattern`` as a whole. An empty
        sequence, a negative duration and None select all. Lists nothing of a partition that is not active. Raises
        EngineError with INVALID_REGULAR_EXPRESSION for the pattern, whether the partition is active or not."""

@final
class LogLine:
    """A line of the data plane for the log."""

    @property
    def message(self) -> str: ...
    @property
    def is_audit(self) -> bool:
        """Whether the line is for the audit log: a client was refused."""

@final
class IsrChange:
    """A leader on this broker proposes another in-sync set (KIP-497). At most one proposal is pending for a partition;
    a lease with a higher partition epoch or :meth:`Engine.withdraw_isr_change` ends it."""

    topic: str
    partition: int
    leader_epoch: int
    partition_epoch: int
    in_sync_replicas: list[tuple[int, int]]
    """(node id, the broker epoch of the replica's last fetch, or -1)."""

@final
class LogDirFailed:
    """A log directory went offline; no partition in it is served any more."""

    log_dir: str
    reason: str

@final
class ReplicaMoved:
    """A partition has been moved to another log directory."""

    topic: str
    partition: int
    log_dir: str

@final
class LowWatermarkMoved:
    """The low watermark of a partition may have moved since :meth:`Engine.watch_low_watermark`, or this broker no
    longer leads the partition."""

    topic: str
    partition: int

@final
class ProducerIdsLow:
    """Few producer ids are left, or none: the control plane claims the next block and gives it to
    :meth:`Engine.add_producer_ids`."""

@final
class RequestAbandoned:
    """The client of an unanswered request has gone, or sends no more. The request may have been answered meanwhile."""

    token: int

@final
class ThreadFailed:
    """A thread of the data plane ended by a panic or an error: requests that wait for the thread would wait for ever,
    so the process has to end."""

    thread: str
    reason: str

@final
class Lease:
    """A broker's role for a partition: lead it, follow ``leader``, or neither while ``leader`` is -1. A new lease
    replaces the old one whole."""

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
    """A partition as Metadata describes it to clients. ``offline_replicas`` are the replicas in an offline log
    directory."""

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
    """A topic, or some of its partitions, as Metadata describes it to clients. ValueError for a ``topic_id`` that has
    not 16 bytes."""

    def __new__(
        cls,
        *,
        name: str,
        topic_id: bytes,
        is_internal: bool,
        keys_over: int,
        partitions: Sequence[PublishedPartition],
    ) -> Self: ...
    @property
    def name(self) -> str: ...
    @property
    def topic_id(self) -> bytes: ...
    @property
    def is_internal(self) -> bool: ...
    @property
    def keys_over(self) -> int:
        """Of an internal topic: among how many partitions coordinators place their keys."""
    @property
    def partitions(self) -> list[PublishedPartition]: ...

@final
class PublishedBroker:
    """A broker as Metadata describes it to clients; ``endpoints`` are (listener name, host, port)."""

    def __new__(cls, *, node_id: int, rack: str | None, endpoints: Sequence[tuple[str, str, int]]) -> Self: ...
    @property
    def node_id(self) -> int: ...
    @property
    def rack(self) -> str | None: ...
    @property
    def endpoints(self) -> list[tuple[str, str, int]]: ...

@final
class ServedVersions:
    """The versions of an API that are served. ``flexible_from`` is 32767 when no version is flexible;
    ``is_advertised``: ApiVersions lists the API."""

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
    """A record that the control plane reads. ``producer_id`` is the producer of the transaction that the record belongs
    to or ends, -1 outside of transactions; ``control`` is "commit", "abort" or "other" for a control record, None for
    any other."""

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
class EpochEnd:
    """Where a leader epoch ends in a partition's log: ``leader_epoch`` is the greatest that the log has up to the one
    asked for, ``end_offset`` the offset after its last record; both -1 when the log has none (KIP-101)."""

    leader_epoch: int
    end_offset: int

@final
class RecoveryProgress:
    """How far :meth:`Engine.open_log_dirs` is."""

    logs_loaded: int
    logs: int
    segments_checked: int
    segments_to_check: int

@final
class HostedLog:
    """A log that was found or created; ``topic_id`` is None while the log has no topic id."""

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
    """One sentence about a finding while a log was opened. ``is_loss``: records are lost or may be lost."""

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
    """The figures for the metrics: ``totals`` by name, ``requests`` by API key, (topic, counts). A topic's counts are,
    in this order: messages in, bytes in, bytes out, replication bytes in and out, partitions of produces and refused
    partitions of produces, the same two of fetches."""

    totals: dict[str, int]
    requests: dict[int, int]
    topics: list[tuple[str, list[int]]]
    partitions: list[PartitionFigures]

@final
class LogDirReplica:
    """A replica in a log directory. ``is_future``: the replica is being moved there, and ``offset_lag`` is how far the
    copy is behind."""

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
class CleanerReport:
    """A cleaning of one log that has ended. ``outcome``: ``cleaned`` up to ``end_offset``; ``stopped``, since the
    broker stops or the log was truncated, deleted or moved; ``uncleanable``, since a batch is corrupt: not tried again
    before the next start; ``resting``, since the disk is full or descriptors are short: tried again after a minute;
    ``failed``: the log directory is offline. ``reason`` names the file for the last three. Records and bytes are those
    of this cleaning; ``map_utilization`` is 0 to 1."""

    topic: str
    partition: int
    log_dir: str
    outcome: str
    reason: str
    first_dirty_offset: int
    end_offset: int
    indexed_bytes: int
    read_bytes: int
    written_bytes: int
    read_records: int
    kept_records: int
    records_without_key: int
    map_utilization: float
    indexing_s: float
    elapsed_s: float

@final
class CleanerFigures:
    """What the cleaner found when it last looked at all compacted logs. ``uncleanable``: (log directory, logs, bytes
    that should be cleaned); ``dirty_ratios``: (topic, partition, ratio from 0 to 1) of logs with dirty segments.
    ``last_run_ms`` is 0 before the first look."""

    max_dirty_ratio: float
    max_compaction_delay_ms: int
    last_run_ms: int
    uncleanable: list[tuple[str, int, int]]
    dirty_ratios: list[tuple[str, int, float]]

@final
class Engine:
    """One broker's data plane. Methods may be called from any thread unless said otherwise."""

    def __new__(cls, node_id: int, cluster_id: str, log_dirs: Sequence[str], options: Mapping[str, str]) -> Self:
        """``options``: broker configs by Kafka's name, values as text (already validated by config). An empty
        ``cluster_id`` takes over the cluster id of the directories."""
    # ---- start: directories, recovery
    def open_log_dirs(
        self, topic_configs: Mapping[str, Mapping[str, str]], missing: Mapping[str, str]
    ) -> list[tuple[str, str | None]]:
        """Lock, check meta.properties, recover every log in parallel. Blocks (run in a thread). The directories of
        ``missing`` (log_dir -> reason) are not touched and are offline. Returns (log_dir, failure or None) of each.
        Raises StartError."""
    def recovery(self) -> Recovery:
        """What open_log_dirs finds, and what it may lose."""
    def cluster_id(self) -> str:
        """The cluster id as given to the constructor, or as the opened log directories have it."""
    def logs(self) -> list[HostedLog]:
        """Every log found or created."""
    # ---- partitions
    def create_logs(
        self, topic: str, topic_id: bytes, config: Mapping[str, str], partitions: Sequence[tuple[int, str]]
    ) -> list[str | None]:
        """Creates logs (partition, log_dir); existing ones are kept. Blocking; returns an error text or None for
        each."""
    def publish_leases(self, topic: str, topic_id: bytes, leases: Sequence[Lease]) -> None:
        """Replaces the leases of these partitions whole. The data plane then fetches a partition that another broker
        leads from that broker's listener ``inter.broker.listener.name``."""
    def set_broker_epoch(self, epoch: int) -> None:
        """This registration's number in the metadata store; followers' fetches carry it (KIP-903)."""
    def shrink_isrs(self) -> None:
        """Proposes, by :class:`IsrChange`, to remove followers from the in-sync sets that have not caught up for
        ``replica.lag.time.max.ms``."""
    def withdraw_isr_change(self, topic: str, partition: int, partition_epoch: int) -> None:
        """Ends the proposal for this partition epoch, which was refused; a replica that it would have added is not
        proposed again for a while. Raises EngineError when this broker does not host the partition."""
    def delete_logs(self, topic: str, partitions: Sequence[int]) -> None:
        """Revokes leases, answers what is parked, renames the directories to -delete; files go after
        file.delete.delay.ms."""
    def mark_stray(self, topic: str, partition: int) -> None:
        """Renames the log's directory to `-stray` and forgets it."""
    def alter_log_dir(self, topic: str, partition: int, log_dir: str) -> None:
        """Begins to move a partition of this broker to another log directory, in the background; ReplicaMoved reports
        its end. It replaces a move that is under way; a move to the partition's current directory ends it. Raises
        EngineError."""
    def set_topic_config(self, topic: str, config: Mapping[str, str]) -> None:
        """The topic's effective configuration, for all of its logs at once."""
    def set_broker_options(self, options: Mapping[str, str]) -> None:
        """The broker's effective configuration, as given to the constructor."""
    # ---- published state
    def publish_api_versions(self, served: Sequence[ServedVersions]) -> None:
        """Every API that this broker serves, by either plane. A request of any other API closes the connection."""
    def highest_producer_id(self) -> int:
        """The highest producer id that a log of this broker knows, -1 without one. Blocking."""
    def publish_features(self, epoch: int, levels: Sequence[tuple[str, int]]) -> None:
        """The finalized features for ApiVersions (KIP-584): (name, level). ``epoch`` grows with each change."""
    def publish_cluster(self, brokers: Sequence[PublishedBroker], controller_id: int) -> None:
        """Publishes the brokers that are alive. With controller -1 Metadata requests go to the control plane first."""
    def take_producer_id(self) -> int | None:
        """A producer id that was never given out before; None when no block has an id left."""
    def add_producer_ids(self, first: int, last: int) -> None:
        """Adds a block of producer ids that was claimed for this broker alone, both ends included. InitProducerId is
        answered from it without the control plane."""
    def publish_topics(self, topics: Sequence[PublishedTopic]) -> None:
        """Adds topics to the metadata image. For a topic that the image has with the same id, adds or replaces the
        given partitions."""
    def withdraw_topics(self, names: Sequence[str]) -> None:
        """Clients no longer see these topics."""
    # ---- network
    def listen(self, listeners: Sequence[tuple[str, str, int]]) -> list[int]:
        """(listener name, host, port; 0 picks one) -> bound ports; starts the network threads. Raises StartError naming
        the listener."""
    def refuse_produces(self) -> None:
        """From now on clients' produces are answered NOT_LEADER_OR_FOLLOWER, before any of their batches is
        appended."""
    def waiting_produces(self) -> int:
        """Produces that were appended and wait for followers or a flush, once for each partition. Blocking: it walks
        over all partitions."""
    def close_network(self, timeout_ms: int) -> None:
        """Stops accepting connections, answers the requests in flight, closes all connections. Blocking."""
    def close_logs(self) -> None:
        """Flushes and closes every log, writes checkpoints and the clean-shutdown markers. Blocking."""
    # ---- requests and events for the control plane
    def fileno(self) -> int:
        """Readable when take() has something."""
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
        """Whether clients have left ``kafkastore.unsent.max.bytes`` or more of their answers unread."""
    def quotas(self) -> Quotas:
        """The limits of clients."""
    def security(self) -> Security:
        """How clients prove who they are."""
    def groups(self) -> Groups:
        """The groups that this broker coordinates."""
    def transactions(self) -> Transactions:
        """The transactional ids that this broker coordinates."""

    def serve_here(self, token: int) -> None:
        """Hands a request back to the data plane: a Metadata request after topics were created, an InitProducerId
        request after producer ids were claimed."""
    # ---- records for the coordinators
    def append(self, topic: str, partition: int, batch: bytes, required_acks: int, timeout_ms: int) -> int:
        """Appends a batch on the same path as a produce, with origin Coordinator. Returns a token; AppendDone
        comes by take()."""
    def read_records(self, topic: str, partition: int, offset: int, max_bytes: int) -> tuple[list[Record], int]:
        """Records up to the log end, and the next offset; blocking."""
    def partition_offsets(self, topic: str, partition: int) -> PartitionOffsets:
        """Raises EngineError (UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER)."""
    def delete_records(self, topic: str, partition: int, before_offset: int) -> int:
        """Moves the log start of the leader, which is this broker; -1 means the high watermark. Returns the offset that
        ``before_offset`` means: the low watermark reaches it when the replicas have followed. Blocking. EngineError
        codes as Kafka."""
    def watch_low_watermark(self, topic: str, partition: int, offset: int) -> int:
        """Returns the low watermark: the least log start offset of the leader, which is this broker, and of the
        replicas on live brokers (publish_cluster); -1 while one of these replicas has not fetched. If it is below
        ``offset``, LowWatermarkMoved is sent once, when it may have moved. EngineError (UNKNOWN_TOPIC_OR_PARTITION,
        NOT_LEADER_OR_FOLLOWER, KAFKA_STORAGE_ERROR)."""
    def offset_for_leader_epoch(
        self, topic: str, partition: int, current_leader_epoch: int, leader_epoch: int
    ) -> EpochEnd:
        """Raises EngineError (UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH,
        UNKNOWN_LEADER_EPOCH, KAFKA_STORAGE_ERROR)."""
    def describe_producers(self, topic: str, partition: int) -> bytes:
        """36 bytes for each active producer, big-endian: producer id (int64), epoch (int32), last sequence (int32),
        last timestamp in ms (int64), coordinator epoch (int32), start of the current transaction (int64)."""
    def describe_log_dirs(self) -> list[LogDir]:
        """Each entry of ``log.dirs`` with its replicas. Blocking."""
    # ---- housekeeping, scheduled by Python; all blocking, run in a thread
    def clean_filthiest(self) -> CleanerReport | None:
        """Compacts the log that needs it most, None when no log is due. Blocks for as long as it takes; several
        threads may call it."""
    def stop_cleaning(self) -> None:
        """Ends every cleaning soon, and every later one at once: the broker stops."""
    def cleaner_figures(self) -> CleanerFigures: ...
    def run_retention(self) -> int:
        """Deletes old segments of every log by its config; returns segments deleted."""
    def flush_due(self) -> int:
        """Flushes logs past flush.ms; returns how many."""
    def write_checkpoints(
        self, *, recovery_points: bool = False, high_watermarks: bool = False, log_starts: bool = False
    ) -> None:
        """Writes the checkpoint files of every log directory."""
    def note_deletions(self) -> None:
        """Makes durable which logs were deleted since the checkpoints were written: the next start after a crash does
        not miss them. Blocking."""
    def write_stale_checkpoints(self) -> None:
        """Writes the checkpoint files when they may have rows of logs that were deleted since the last write.
        ``create_logs`` does so itself for a log of the same name."""
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
        """How far the check is by now."""
    def cancel(self) -> None:
        """Ends the run soon; the report that it then returns is incomplete."""

@final
class CheckReport:
    """The result of a check: its totals and its findings."""

    partitions: int
    segments: int
    batches: int
    records: int
    bytes: int
    """Bytes of segment files and of the files beside them."""
    faults: int
    """Findings of severity ``fault``, including faults that are not listed."""
    findings: list[CheckFinding]

@final
class CheckFinding:
    """A finding of a check."""

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
    """A well-formed request with more rows than its API takes at once."""

def decode_request(api_key: int, api_version: int, body: bytes, max_rows: int | None = None) -> Any:
    """A request's body, as an object of the type that ``kafkastore.protocol`` has a stub of. Nothing is made that the
    bytes cannot hold; unknown tagged fields are dropped, and strings that are not UTF-8 read as Java reads them.
    ``max_rows`` bounds the elements of all arrays, where eight numbers count as one element; without it the bound of
    any body holds. ValueError when malformed, TooManyRowsError, KeyError for a version that the table has not."""

def decode_response(api_key: int, api_version: int, body: bytes) -> Any:
    """A response's body, like a request's."""

def decode_message(name: str, version: int, body: bytes) -> Any:
    """Any message of the table by Kafka's name, such as ``GroupMetadataValue``: bounded by its bytes alone."""

def message_type(message: str, name: str | None = None) -> type[Any]:
    """The type of a struct of the message named so, without a struct's name of the message itself. An object is made of
    the sequence of its fields. KeyError."""

@final
class MessageField:
    """A field of a struct in one version. ``kind``: ``bool``, ``int``, ``float``, ``str``, ``bytes``, ``uuid`` or
    ``struct``, of the value or of an element."""

    name: str
    kind: str
    is_array: bool
    is_nullable: bool
    has_default: bool
    struct_name: str | None

def message_key(message: str) -> int | None:
    """The key of the API of a request or a response. KeyError."""

def is_flexible(message: str, version: int) -> bool:
    """Whether a version of a message has tagged fields, and a header that has them. KeyError."""

def message_fields(message: str, version: int, name: str | None = None) -> list[MessageField]:
    """The fields of a struct of the message in a version; without a name, of the message itself. KeyError."""

class UnknownFieldError(TypeError):
    """A field that no version of its struct has."""

@final
class LazyRows:
    """An array with as many rows as there are ``items``, each made by ``make`` when it is written: bytes, an Unwritten,
    a dict, an object of the struct's type, or what the array has else."""

    def __new__(cls, items: Collection[Any], make: Callable[[Any], Any]) -> Self: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...

@final
class Unwritten:
    """A struct whose bytes are made when they are asked for."""

    @property
    def name(self) -> str:
        """Kafka's name of the struct."""

    def pieces(self) -> Pieces:
        """The bytes from the beginning. A piece ends after a millisecond or 64 KiB, whichever comes first, between two
        elements; a value that was written is let go."""

@final
class Pieces:
    """The bytes of an Unwritten, once."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> bytes: ...

@final
class Encoder:
    """Writes one struct of one version of a message. Values are plain: a dict, bytes, an Unwritten or an object of its
    type for a struct, any collection for an array, any int for an error code, 16 bytes, a UUID or None for a UUID. A
    field that is not given has its default; without a default in the table it must be given, but for arrays of
    primitives and the throttle time. A field that only other versions have is left out of a response; in a request its
    value must be the default, or the field ignorable (ValueError). A string of more than 32767 bytes is cut in a
    response and refused in a request (ValueError). TypeError for a value of another type or one that is missing,
    UnknownFieldError for a name that no version has."""

    @property
    def name(self) -> str:
        """Kafka's name of the struct."""

    @property
    def version(self) -> int: ...
    def row(self, given: dict[str, Any]) -> bytes:
        """The bytes of a struct with these values."""

    def unwritten(self, given: dict[str, Any]) -> Unwritten:
        """As ``row``, written later and piece by piece."""

    def bytes_of(self, value: Any) -> bytes:
        """The bytes of an object of the struct's type."""

def request_encoder(api_key: int, api_version: int, name: str | None = None) -> Encoder:
    """The encoder of a struct of a request, without a name of the request itself. KeyError."""

def response_encoder(api_key: int, api_version: int, name: str | None = None) -> Encoder:
    """The encoder of a struct of a response, without a name of the response itself. KeyError."""

def message_encoder(message: str, version: int) -> Encoder:
    """The encoder of any message of the table by Kafka's name. KeyError."""

def error_codes() -> list[tuple[int, str, bool, str]]:
    """Kafka's error codes: (code, name, whether Kafka's clients try again by themselves, Kafka's exception)."""

def supported_features() -> list[tuple[str, int, int]]:
    """The features that this broker supports (KIP-584): (name, lowest level, highest level)."""

def resident_bytes() -> int:
    """Bytes of this process in memory that belong to no file. Raises OSError where /proc is missing."""

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
    def within(self, start_offset: int, end_offset: int) -> Split:
        """The part of the split with offsets [``start_offset``, ``end_offset``), of the same open files."""
    @staticmethod
    def decode(text: str) -> Split:
        """The split that :meth:`encode` gave as text. ValueError for any other text."""
    def encode(self) -> str:
        """The split as JSON."""
    def __reduce__(self) -> tuple[object, ...]: ...

@final
class PartitionPlan:
    """The closed range of one partition that a scan reads, as it was when planned; it does not move with the log.

    ``log_start_offset`` and ``end_limit`` (the high watermark, or under read_committed the last stable offset) bound
    what could be read; ``start_offset`` and ``end_offset`` bound what will be read. ``size_bytes`` counts the bytes of
    segment files to read; ``leader_epoch`` is the latest in the leader epoch checkpoint, -1 without one. When
    ``is_overtaken``, segments were sealed above ``end_limit`` before all were opened, and a cleaner may already have
    dropped records below it for later ones above it. ``lost`` are the ranges [from, to) that were asked for and are no
    longer there, empty unless ``fail_on_data_loss`` was False.
    """

    topic: str
    partition: int
    path: str
    start_offset: int
    end_offset: int
    log_start_offset: int
    end_limit: int
    is_overtaken: bool
    leader_epoch: int
    size_bytes: int
    segments: int
    lost: list[tuple[int, int]]
    def splits(self, split_bytes: int) -> list[Split]:
        """The range cut on batch boundaries into shares of about ``split_bytes``; none when it is empty."""
    def count(self, *, min_timestamp_ms: int | None = None, end_timestamp_ms: int | None = None) -> int:
        """The number of records, from batch headers, reading records only of the batches that a bound or a timestamp
        limit cuts. Control batches and, under read_committed, aborted ones are not counted. Headers have no least
        timestamp of their own: with ``min_timestamp_ms`` the records of every batch that is not wholly before it are
        read, except for batches of LogAppendTime."""

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
    log_end_offset: int
    """One past the last offset in the files; records behind ``end_offset`` are not known to be committed."""
    first_timestamp_ms: int
    max_timestamp_ms: int

class LoadBuildError(Exception):
    """Segments of a bulk load that cannot be written, or rows that cannot be read."""

@final
class LoadBuilder:
    """Builds the segments of a bulk load, which brokers adopt (``docs/bulk-load.md``). The threads of others run
    meanwhile; one call at a time. After an error nothing more can be added."""

    def __new__(
        cls,
        topic: str,
        targets: Sequence[tuple[str, int]],
        *,
        producer_id: int,
        producer_epoch: int,
        compression: str,
        level: int | None,
        batch_bytes: int,
        max_message_bytes: int,
        segment_bytes: int,
        needs_keys: bool,
        now_ms: int,
        threads: int,
    ) -> Self:
        """``targets`` has, for every partition in order, the load's directory (made with its first record) and the
        number of records that the log has already, which are counted and not written. ``batch_bytes``: of a batch of
        several records, before compression. ``needs_keys``: the topic is compacted. A row without a timestamp gets
        ``now_ms``. At most ``threads`` threads build, each of them whole partitions. ValueError for an unknown
        ``compression``."""
    def append(self, rows: object) -> int:
        """Adds the rows of an Arrow stream (``__arrow_c_stream__``); gives how many. ValueError for a row or column
        that the topic cannot take, LoadBuildError."""
    def finish(self) -> list[tuple[int, int]]:
        """Writes the rest; gives (records of the load, bytes written) of each partition. LoadBuildError."""

def make_staging_dir(directory: str, load_id: str, driver_epoch: int) -> None:
    """Makes the directory of a task of a load, with a mark of whose it is: later drivers of the load have greater
    epochs. OSError."""

def sweep_staged(log_dirs: Sequence[str], load_id: str, before: int) -> None:
    """Removes from the log directories what tasks of the load's drivers with an epoch below ``before`` have staged.
    What cannot be read or removed now goes with the broker's next start."""

def list_partitions(log_dirs: Sequence[str], topic: str | None = None) -> list[TopicPartitionFiles]:
    """Every partition below the log directories, sorted. FileNotFoundError, NotADirectoryError or ValueError, one
    sentence."""

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
    ignore_corrupt_batches: bool = False,
    keep_open: bool = True,
) -> list[PartitionPlan]:
    """Fixes what a scan of ``topic`` reads, a plan for each of its partitions in order.

    ``start`` and ``end`` by partition (-1: every other): ("offset", n), with -2 the earliest and -1 the latest, or
    ("timestamp", ms), the first offset whose timestamp is at least that. ``watermarks`` by partition, as a broker
    reported them: (log start offset, high watermark, last stable offset); without them, from the files: the log start
    and high watermark checkpoints (the log's end where the directory has no high watermark checkpoint), open
    transactions from the producer snapshot and the log behind it. ``keep_open`` keeps the segment files open in the
    plan's splits. As in Spark, an offset below the log start, or an end beyond what can be read, is loss:
    DataLossError, or clamped and reported in ``lost``. So are offsets below the high watermark that the files do not
    have; where a damaged batch hides them, ScanError names it, or with ``ignore_corrupt_batches`` they are reported,
    too. Gaps within a log are compaction, never loss; a segment that was removed by hand looks like compaction.
    ValueError for mistakes (reversed bounds, a start beyond what can be read, unknown partitions), FileNotFoundError
    for a directory or topic that is not there, ScanError naming file and position.
    """

def client_security(properties: dict[str, str]) -> tuple[BrokerTls | None, BrokerLogin | None]:
    """TLS and the login of a client with these ``security.protocol``, ``ssl.*`` and ``sasl.*``; other keys are left
    alone. Blocking. Raises StartError with a sentence that begins with a key."""

def parse_servers(bootstrap_servers: str) -> list[tuple[str, int]]:
    """(host, port) of each server of a list by comma; an IPv6 address stands in brackets. ValueError."""

def broker_offsets(
    bootstrap_servers: str, topic: str, partitions: Sequence[int] | None, timeout_s: float, properties: dict[str, str]
) -> dict[int, tuple[int, int, int]]:
    """(log start offset, high watermark, last stable offset) of each partition, of all or of those given, told by their
    leaders at this moment. ``properties``: ``security.protocol``, ``ssl.*`` and ``sasl.*`` of Kafka's clients; others
    are left alone. Blocks for ``timeout_s`` at most while leaders move. ValueError (a wrong argument or property),
    FileNotFoundError (no such topic or partition), ConnectionError (no answer), PermissionError (the login, TLS or an
    ACL refuses)."""

def plan_read(request: str, default_split_bytes: int) -> str:
    """The shares of a read, as JSON: ``rust/planner/requests.rs`` has the fields. ValueError for mistakes,
    FileNotFoundError for what is not there, ConnectionError for brokers that do not answer, PermissionError, ScanError,
    DataLossError."""

def finish_lease(lease: str) -> None:
    """Ends a share's part in a lease on links; the last share's removes the links."""

def value_spec(options: dict[str, str], schema: object | None = None) -> str:
    """How values are parsed, from options of format("kafkastore") such as ``valueFormat`` and ``valueSchema``, as one
    text for :class:`Scan`; schema files are read and a schema registry is asked. ``schema``: an object with
    ``__arrow_c_schema__`` in place of ``valueSchema``. ValueError for mistakes, ConnectionError when the registry
    cannot be asked."""

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
        ignore_corrupt_batches: bool = False,
        values: str | None = None,
    ) -> Self:
        """``columns``: any of Spark's Kafka source's, in any order. ``values``: what :func:`value_spec` gave; the
        column ``value`` is a struct then. Rows come in the order of ``splits``, whatever ``threads`` is. A batch ends
        at ``batch_rows`` rows or ``batch_bytes`` bytes of keys, values and headers, whichever is first. ValueError for
        an unknown or repeated column, or limits below 1."""
    @staticmethod
    def open(request: str) -> Scan:
        """The scan of a share that :func:`plan_read` has cut. ValueError for a request that is none."""
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The Arrow PyCapsule stream of the rows."""
    def __arrow_c_schema__(self) -> object:
        """The Arrow PyCapsule schema of the columns."""
    @property
    def lost(self) -> list[tuple[str, int, int, int]]:
        """(topic, partition, from, to) of the records that streams skipped because they were gone or could not be read;
        only with ``fail_on_data_loss=False`` or ``ignore_corrupt_batches=True``."""
    @property
    def failure(self) -> ScanError | ValueError | OSError | None:
        """Why a stream ended early, as an exception object: Arrow's interface carries an error as text alone."""

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
    for an id that Kafka does not define; ``delete_horizon_ms`` is None when the batch has no delete horizon."""

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
        """The next batches, in order; an empty list at the end or where a batch is cut short."""
    @property
    def rest_bytes(self) -> int:
        """Bytes from the current position to the end of the file: after the last batch, the bytes that are no whole
        batch."""

class ClientError(Exception):
    """Why records are not read or written, in one sentence."""

    code: int | None
    """Kafka's error code, where a broker gave one."""
    is_retriable: bool
    """Whether the same call may succeed later."""

@final
class Consumer:
    """A consumer without a group: the caller assigns partitions with offsets, and polls their records.

    It works within `poll` alone, which waits no longer than it is told, so that Ctrl-C is looked at between calls; it
    keeps one Fetch on its way at each broker meanwhile. An error of a partition raises ClientError from one `poll`, and
    again from later ones as long as it lasts; no record is lost by it, and other partitions are read on.
    """

    def __new__(cls, properties: Mapping[str, str]) -> Self:
        """Of Kafka's consumer properties, unprefixed; connects to nothing. ValueError for a value that is none."""
    @property
    def ignored(self) -> list[str]:
        """The keys of the properties that have no effect, in order."""
    def assign(self, partitions: Mapping[tuple[str, int], int]) -> None:
        """Reads these partitions (topic, number) from these offsets on, and no others; -2 is the first record, -1 the
        end. What was fetched for an earlier assignment is dropped."""
    def poll(self, timeout_ms: int, max_records: int = 500) -> list[FetchedRecords]:
        """Up to `max_records` records, those of each partition together; [] when none came in time. ClientError, of
        what a broker refuses or what cannot be read, only when there are no records to hand over first."""
    def positions(self) -> dict[tuple[str, int], int]:
        """The next offset to hand over, of each partition of which it is known by now."""
    def high_watermarks(self) -> dict[tuple[str, int], int]:
        """How far each partition could be read at its last answer: the last stable offset with
        isolation.level=read_committed. Partitions without an answer are left out."""
    def pause(self, partitions: Sequence[tuple[str, int]]) -> None:
        """Hands over nothing more of these partitions; ValueError for one that is not assigned."""
    def resume(self, partitions: Sequence[tuple[str, int]]) -> None:
        """Goes on with these partitions where they were paused; ValueError for one that is not assigned."""
    def take_warnings(self) -> list[str]:
        """What went wrong since the last call and is tried again, each as one sentence: brokers that cannot be
        connected to, partitions without a leader, offsets that were reset by auto.offset.reset."""
    def close(self) -> None:
        """Ends the connections; nothing is assigned any more."""

@final
class FetchedRecords:
    """At least one record of one partition, in order, as the bytes in which they came. Objects are made on demand."""

    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def count(self) -> int:
        """How many records there are."""
    @property
    def bytes(self) -> int:
        """Bytes of their keys and values."""
    @property
    def first_offset(self) -> int: ...
    @property
    def last_offset(self) -> int: ...
    def values(self) -> list[builtins.bytes | None]: ...
    def keys(self) -> list[builtins.bytes | None]: ...
    def records(self) -> list[FetchedRecord]: ...

@final
class FetchedRecord:
    """A record."""

    @property
    def offset(self) -> int: ...
    @property
    def timestamp_ms(self) -> int:
        """-1 when it has none."""
    @property
    def timestamp_type(self) -> str:
        """CreateTime, LogAppendTime, or NoTimestampType for a record of Kafka before 0.10."""
    @property
    def key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...
    @property
    def headers(self) -> list[tuple[str, bytes | None]]: ...
    @property
    def leader_epoch(self) -> int:
        """Of the leader that took it; -1 when it is not known."""

@final
class Producer:
    """A producer of records, which works within its calls alone: call `poll` often.

    A batch that a broker refuses, or that is not taken within delivery.timeout.ms, fails alone, as a Delivery with an
    error; the producer goes on. ClientError from a call means that it cannot (its login is refused, or it was fenced):
    then every later call raises it. One thread at a time.
    """

    def __new__(cls, properties: Mapping[str, str]) -> Self:
        """Of Kafka's producer properties, unprefixed; connects to nothing. ValueError for a value that is none."""
    @property
    def ignored(self) -> list[str]:
        """The keys of the properties that have no effect, in order."""
    def send(
        self,
        topic: str,
        rows: Sequence[
            tuple[bytes | None, bytes | None, Sequence[tuple[str, bytes | None]] | None, int | None, int | None]
        ],
    ) -> bool:
        """Appends records: key, value, headers, partition (None: the partitioner chooses) and time in ms (None: now).
        Whether there is room for more (buffer.memory): else poll before the next call, though it is taken. The first
        records of a topic wait for it, max.block.ms at most, and the broker may make it; Ctrl-C interrupts that."""
    def send_values(self, topic: str, values: Sequence[bytes]) -> bool:
        """The same for records of a value alone, faster."""
    def poll(self, timeout_ms: int) -> list[Delivery]:
        """Sends what is due and takes answers, until there is a delivery, nothing is left to send, or the time is up;
        all deliveries since the last call."""
    def flush(self, timeout_ms: int) -> bool:
        """Sends all records, and waits until each is delivered or has failed, or the time is up; whether they are. The
        deliveries are those of the next poll."""
    def pending(self) -> tuple[int, int]:
        """Records that are neither delivered nor failed, and the bytes of their batches."""
    def init_transactions(self) -> None:
        """Becomes the producer of its transactional.id: an earlier one is fenced, and what it left open is aborted."""
    def begin_transaction(self) -> None: ...
    def commit_transaction(self) -> None:
        """Flushes, and commits. ClientError when a record of the transaction failed: then it can only be aborted."""
    def abort_transaction(self) -> None:
        """Aborts; records that are not delivered fail with TRANSACTION_ABORTABLE."""
    def send_offsets_to_transaction(self, group: str, offsets: Mapping[tuple[str, int], int]) -> None:
        """Commits these offsets of the group when the transaction is committed."""
    def close(self) -> None:
        """Ends the connections. What is not delivered may be lost: flush before."""

@final
class Delivery:
    """What became of the records of one batch."""

    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int:
        """-1 for records that came into no batch, since their topic was not found."""
    @property
    def base_offset(self) -> int:
        """Of the first record; -1 with acks=0, or after an error."""
    @property
    def count(self) -> int:
        """How many records there are."""
    @property
    def bytes(self) -> int:
        """Bytes of their keys and values."""
    @property
    def waited(self) -> list[tuple[float, int]]:
        """How long records waited from `send` to the acknowledgement, in ms, and how many: those of one call share
        it."""
    @property
    def error(self) -> str | None:
        """The name of Kafka's error; None when they were written."""
    @property
    def message(self) -> str | None:
        """One sentence about the error."""
