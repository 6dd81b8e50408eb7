"""Configurations of topics, brokers, loggers, groups and subscriptions of client metrics: what is in effect and where
from, and changes. See ``admin_client.py``.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkastore.admin.admin_client import NONE, WORK_MS, KafkaError, check, refusals
from kafkastore.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from kafkastore.admin.admin_client import AdminClient

# org.apache.kafka.common.config.ConfigResource.Type
TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32

SOURCES: Final = {
    0: "UNKNOWN",
    1: "DYNAMIC_TOPIC_CONFIG",
    2: "DYNAMIC_BROKER_CONFIG",
    3: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    4: "STATIC_BROKER_CONFIG",
    5: "DEFAULT_CONFIG",
    6: "DYNAMIC_BROKER_LOGGER_CONFIG",
    7: "DYNAMIC_CLIENT_METRICS_CONFIG",
    8: "DYNAMIC_GROUP_CONFIG",
}
"""org.apache.kafka.common.requests.DescribeConfigsResponse.ConfigSource"""
DEFAULT_SOURCE: Final = 5
DYNAMIC_DEFAULT_BROKER: Final = 3
OWN_SOURCES: Final = {TOPIC: 1, BROKER: 2, BROKER_LOGGER: 6, CLIENT_METRICS: 7, GROUP: 8}
"""The source of what is set for a resource itself, by its type."""
TYPES: Final = ("unknown", "boolean", "string", "int", "short", "long", "double", "list", "class", "password")
"""Of values: org.apache.kafka.common.requests.DescribeConfigsResponse.ConfigType, in its order."""
SET, DELETE, APPEND, SUBTRACT = range(4)
"""org.apache.kafka.clients.admin.AlterConfigOp.OpType"""
WITH_DOCUMENTATION: Final = 3
"""The first version of DescribeConfigs with types and documentation (Kafka 2.6)."""
AT_ONCE: Final = 500
"""The most resources in one DescribeConfigs: each has some 40 keys."""
ALL_TYPES: Final = 1
"""The first version of ListConfigResources for more than subscriptions of client metrics (Kafka 4.1)."""


class ConfigResource(NamedTuple):
    """``name``: a topic, a node id, a group, a subscription; "" of BROKER is the default of all brokers."""

    kind: int
    name: str

    @property
    def node(self) -> int | None:
        """The broker that must be asked itself, if it is one."""
        return int(self.name) if self.kind in (BROKER, BROKER_LOGGER) and self.name else None

    @property
    def own_source(self) -> int:
        """The source of what is set for this resource itself."""
        return DYNAMIC_DEFAULT_BROKER if self == BROKER_DEFAULT else OWN_SOURCES[self.kind]


BROKER_DEFAULT: Final = ConfigResource(BROKER, "")


class ConfigSynonym(NamedTuple):
    """One place that says a value, in the order in which they count."""

    source: int
    name: str
    value: str | None


class ConfigEntry(NamedTuple):
    """``value`` is None where it is a secret, and where there is none. ``type`` and ``documentation`` are known from
    Kafka 2.6 on."""

    name: str
    value: str | None
    source: int
    is_read_only: bool
    is_sensitive: bool
    synonyms: tuple[ConfigSynonym, ...]
    type: str
    documentation: str | None

    @property
    def is_default(self) -> bool:
        return self.source == DEFAULT_SOURCE


class ConfigChange(NamedTuple):
    """``operation``: :data:`SET`, :data:`DELETE`, or of lists :data:`APPEND` and :data:`SUBTRACT`."""

    name: str
    value: str | None = None
    operation: int = SET


async def describe_configs(
    client: AdminClient,
    resources: Iterable[ConfigResource],
    keys: Sequence[str] | None = None,
    *,
    has_synonyms: bool = False,
    has_documentation: bool = False,
) -> dict[ConfigResource, tuple[ConfigEntry, ...] | KafkaError]:
    """What is configured for each resource, all keys or those named; or why that is not told. A broker says for itself
    what it is configured to. Raises AdminError, also where a broker is not alive."""
    extra: dict[str, Any] = {"include_synonyms": has_synonyms}
    if has_documentation and await client.serves("DescribeConfigs", WITH_DOCUMENTATION):
        extra["include_documentation"] = True
    wanted = list(dict.fromkeys(resources))
    found: dict[ConfigResource, tuple[ConfigEntry, ...] | KafkaError] = {}

    async def attempt(asked: list[ConfigResource]) -> dict[ConfigResource, KafkaError]:
        rows = [
            {"resource_type": one.kind, "resource_name": one.name, "configuration_keys": keys and tuple(keys)}
            for one in asked
        ]
        answer = await _ask(client, asked[0].node, "DescribeConfigs", {"resources": rows, **extra})
        for row in answer.results:
            if row.error_code == NONE:
                found[ConfigResource(row.resource_type, row.resource_name)] = tuple(map(_entry, row.configs))
        return _refused(answer.results)

    refused = await _settled_by_node(client, wanted, attempt)
    return {one: refused[one] if one in refused else found[one] for one in wanted if one in refused or one in found}


async def alter_configs(
    client: AdminClient, changes: Mapping[ConfigResource, Sequence[ConfigChange]], *, validate_only: bool = False
) -> dict[ConfigResource, KafkaError]:
    """Changes keys and leaves the others; the resources that were refused, with the reasons. Brokers before Kafka 2.3
    take only all keys of a resource at once: what is set is read first, and what another client sets in between is
    lost."""
    is_incremental = await client.serves("IncrementalAlterConfigs", 0)

    async def attempt(asked: list[ConfigResource]) -> dict[ConfigResource, KafkaError]:
        api = "IncrementalAlterConfigs" if is_incremental else "AlterConfigs"
        rows = [
            {
                "resource_type": one.kind,
                "resource_name": one.name,
                "configs": _operations(changes[one]) if is_incremental else await _whole(client, one, changes[one]),
            }
            for one in asked
        ]
        answer = await _ask(client, asked[0].node, api, {"resources": rows, "validate_only": validate_only})
        return _refused(answer.responses)

    return await _settled_by_node(client, list(changes), attempt)


async def list_config_resources(client: AdminClient, kind: int) -> list[str]:
    """The names of all resources of a type that have, or may have, a configuration; not the brokers' default. Raises
    UnsupportedApiError where brokers do not tell (client metrics before Kafka 3.7, groups before 4.1)."""
    if kind == TOPIC:
        from kafkastore.admin.topics import topic_names

        return sorted(await topic_names(client))
    if kind in (BROKER, BROKER_LOGGER):
        return [str(node) for node in sorted((await client.cluster(is_fresh=True)).brokers)]
    is_newest = await client.serves("ListConfigResources", ALL_TYPES)
    fields = {"resource_types": (kind,)} if is_newest or kind != CLIENT_METRICS else {}
    answer = await client.ask_any("ListConfigResources", fields)
    check(answer)
    return sorted(row.resource_name for row in answer.config_resources)


async def _settled_by_node(
    client: AdminClient,
    wanted: Sequence[ConfigResource],
    attempt: Callable[[list[ConfigResource]], Awaitable[dict[ConfigResource, KafkaError]]],
) -> dict[ConfigResource, KafkaError]:
    """The refusals at last: each broker's own resources are asked of it, all others together of any broker."""
    runs: list[list[ConfigResource]] = []
    of_any = [one for one in wanted if one.node is None]
    runs += [of_any[at : at + AT_ONCE] for at in range(0, len(of_any), AT_ONCE)]
    for node in dict.fromkeys(one.node for one in wanted if one.node is not None):
        runs.append([one for one in wanted if one.node == node])
    answers = await asyncio.gather(*(client.settled(run, attempt) for run in runs))
    return {one: error for answer in answers for one, error in answer.items()}


