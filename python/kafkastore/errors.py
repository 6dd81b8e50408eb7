"""Kafka's error codes as exceptions.

A leaf: imported by every layer, imports nothing. Handlers and coordinators raise a :class:`KafkastoreError`; the
dispatcher (``server/kafka_apis.py``) alone turns it into the response of the API that was asked. ``text`` is what Kafka
itself says when nothing more particular is known (``org.apache.kafka.common.protocol.Errors``).
"""

from __future__ import annotations


class ErrorCode:
    """Kafka's error codes by Kafka's names, as plain ints (an enum would cost start-up time and say no more)."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    OFFSET_OUT_OF_RANGE = 1
    CORRUPT_MESSAGE = 2
    UNKNOWN_TOPIC_OR_PARTITION = 3
    INVALID_FETCH_SIZE = 4
    LEADER_NOT_AVAILABLE = 5
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    BROKER_NOT_AVAILABLE = 8
    REPLICA_NOT_AVAILABLE = 9
    MESSAGE_TOO_LARGE = 10
    STALE_CONTROLLER_EPOCH = 11
    OFFSET_METADATA_TOO_LARGE = 12
    NETWORK_EXCEPTION = 13
    COORDINATOR_LOAD_IN_PROGRESS = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    INVALID_TOPIC_EXCEPTION = 17
    RECORD_LIST_TOO_LARGE = 18
    NOT_ENOUGH_REPLICAS = 19
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
    INVALID_REQUIRED_ACKS = 21
    ILLEGAL_GENERATION = 22
    INCONSISTENT_GROUP_PROTOCOL = 23
    INVALID_GROUP_ID = 24
    UNKNOWN_MEMBER_ID = 25
    INVALID_SESSION_TIMEOUT = 26
    REBALANCE_IN_PROGRESS = 27
    INVALID_COMMIT_OFFSET_SIZE = 28
    TOPIC_AUTHORIZATION_FAILED = 29
    GROUP_AUTHORIZATION_FAILED = 30
    CLUSTER_AUTHORIZATION_FAILED = 31
    INVALID_TIMESTAMP = 32
    UNSUPPORTED_SASL_MECHANISM = 33
    ILLEGAL_SASL_STATE = 34
    UNSUPPORTED_VERSION = 35
    TOPIC_ALREADY_EXISTS = 36
    INVALID_PARTITIONS = 37
    INVALID_REPLICATION_FACTOR = 38
    INVALID_REPLICA_ASSIGNMENT = 39
    INVALID_CONFIG = 40
    NOT_CONTROLLER = 41
    INVALID_REQUEST = 42
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43
    POLICY_VIOLATION = 44
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45
    DUPLICATE_SEQUENCE_NUMBER = 46
    INVALID_PRODUCER_EPOCH = 47
    INVALID_TXN_STATE = 48
    INVALID_PRODUCER_ID_MAPPING = 49
    INVALID_TRANSACTION_TIMEOUT = 50
    CONCURRENT_TRANSACTIONS = 51
    TRANSACTION_COORDINATOR_FENCED = 52
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
    SECURITY_DISABLED = 54
    OPERATION_NOT_ATTEMPTED = 55
    KAFKA_STORAGE_ERROR = 56
    LOG_DIR_NOT_FOUND = 57
    SASL_AUTHENTICATION_FAILED = 58
    UNKNOWN_PRODUCER_ID = 59
    REASSIGNMENT_IN_PROGRESS = 60
    DELEGATION_TOKEN_AUTH_DISABLED = 61
    DELEGATION_TOKEN_NOT_FOUND = 62
    DELEGATION_TOKEN_OWNER_MISMATCH = 63
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65
    DELEGATION_TOKEN_EXPIRED = 66
    INVALID_PRINCIPAL_TYPE = 67
    NON_EMPTY_GROUP = 68
    GROUP_ID_NOT_FOUND = 69
    FETCH_SESSION_ID_NOT_FOUND = 70
    INVALID_FETCH_SESSION_EPOCH = 71
    LISTENER_NOT_FOUND = 72
    TOPIC_DELETION_DISABLED = 73
    FENCED_LEADER_EPOCH = 74
    UNKNOWN_LEADER_EPOCH = 75
    UNSUPPORTED_COMPRESSION_TYPE = 76
    STALE_BROKER_EPOCH = 77
    OFFSET_NOT_AVAILABLE = 78
    MEMBER_ID_REQUIRED = 79
    PREFERRED_LEADER_NOT_AVAILABLE = 80
    GROUP_MAX_SIZE_REACHED = 81
    FENCED_INSTANCE_ID = 82
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83
    ELECTION_NOT_NEEDED = 84
    NO_REASSIGNMENT_IN_PROGRESS = 85
    GROUP_SUBSCRIBED_TO_TOPIC = 86
    INVALID_RECORD = 87
    UNSTABLE_OFFSET_COMMIT = 88
    THROTTLING_QUOTA_EXCEEDED = 89
    PRODUCER_FENCED = 90
    RESOURCE_NOT_FOUND = 91
    DUPLICATE_RESOURCE = 92
    UNACCEPTABLE_CREDENTIAL = 93
    INCONSISTENT_VOTER_SET = 94
    INVALID_UPDATE_VERSION = 95
    FEATURE_UPDATE_FAILED = 96
    PRINCIPAL_DESERIALIZATION_FAILURE = 97
    SNAPSHOT_NOT_FOUND = 98
    POSITION_OUT_OF_RANGE = 99
    UNKNOWN_TOPIC_ID = 100
    DUPLICATE_BROKER_REGISTRATION = 101
    BROKER_ID_NOT_REGISTERED = 102
    INCONSISTENT_TOPIC_ID = 103
    INCONSISTENT_CLUSTER_ID = 104
    TRANSACTIONAL_ID_NOT_FOUND = 105
    FETCH_SESSION_TOPIC_ID_ERROR = 106
    INELIGIBLE_REPLICA = 107
    NEW_LEADER_ELECTED = 108
    OFFSET_MOVED_TO_TIERED_STORAGE = 109
    FENCED_MEMBER_EPOCH = 110
    UNRELEASED_INSTANCE_ID = 111
    UNSUPPORTED_ASSIGNOR = 112
    STALE_MEMBER_EPOCH = 113
    MISMATCHED_ENDPOINT_TYPE = 114
    UNSUPPORTED_ENDPOINT_TYPE = 115
    UNKNOWN_CONTROLLER_ID = 116
    UNKNOWN_SUBSCRIPTION_ID = 117
    TELEMETRY_TOO_LARGE = 118
    INVALID_REGISTRATION = 119
    TRANSACTION_ABORTABLE = 120
    INVALID_RECORD_STATE = 121
    SHARE_SESSION_NOT_FOUND = 122
    INVALID_SHARE_SESSION_EPOCH = 123
    FENCED_STATE_EPOCH = 124
    INVALID_VOTER_KEY = 125
    DUPLICATE_VOTER = 126
    VOTER_NOT_FOUND = 127
    INVALID_REGULAR_EXPRESSION = 128
    REBOOTSTRAP_REQUIRED = 129
    STREAMS_INVALID_TOPOLOGY = 130
    STREAMS_INVALID_TOPOLOGY_EPOCH = 131
    STREAMS_TOPOLOGY_FENCED = 132
    SHARE_SESSION_LIMIT_REACHED = 133
    GROUP_DELETION_FAILED = 134
    STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED = 135
    CONTROLLER_ID_NOT_REGISTERED = 136


def plain_name(code: int) -> str | None:
    """Kafka's name of an error code."""
    return next((name for name, value in vars(ErrorCode).items() if value == code), None)


