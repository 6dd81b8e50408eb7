"""One line in the audit log for each administrative request: who, from where, what, on which resources, and what came
of it. With or without an authorizer.

Place: ``server/kafka_apis.py`` calls :func:`act_of` when a client's request is read, before its handler runs, and
:func:`line_of` with the bytes of the answer, whoever served the request: this broker, or the controller. So no handler
can forget it. Requests that were refused for lack of an ACL have their line already, and those that only validate
change nothing: they have no line here. Nor have CreateAcls and DeleteAcls, of which each change has a line
(``authorization/acls.py``).

A line never has a secret: of a configuration only values of keys that are known to be no password, of SCRAM the user
and the mechanism, of a delegation token its id and owner.
"""

from __future__ import annotations

import logging
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkastore._core import decode_response, message_fields
from kafkastore.acl_words import CLUSTER_NAME
from kafkastore.config import broker_keys, topic_keys
from kafkastore.errors import plain_name
from kafkastore.metadata.nodes import topic_id_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kafkastore.config.definitions import ConfigKey
    from kafkastore.requests.context import RequestContext

logger = logging.getLogger("kafkastore.requests.administrative_acts")

AUDITED: Final = frozenset(
    (
        "AlterClientQuotas",
        "AlterConfigs",
        "AlterPartitionReassignments",
        "AlterReplicaLogDirs",
        "AlterUserScramCredentials",
        "CreateDelegationToken",
        "CreatePartitions",
        "CreateTopics",
        "DeleteGroups",
        "DeleteRecords",
        "DeleteTopics",
        "ElectLeaders",
        "ExpireDelegationToken",
        "IncrementalAlterConfigs",
        "OffsetDelete",
        "RenewDelegationToken",
        "UpdateFeatures",
    )
)

SHOWN: Final = 10
"""Resources of a request in a line, and parts of a resource."""

NAME_CHARACTERS: Final = 250
VALUE_CHARACTERS: Final = 100
RESOURCES_CHARACTERS: Final = 600

READ_BYTES: Final = 16 * 1024
"""An answer above this size is not read for its error codes: reading it would hold the loop for milliseconds."""

REFUSED: Final = frozenset(("TOPIC_AUTHORIZATION_FAILED", "GROUP_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED"))
"""Refusals that the data plane has logged."""

UNLOGGED_REFUSAL: Final = "DELEGATION_TOKEN_AUTHORIZATION_FAILED"


class AdministrativeAct(NamedTuple):
    """An administrative request that is not answered yet. Holds texts, not the request."""

    principal: str
    host: str
    operation: str
    resources: str
    request: str
    resource_count: int
    api_key: int
    api_version: int


Shown = tuple[int, "Iterable[str]"]
"""How many resources a request has, and what is shown of each; made as far as it is needed."""


def act_of(context: RequestContext, request: Any) -> AdministrativeAct | None:
    """None for a request that changes nothing, and for one of this broker itself, which has no host. Other brokers ask
    for none of :data:`AUDITED` themselves, so a request on their listener is a super user's."""
    if not context.request.client_host or getattr(request, "validate_only", False):
        return None
    try:
        return _act_of(context, request)
    except Exception:  # a fault of this module must not keep anybody from administering
        logger.exception("%s is not in the audit log", context.api.name)
        return None


def _act_of(context: RequestContext, request: Any) -> AdministrativeAct:
    name, by = context.api.name, context.request
    operation, show = _ACTS[name]
    count, shown = show(context, request)
    parts: list[str] = []
    size = 0
    for part in islice(shown, SHOWN):
        size += len(part)
        if parts and size > RESOURCES_CHARACTERS:
            break
        parts.append(part)
    more = f", and {count - len(parts)} more" if count > len(parts) else ""
    resources, host = ", ".join(parts) + more, by.client_host.lstrip("/")
    return AdministrativeAct(
        by.principal, host, operation, resources, name, count, context.api.key, context.api_version
    )


def line_of(act: AdministrativeAct, answer: bytes | None) -> str | None:
    """``answer`` is None when the connection was closed instead. None for an act that was refused."""
    try:
        codes = _codes(act, answer)
    except Exception:  # as above
        logger.exception("An answer of %s could not be read for the audit log", act.request)
        codes = None
    if codes and REFUSED.issuperset(codes):
        return None
    if answer is None:
        result = "unknown: the connection was closed"
    elif codes is None:
        result = f"unknown: the answer has {len(answer)} bytes"
    elif len(codes) == 1:
        (result,) = codes
    else:
        result = ", ".join(f"{code} ({count})" for code, count in codes.most_common()) or "NONE"
    decided = "Denied" if result == UNLOGGED_REFUSAL else "Allowed"
    return (
        f"Principal = {act.principal} is {decided} operation = {act.operation} from host = {act.host} on resource = "
        f"{act.resources} for request = {act.request} with resourceRefCount = {act.resource_count} and result = "
        f"{result}"
    )


