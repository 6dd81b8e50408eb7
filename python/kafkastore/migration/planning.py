"""Makes the plan of a migration out of what both clusters say. It reads alone: nothing is changed anywhere.

A topic's configuration is what is set for it, and what the source's brokers set for all topics: the target's brokers
have other defaults. What the target cannot have is left out, with a note.
"""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkastore.admin.acls import list_acls
from kafkastore.admin.admin_client import AdminError, KafkaError
from kafkastore.admin.configs import DEFAULT_SOURCE, TOPIC, ConfigResource, describe_configs
from kafkastore.admin.group_offsets import committed_offsets
from kafkastore.admin.groups import SHARE, list_groups
from kafkastore.admin.log_dirs import describe_log_dirs, held_bytes
from kafkastore.admin.offsets import EARLIEST, LATEST, offsets_at
from kafkastore.admin.quotas import describe_quotas
from kafkastore.admin.scram import describe_users
from kafkastore.admin.topics import NewTopic, TopicDescription, all_topics, create_topics
from kafkastore.config import topic_keys
from kafkastore.errors import ErrorCode
from kafkastore.interbroker.cluster import UnsupportedApiError
from kafkastore.migration.clusters import cluster_id
from kafkastore.migration.codecs import codecs
from kafkastore.migration.plan import (
    EMPTY,
    FILLED,
    GROUP,
    MIRRORED,
    NEW,
    Plan,
    PlannedAcl,
    PlannedGroup,
    PlannedQuota,
    PlannedTopic,
    PlannedUser,
    Side,
    is_chosen,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from kafkastore.admin.admin_client import AdminClient, Partition
    from kafkastore.admin.configs import ConfigEntry
    from kafkastore.migration.clusters import Cluster

BYTES_A_SECOND: Final = 50_000_000
RECORDS_A_SECOND: Final = 100_000
"""Of the estimate: what this command mirrors on one core; of small records the second one is what counts."""
THROTTLES: Final = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
"""Name brokers of the source."""
LATER: Final = re.compile(r"message\.timestamp\..*")
"""Not while old records are mirrored with their times: they would be dated anew, or refused."""
MIN_ISR: Final = "min.insync.replicas"


class Choice(NamedTuple):
    """Patterns of whole names. ``id`` names the migration; None: the source's cluster id. ``replication_factor``: of
    every topic; None: as in the source, but no more than there are brokers."""

    topics: str = ".*"
    exclude: str | None = None
    groups: str = ".*"
    exclude_groups: str | None = None
    id: str | None = None
    replication_factor: int | None = None


class _Source(NamedTuple):
    cluster_id: str
    brokers: int
    topics: dict[str, TopicDescription]
    ranges: dict[Partition, tuple[int, int]]
    configs: dict[str, tuple[ConfigEntry, ...]]
    codecs: dict[str, str]
    sizes: dict[Partition, int]


def make_plan(source: Cluster, target: Cluster, choice: Choice) -> Plan:
    """Raises AdminError."""
    notes: list[str] = []
    found = source.ask(lambda client: _look(client, choice, notes))
    acls, users, quotas = source.ask(lambda client: _security(client, notes))
    groups = source.ask(lambda client: _groups(client, choice, notes))
    if acls and not target.ask(_has_authorizer):
        notes.append(f"{len(acls)} ACLs are left out: the target has no authorizer.class.name")
        acls = []
    migration = choice.id or found.cluster_id
    factor = choice.replication_factor
    topics, target_side = target.ask(lambda client: _compare(client, target, found, GROUP + migration, factor, notes))
    if target_side.cluster_id == found.cluster_id:
        raise AdminError("--from-bootstrap-server and --bootstrap-server are the same cluster; give two")
    if users:
        notes.append(
            f"the passwords of {len(users)} SCRAM credentials cannot be read: give run --passwords FILE with lines "
            "user=password, or set them anew with kafkastore users"
        )
    seconds = max(
        sum(one.bytes for one in topics) // BYTES_A_SECOND, sum(one.records for one in topics) // RECORDS_A_SECOND
    )
    side = Side(source.bootstrap_servers, found.cluster_id, found.brokers)
    return Plan(
        migration, side, target_side, topics, acls, users, quotas, groups,
        choice.groups, choice.exclude_groups, seconds, notes,
    )  # fmt: skip


async def _look(client: AdminClient, choice: Choice, notes: list[str]) -> _Source:
    found = {
        name: topic
        for name, topic in (await all_topics(client)).items()
        if not topic.is_internal and not name.startswith(("__", GROUP))
        and is_chosen(name, choice.topics, choice.exclude)
    }  # fmt: skip
    if not found:
        raise AdminError("--topics: the source has no such topic; see kafkastore topics list")
    keys = [(name, one.number) for name, topic in found.items() for one in topic.partitions]
    first, last = await offsets_at(client, keys, EARLIEST), await offsets_at(client, keys, LATEST)
    ranges = {key: (first[key], last[key]) for key in keys}
    described = await describe_configs(client, [ConfigResource(TOPIC, name) for name in found])
    configs = {}
    for resource, entries in described.items():
        if isinstance(entries, KafkaError):
            raise AdminError(f"the configuration of topic {resource.name} cannot be read: {entries}")
        configs[resource.name] = entries
    return _Source(
        await cluster_id(client), len((await client.cluster()).brokers), found, ranges, configs,
        await codecs(client, ranges), await _sizes(client, notes),
    )  # fmt: skip


async def _sizes(client: AdminClient, notes: list[str]) -> dict[Partition, int]:
    """The bytes of each partition, of its largest replica."""
    try:
        by_broker = await describe_log_dirs(client)
    except KafkaError as error:
        notes.append(f"the source does not say how many bytes its topics have: {error}")
        return {}
    sizes: dict[Partition, int] = {}
    for log_dirs in by_broker.values():
        for key, size in held_bytes(log_dirs).items():
            sizes[key] = max(size, sizes.get(key, 0))
    return sizes


# ---- the target
async def _compare(
    client: AdminClient, target: Cluster, source: _Source, group: str, factor: int | None, notes: list[str]
) -> tuple[list[PlannedTopic], Side]:
    there = {name: one for name, one in (await all_topics(client)).items() if name in source.topics}
    side = Side(target.bootstrap_servers, await cluster_id(client), len((await client.cluster()).brokers))
    keys = [(name, one.number) for name, topic in there.items() for one in topic.partitions]
    first, last = await offsets_at(client, keys, EARLIEST), await offsets_at(client, keys, LATEST)
    committed = (await committed_offsets(client, [group]))[group]
    mirrored = set() if isinstance(committed, KafkaError) else {topic for topic, _ in committed}
    described = await describe_configs(client, [ConfigResource(TOPIC, name) for name in there])
    topics = []
    for name in sorted(source.topics):
        made = _topic(source, name, factor, side.brokers, notes)
        if name in there:
            is_filled = any(last[key] > first[key] for key in keys if key[0] == name)
            made = made._replace(in_target=MIRRORED if name in mirrored else FILLED if is_filled else EMPTY)
            made = made._replace(differences=_differences(made, there[name], described[ConfigResource(TOPIC, name)]))
            if made.in_target == FILLED:
                notes.append(f"topic {name} of the target has records: empty it, or set append to true in the plan")
        topics.append(made)
    return [await _creatable(client, one, notes) for one in topics], side


def _topic(source: _Source, name: str, wanted: int | None, brokers: int, notes: list[str]) -> PlannedTopic:
    described = source.topics[name]
    factor = wanted or min(described.replication_factor, brokers)
    configs = {
        one.name: one.value
        for one in source.configs[name]
        if one.value is not None and one.name not in THROTTLES and not _is_default(one)
    }
    if int(configs.get(MIN_ISR, "1")) > factor:
        notes.append(f"topic {name}: {MIN_ISR}={configs[MIN_ISR]} is left out, since it will have {factor} replica(s)")
        del configs[MIN_ISR]
    later = {key: configs.pop(key) for key in list(configs) if LATER.fullmatch(key)}
    codec = configs.get("compression.type", "producer")
    if codec in ("producer", "uncompressed"):
        codec = "none" if codec == "uncompressed" else source.codecs.get(name, "none")
    keys = [(name, one.number) for one in described.partitions]
    topic_id = described.topic_id and any(described.topic_id) and described.topic_id
    return PlannedTopic(
        name, base64.urlsafe_b64encode(topic_id).decode().rstrip("=") if topic_id else None, len(keys), factor, codec,
        configs, later, sum(source.sizes.get(key, 0) for key in keys),
        sum(source.ranges[key][1] - source.ranges[key][0] for key in keys), NEW, [],
    )  # fmt: skip


def _is_default(one: ConfigEntry) -> bool:
    """Brokers also call a default what they derive from other keys of theirs, as log.retention.hours."""
    key = topic_keys().get(one.name)
    return one.source == DEFAULT_SOURCE and (key is None or one.value == key.default)


def _differences(wanted: PlannedTopic, found: TopicDescription, entries: Any) -> list[str]:
    said = []
    if len(found.partitions) != wanted.partitions:
        said.append(f"partitions: {len(found.partitions)} in the target, {wanted.partitions} in the source")
    if found.replication_factor != wanted.replication_factor:
        said.append(f"replication factor: {found.replication_factor} in the target, {wanted.replication_factor} wanted")
    if isinstance(entries, KafkaError):
        return [*said, f"its configuration cannot be read: {entries}"]
    values = {one.name: one.value for one in entries}
    said += [
        f"{key}: {values.get(key)} in the target, {value} in the source"
        for key, value in wanted.configs.items()
        if values.get(key) != value
    ]
    return said


async def _creatable(client: AdminClient, topic: PlannedTopic, notes: list[str]) -> PlannedTopic:
    """Without the keys that the target does not take."""
    while topic.in_target == NEW:
        configs = {**topic.configs, **topic.later_configs}
        wanted = NewTopic(topic.name, topic.partitions, topic.replication_factor, configs)
        error = (await create_topics(client, [wanted], validate_only=True)).get(topic.name)
        if error is None:
            break
        key = next((one for one in configs if re.search(rf"\b{re.escape(one)}\b", str(error))), None)
        if key is None and configs.get("remote.storage.enable") == "true":
            key = "remote.storage.enable"
        if error.code != ErrorCode.INVALID_CONFIG or key is None:
            notes.append(f"the target will not make topic {topic.name}: {error}")
            break
        notes.append(f"topic {topic.name}: {key}={configs[key]} is left out, the target says: {error}")
        topic.configs.pop(key, None)
        topic.later_configs.pop(key, None)
    return topic


# ---- the rest of the source
async def _security(
    client: AdminClient, notes: list[str]
) -> tuple[list[PlannedAcl], list[PlannedUser], list[PlannedQuota]]:
    acls = await _if_told(list_acls(client), [], "ACLs", notes)
    users = await _if_told(describe_users(client), {}, "SCRAM users", notes)
    quotas = await _if_told(describe_quotas(client), {}, "quotas", notes)
    return (
        [PlannedAcl.of(one) for one in acls],
        [
            PlannedUser(name, one.mechanism, one.iterations)
            for name, credentials in sorted(users.items())
            if not isinstance(credentials, KafkaError)
            for one in credentials
        ],
        [PlannedQuota([list(part) for part in entity], dict(values)) for entity, values in quotas.items()],
    )


async def _has_authorizer(client: AdminClient) -> bool:
    try:
        await list_acls(client)
    except KafkaError as error:
        return error.code != ErrorCode.SECURITY_DISABLED
    return True


async def _if_told(asked: Awaitable[Any], nothing: Any, what: str, notes: list[str]) -> Any:
    try:
        return await asked
    except (KafkaError, UnsupportedApiError) as error:
        if getattr(error, "code", None) != ErrorCode.SECURITY_DISABLED:
            notes.append(f"the source does not tell its {what}: {error}")
        return nothing


async def _groups(client: AdminClient, choice: Choice, notes: list[str]) -> list[PlannedGroup]:
    listed = [
        one
        for one in await list_groups(client)
        if is_chosen(one.group_id, choice.groups, choice.exclude_groups) and not one.group_id.startswith(GROUP)
    ]
    notes += [
        f"share group {one.group_id}: its position is not in committed offsets and is not migrated"
        for one in listed
        if one.type == SHARE
    ]
    others = {one.group_id: one for one in listed if one.type != SHARE}
    committed = await committed_offsets(client, others)
    return [
        PlannedGroup(name, others[name].type or "Classic", others[name].state, len(offsets))
        for name, offsets in sorted(committed.items())
        if not isinstance(offsets, KafkaError) and offsets
    ]
