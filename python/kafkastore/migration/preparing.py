"""Makes in the target what a plan says: topics with their configurations, ACLs, quotas, users. What is there already
stays, and each step may be done again."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final

from kafkastore.admin.acls import create_acls
from kafkastore.admin.admin_client import AdminError, KafkaError
from kafkastore.admin.configs import TOPIC, ConfigChange, ConfigResource, alter_configs
from kafkastore.admin.group_offsets import committed_offsets
from kafkastore.admin.offsets import EARLIEST, LATEST, offsets_at
from kafkastore.admin.quotas import alter_quotas
from kafkastore.admin.scram import Upsertion, alter_users, describe_users
from kafkastore.admin.topics import NewTopic, TopicDescription, create_partitions, create_topics, topics_in_metadata
from kafkastore.errors import ErrorCode
from kafkastore.migration.clusters import cluster_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kafkastore.admin.admin_client import AdminClient, Partition
    from kafkastore.migration.plan import Plan, PlannedTopic, Side

MARKS_CONFIGS: Final = {"cleanup.policy": "compact"}


async def check_cluster(client: AdminClient, side: Side, option: str) -> None:
    """Raises AdminError for another cluster than the plan's."""
    found = await cluster_id(client)
    if found != side.cluster_id:
        raise AdminError(f"{option} is cluster {found}, and the plan is for cluster {side.cluster_id}; plan again")


async def check_source(client: AdminClient, topics: Iterable[PlannedTopic]) -> dict[str, int]:
    """The number of partitions of each topic. Raises AdminError for topics that are gone, or made anew."""
    wanted = {one.name: one for one in topics}
    counts = {}
    for name, one in (await topics_in_metadata(client, list(wanted))).items():
        if isinstance(one, KafkaError):
            raise AdminError(f"topic {name} of the source: {one}; take it out of the plan, or plan again")
        planned = wanted[name].topic_id
        found = one.topic_id and base64.urlsafe_b64encode(one.topic_id).decode().rstrip("=")
        if planned is not None and found != planned:
            raise AdminError(
                f"topic {name} of the source was deleted and made anew since the plan; delete it in the target, and "
                "plan again with another --id"
            )
        counts[name] = len(one.partitions)
    return counts


async def make_topics(client: AdminClient, plan: Plan, counts: Mapping[str, int]) -> list[str]:
    """Makes topics that are not there, with as many partitions as they have in the source by now, and that of the
    marks; returns sentences of what was made. Raises AdminError."""
    wanted = {
        one.name: NewTopic(one.name, counts[one.name], one.replication_factor, one.configs) for one in plan.topics
    }
    wanted[plan.group] = NewTopic(plan.group, 1, _most_replicas(plan), MARKS_CONFIGS)
    there = await topics_in_metadata(client, list(wanted))
    _raise_for({name: one for name, one in there.items() if isinstance(one, KafkaError) and not _is_missing(one)})
    missing = [name for name, one in there.items() if isinstance(one, KafkaError)]
    refused = await create_topics(client, [wanted[name] for name in missing])
    _raise_for({f"topic {name}": error for name, error in refused.items()})
    fewer: dict[str, int] = {}
    more: dict[str, int] = {}
    for name, one in there.items():
        if isinstance(one, TopicDescription):
            count = len(one.partitions)
            fewer |= {name: wanted[name].partitions} if count < wanted[name].partitions else {}
            more |= {name: count} if count > wanted[name].partitions else {}
    _raise_for({f"topic {name}": f"has {count} partitions in the target, more than in the source; delete it there"
                for name, count in more.items()})  # fmt: skip
    _raise_for(await create_partitions(client, fewer) if fewer else {})
    return [f"topic {name}: made" for name in missing] + [
        f"topic {name}: has {count} partitions now" for name, count in fewer.items()
    ]


async def positions_and_ends(
    client: AdminClient, plan: Plan, counts: Mapping[str, int], marked: Mapping[Partition, int]
) -> tuple[dict[Partition, int], dict[Partition, int]]:
    """The positions in the source that the target has, and the ends of the partitions that have none. Committed offsets
    expire (offsets.retention.minutes), and then a position is what the marks say. Raises AdminError for partitions with
    records that this migration did not write."""

    async def attempt() -> dict[Partition, int]:
        found = (await committed_offsets(client, [plan.group], require_stable=True))[plan.group]
        if isinstance(found, KafkaError):
            raise found
        return {key: one.offset for key, one in found.items()}

    committed = {**marked, **await client.until_done(attempt)}
    keys = [(name, number) for name, count in counts.items() for number in range(count)]
    fresh = [key for key in keys if key not in committed]
    first, last = await offsets_at(client, fresh, EARLIEST), await offsets_at(client, fresh, LATEST)
    appended = {one.name for one in plan.topics if one.append}
    for topic, number in fresh:
        if last[topic, number] > first[topic, number] and topic not in appended:
            raise AdminError(
                f"topic {topic} of the target has records that this migration did not write; empty it, or set append "
                "to true in the plan"
            )
    return {key: committed[key] for key in keys if key in committed}, last


async def make_rest(client: AdminClient, plan: Plan, passwords: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """ACLs, quotas, and the users that have a password here and none in the target: sentences of what was made, and the
    reasons of what was not."""
    said: list[str] = []
    refused: dict[str, str] = {}
    if plan.acls:
        found = await create_acls(client, [one.binding() for one in plan.acls])
        refused |= {f"ACL {pattern}, {entry}": str(error) for (pattern, entry), error in found.items()}
        said.append(f"{len(plan.acls) - len(found)} ACLs: made")
    if plan.quotas:
        answers = await alter_quotas(client, {one.key(): one.values for one in plan.quotas})
        refused |= {f"quota of {entity}": str(error) for entity, error in answers.items()}
        said.append(f"{len(plan.quotas) - len(answers)} quotas: made")
    users = [one for one in plan.users if one.name in passwords]
    if users:
        there = await describe_users(client)
        have = {
            (name, one.mechanism)
            for name, credentials in there.items()
            if not isinstance(credentials, KafkaError)
            for one in credentials
        }
        new = [
            Upsertion(one.name, one.mechanism, passwords[one.name], one.iterations)
            for one in users
            if (one.name, one.mechanism) not in have
        ]
        failed = await alter_users(client, new) if new else {}
        refused |= {f"user {name}": str(error) for name, error in failed.items()}
        said.append(f"{len(new) - len(failed)} SCRAM credentials: made")
    return said, refused


async def set_later_configs(client: AdminClient, plan: Plan) -> dict[str, KafkaError]:
    """What topics may not have while old records are mirrored."""
    changes = {
        ConfigResource(TOPIC, one.name): [ConfigChange(key, value) for key, value in one.later_configs.items()]
        for one in plan.topics
        if one.later_configs
    }
    return {one.name: error for one, error in (await alter_configs(client, changes)).items()} if changes else {}


def _most_replicas(plan: Plan) -> int:
    return max((one.replication_factor for one in plan.topics), default=1)


def _is_missing(error: KafkaError) -> bool:
    return error.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _raise_for(refused: Mapping[str, object]) -> None:
    if refused:
        first = next(iter(refused))
        raise AdminError(f"{first}: {refused[first]}" + (f" (and {len(refused) - 1} more)" if len(refused) > 1 else ""))