def _codes(act: AdministrativeAct, answer: bytes | None) -> Counter[str] | None:
    """The error codes of an answer; None when it is too large to be read."""
    if answer is None or len(answer) > READ_BYTES:
        return None
    read = decode_response(act.api_key, act.api_version, answer)
    has_own = any(one.name == "error_code" for one in message_fields(f"{act.request}Response", act.api_version))
    if has_own and read.error_code:
        return Counter((plain_name(read.error_code) or str(read.error_code),))
    found: Counter[str] = Counter()
    _collect(read, found, has_code=has_own)
    if len(found) > 1 and found["NONE"] == 1 and has_own:
        del found["NONE"]  # the answer's own
    return found


def _collect(struct: Any, found: Counter[str], *, has_code: bool = True) -> None:
    for name in type(struct).__match_args__:
        value = getattr(struct, name)
        if name == "error_code" and has_code:
            found[plain_name(value) or str(value)] += 1
        elif type(value) is tuple:
            for one in value:
                if hasattr(type(one), "__match_args__"):
                    _collect(one, found)


# ---- resources
def _resource(kind: str, name: str | None, *parts: str) -> str:
    name = "" if name is None else str(name)
    if len(name) > NAME_CHARACTERS:
        name = f"{name[:NAME_CHARACTERS]}…"
    details = f" ({', '.join(parts)})" if parts else ""
    return f"{kind}:LITERAL:{name}{details}"


def _some(items: Iterable[Any], show: Callable[[Any], str]) -> list[str]:
    found = [show(one) for one in islice(items, SHOWN + 1)]
    return found if len(found) <= SHOWN else [*found[:SHOWN], "…"]


def _partitions(partitions: Iterable[Any]) -> str:
    return f"partitions {' '.join(_some(partitions, str))}"


def _new_topics(_: RequestContext, request: Any) -> Shown:
    def show(one: Any) -> str:
        count = len(one.assignments) or one.num_partitions
        return _resource("Topic", one.name, "default partitions" if count == -1 else f"partitions = {count}")

    return len(request.topics), map(show, request.topics)


def _deleted_topics(context: RequestContext, request: Any) -> Shown:
    if context.api_version < 6:
        return len(request.topic_names), (_resource("Topic", name) for name in request.topic_names)

    def show(one: Any) -> str:
        if one.name is not None:
            return _resource("Topic", one.name)
        if one.topic_id is None:
            return _resource("Topic", None)
        topic = context.broker.image.topic_by_id(one.topic_id)
        return _resource("Topic", None if topic is None else topic.name, f"id = {topic_id_text(one.topic_id)}")

    return len(request.topics), map(show, request.topics)


def _grown_topics(_: RequestContext, request: Any) -> Shown:
    topics = request.topics
    return len(topics), (_resource("Topic", one.name, f"partitions = {one.count}") for one in topics)


def _records(_: RequestContext, request: Any) -> Shown:
    def show(one: Any) -> str:
        before = _some(one.partitions, lambda p: f"partition {p.partition_index} before offset {p.offset}")
        return _resource("Topic", one.name, *before)

    return len(request.topics), map(show, request.topics)


_RESOURCES: Final = {2: "Topic", 4: "Broker", 8: "BrokerLogger", 16: "ClientMetrics", 32: "Group"}
"""org.apache.kafka.common.config.ConfigResource.Type"""

_OPERATIONS: Final = {0: "set", 1: "deleted", 2: "appended", 3: "subtracted"}


_LEVELS: Final = frozenset(("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"))
"""Of loggers, whose configurations have the loggers' names for keys."""


def _keys_of(kind: int) -> Mapping[str, ConfigKey]:
    """The keys of resources of a type, as :data:`_RESOURCES` has it."""
    if kind == 2:
        return topic_keys()
    if kind == 4:
        return broker_keys()
    from kafkastore.config.client_metrics import SUBSCRIPTION_KEYS  # few clients change these
    from kafkastore.config.definitions import group_keys

    return {16: SUBSCRIPTION_KEYS, 32: group_keys()}.get(kind, {})


def _configs(_: RequestContext, request: Any) -> Shown:
    def show(one: Any) -> str:
        keys = _keys_of(one.resource_type)

        def changed(config: Any) -> str:
            key = keys.get(config.name)
            is_known = key is not None and not key.is_sensitive
            is_shown = is_known or (one.resource_type == 8 and config.value in _LEVELS)
            value = str(config.value)[:VALUE_CHARACTERS] if is_shown else "[hidden]"
            done = _OPERATIONS.get(getattr(config, "config_operation", 0), "unknown operation")
            name = str(config.name)[:VALUE_CHARACTERS]
            return f"{name} deleted" if done == "deleted" else f"{name} {done} {value}"

        return _resource(_RESOURCES.get(one.resource_type, "Unknown"), one.resource_name, *_some(one.configs, changed))

    return len(request.resources), map(show, request.resources)