def error_name(code: int) -> str:
    """Kafka's name of an error code, with the number; of an unknown one the number."""
    name = plain_name(code)
    return f"error {code}" if name is None else f"{name} ({code})"


class KafkastoreError(Exception):
    """The base of every error of ours. ``code`` is Kafka's error code, ``message`` what the client is told, or None for
    Kafka's own text. Raise a subclass; give ``code`` only where it is not known before run time (an EngineError's)."""

    code: int = ErrorCode.UNKNOWN_SERVER_ERROR
    text: str = "The server experienced an unexpected error when processing the request."

    def __init__(self, message: str | None = None, code: int | None = None) -> None:
        super().__init__(message if message is not None else self.text)
        if code is not None:
            self.code = code
        self.message = message

    @property
    def client_message(self) -> str:
        """What a response's error_message says: the particular message, else Kafka's text."""
        return self.message if self.message is not None else self.text


class StartupError(KafkastoreError):
    """A reason not to start: one sentence that names the key or path, the value and the fix."""


class ConfigError(StartupError):
    """A wrong configuration: at start it refuses to start, in a request it is INVALID_CONFIG."""

    code = ErrorCode.INVALID_CONFIG
    text = "Configuration is invalid."


class UnknownTopicOrPartitionError(KafkastoreError):
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    text = "This server does not host this topic-partition."