async def _ask(client: AdminClient, node: int | None, api: str, fields: Mapping[str, Any]) -> Any:
    if node is None:
        return await client.ask_any(api, fields, timeout_ms=WORK_MS)
    return await client.ask_broker(node, api, fields, timeout_ms=WORK_MS)


def _refused(rows: Iterable[Any]) -> dict[ConfigResource, KafkaError]:
    return refusals((ConfigResource(row.resource_type, row.resource_name), row) for row in rows)


def _operations(changes: Sequence[ConfigChange]) -> list[dict[str, Any]]:
    return [{"name": one.name, "config_operation": one.operation, "value": one.value} for one in changes]


async def _whole(
    client: AdminClient, resource: ConfigResource, changes: Sequence[ConfigChange]
) -> list[dict[str, str | None]]:
    """All keys of a resource as they are to be. Raises KafkaError where a secret would have to be read for that."""
    found = (await describe_configs(client, [resource], has_synonyms=True))[resource]
    if isinstance(found, KafkaError):
        raise found
    values = {one.name: one.value for one in found if one.source == resource.own_source}
    for change in changes:
        listed = [one for one in (values.get(change.name) or "").split(",") if one]
        given = (change.value or "").split(",")
        if change.operation == DELETE:
            values.pop(change.name, None)
        elif change.operation == APPEND:
            values[change.name] = ",".join([*listed, *(one for one in given if one not in listed)])
        elif change.operation == SUBTRACT:
            values[change.name] = ",".join(one for one in listed if one not in given)
        else:
            values[change.name] = change.value
    secret = [name for name, value in values.items() if value is None]
    if secret:
        reason = f"this broker takes all keys at once, and {', '.join(secret)} cannot be read; give them, too"
        raise KafkaError(ErrorCode.INVALID_CONFIG, reason)
    return [{"name": name, "value": value} for name, value in values.items()]


def _entry(row: Any) -> ConfigEntry:
    kind = TYPES[row.config_type] if row.config_type < len(TYPES) else TYPES[0]
    synonyms = tuple(ConfigSynonym(one.source, one.name, one.value) for one in row.synonyms)
    return ConfigEntry(
        row.name, row.value, row.config_source, row.read_only, row.is_sensitive, synonyms, kind, row.documentation
    )