def _log_dirs(_: RequestContext, request: Any) -> Shown:
    moved = [(one.path, topic) for one in request.dirs for topic in one.topics]
    return len(moved), (
        _resource("Topic", topic.name, _partitions(topic.partitions), f"to {path[:NAME_CHARACTERS]}")
        for path, topic in moved
    )


def _elections(_: RequestContext, request: Any) -> Shown:
    kind = "unclean" if getattr(request, "election_type", 0) == 1 else "preferred"
    if request.topic_partitions is None:
        return 1, [_resource("Cluster", CLUSTER_NAME, f"{kind} leaders of all partitions")]
    requested = request.topic_partitions
    return len(requested), (
        _resource("Topic", one.topic, f"{kind} leaders", _partitions(one.partitions)) for one in requested
    )


def _reassignments(_: RequestContext, request: Any) -> Shown:
    def target(one: Any) -> str:
        if one.replicas is None:
            return f"partition {one.partition_index} cancelled"
        return f"partition {one.partition_index} to {' '.join(_some(one.replicas, str))}"

    topics = request.topics
    return len(topics), (_resource("Topic", one.name, *_some(one.partitions, target)) for one in topics)


def _groups(_: RequestContext, request: Any) -> Shown:
    return len(request.groups_names), (_resource("Group", name) for name in request.groups_names)


def _offsets(_: RequestContext, request: Any) -> Shown:
    def show(one: Any) -> str:
        return f"offsets of {one.name[:NAME_CHARACTERS]} {_partitions(p.partition_index for p in one.partitions)}"

    return 1, [_resource("Group", request.group_id, *_some(request.topics, show))]


def _quotas(_: RequestContext, request: Any) -> Shown:
    def show(entry: Any) -> str:
        entity = " ".join(
            f"{one.entity_type} {'by default' if one.entity_name is None else one.entity_name[:NAME_CHARACTERS]}"
            for one in entry.entity
        )
        changes = _some(entry.ops, lambda op: f"{op.key[:50]} {'deleted' if op.remove else f'set {op.value:g}'}")
        return _resource("Cluster", CLUSTER_NAME, f"quotas of {entity}", *changes)

    return len(request.entries), map(show, request.entries)


def _credentials(_: RequestContext, request: Any) -> Shown:
    changes = [(one, "deleted") for one in request.deletions] + [(one, "set") for one in request.upsertions]
    return len(changes), (
        _resource("User", one.name, f"{_MECHANISMS.get(one.mechanism, 'unknown mechanism')} {done}")
        for one, done in changes
    )


_MECHANISMS: Final = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}


def _features(_: RequestContext, request: Any) -> Shown:
    updates = request.feature_updates
    return len(updates), (
        _resource("Cluster", CLUSTER_NAME, f"feature {one.feature[:NAME_CHARACTERS]} to {one.max_version_level}")
        for one in updates
    )


def _new_token(context: RequestContext, request: Any) -> Shown:
    owner = getattr(request, "owner_principal_name", None)
    name = context.request.principal if owner is None else f"{request.owner_principal_type}:{owner}"
    renewers = _some(request.renewers, lambda one: f"renewer {one.principal_type}:{one.principal_name}"[:100])
    return 1, [_resource("User", name, *renewers)]


def _known_token(context: RequestContext, request: Any) -> Shown:
    token = context.broker.delegation_tokens.with_hmac(request.hmac)
    if token is None:
        return 1, [_resource("DelegationToken", None, "not known")]
    return 1, [_resource("DelegationToken", token.token_id, f"owner {token.owner}")]


_ACTS: Final[dict[str, tuple[str, Callable[[RequestContext, Any], Shown]]]] = {
    "AlterClientQuotas": ("ALTER_CONFIGS", _quotas),
    "AlterConfigs": ("ALTER_CONFIGS", _configs),
    "AlterPartitionReassignments": ("ALTER", _reassignments),
    "AlterReplicaLogDirs": ("ALTER", _log_dirs),
    "AlterUserScramCredentials": ("ALTER", _credentials),
    "CreateDelegationToken": ("CREATE_TOKENS", _new_token),
    "CreatePartitions": ("ALTER", _grown_topics),
    "CreateTopics": ("CREATE", _new_topics),
    "DeleteGroups": ("DELETE", _groups),
    "DeleteRecords": ("DELETE", _records),
    "DeleteTopics": ("DELETE", _deleted_topics),
    "ElectLeaders": ("ALTER", _elections),
    "ExpireDelegationToken": ("ALTER", _known_token),
    "IncrementalAlterConfigs": ("ALTER_CONFIGS", _configs),
    "OffsetDelete": ("DELETE", _offsets),
    "RenewDelegationToken": ("ALTER", _known_token),
    "UpdateFeatures": ("ALTER", _features),
}