class RequestTimedOutError(KafkastoreError):
    code = ErrorCode.REQUEST_TIMED_OUT
    text = "The request timed out."


class BrokerNotAvailableError(KafkastoreError):
    code = ErrorCode.BROKER_NOT_AVAILABLE
    text = "The broker is not available."


class CoordinatorLoadInProgressError(KafkastoreError):
    code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    text = "The coordinator is loading and hence can't process requests."


class CoordinatorNotAvailableError(KafkastoreError):
    code = ErrorCode.COORDINATOR_NOT_AVAILABLE
    text = "The coordinator is not available."


class InvalidTopicError(KafkastoreError):
    code = ErrorCode.INVALID_TOPIC_EXCEPTION
    text = "The request attempted to perform an operation on an invalid topic."


class TopicAlreadyExistsError(KafkastoreError):
    code = ErrorCode.TOPIC_ALREADY_EXISTS
    text = "Topic with this name already exists."


class InvalidPartitionsError(KafkastoreError):
    code = ErrorCode.INVALID_PARTITIONS
    text = "Number of partitions is below 1."


class InvalidReplicationFactorError(KafkastoreError):
    code = ErrorCode.INVALID_REPLICATION_FACTOR
    text = "Replication factor is below 1 or larger than the number of available brokers."


class InvalidReplicaAssignmentError(KafkastoreError):
    code = ErrorCode.INVALID_REPLICA_ASSIGNMENT
    text = "Replica assignment is invalid."


class NoReassignmentInProgressError(KafkastoreError):
    code = ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    text = "No partition reassignment is in progress."


class TopicAuthorizationFailedError(KafkastoreError):
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    text = "Topic authorization failed."


class GroupAuthorizationFailedError(KafkastoreError):
    code = ErrorCode.GROUP_AUTHORIZATION_FAILED
    text = "Group authorization failed."


class TransactionalIdAuthorizationFailedError(KafkastoreError):
    code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    text = "Transactional Id authorization failed."


class ClusterAuthorizationFailedError(KafkastoreError):
    code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    text = "Cluster authorization failed."


class SecurityDisabledError(KafkastoreError):
    code = ErrorCode.SECURITY_DISABLED
    text = "No Authorizer is configured."


class DelegationTokenRequestNotAllowedError(KafkastoreError):
    code = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    text = (
        "Delegation Token requests are not allowed on PLAINTEXT/1-way SSL channels and on delegation token"
        " authenticated channels."
    )


class UnsupportedVersionError(KafkastoreError):
    code = ErrorCode.UNSUPPORTED_VERSION
    text = "The version of API is not supported."


class NotControllerError(KafkastoreError):
    code = ErrorCode.NOT_CONTROLLER
    text = "This is not the correct controller for this cluster."


class InvalidRequestError(KafkastoreError):
    code = ErrorCode.INVALID_REQUEST
    text = (
        "This most likely occurs because of a request being malformed by the client library or the message was sent to "
        "an incompatible broker. See the broker logs for more details."
    )


class PolicyViolationError(KafkastoreError):
    code = ErrorCode.POLICY_VIOLATION
    text = "Request parameters do not satisfy the configured policy."


class KafkaStorageError(KafkastoreError):
    code = ErrorCode.KAFKA_STORAGE_ERROR
    text = "Disk error when trying to access log file on the disk."


class TopicDeletionDisabledError(KafkastoreError):
    code = ErrorCode.TOPIC_DELETION_DISABLED
    text = "Topic deletion is disabled."


class StaleBrokerEpochError(KafkastoreError):
    code = ErrorCode.STALE_BROKER_EPOCH
    text = "Broker epoch has changed."


class UnknownTopicIdError(KafkastoreError):
    code = ErrorCode.UNKNOWN_TOPIC_ID
    text = "This server does not host this topic ID."
