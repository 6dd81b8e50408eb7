"""What ``kafka-reassign-partitions`` does: each of its actions, with what it prints."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Final

from kafkastore.admin import configs, log_dirs, reassignments
from kafkastore.admin.admin_client import KafkaError
from kafkastore.admin.plan_file import plan_text
from kafkastore.admin.throttles import FOLLOWERS, LEADERS, RATES
from kafkastore.admin.topics import describe_topics
from kafkastore.cli.kafka.java_order import hash_order, map_order
from kafkastore.cli.kafka.reassignment_json import check_moves, read_brokers, read_moves, read_topics
from kafkastore.cli.kafka.run import java_text, say
from kafkastore.errors import ErrorCode, KafkastoreError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence

    from kafkastore.admin.admin_client import AdminClient
    from kafkastore.admin.log_dirs import Replica, ReplicaPlace
    from kafkastore.admin.reassignments import Reassignment

    Partition = tuple[str, int]
    Sources = dict[Partition, tuple[set[int], set[int]]]

DIRECTORY_RATE: Final = "replica.alter.log.dirs.io.max.bytes.per.second"
TIMEOUT_MS: Final = 10_000
RETRY_S: Final = 0.1


class RefusedMovesError(KafkastoreError):
    """What was not done, as Kafka's tool says it."""


# ---- generate
async def generate(client: AdminClient, given: Namespace) -> None:
    from kafkastore.topic.placement import place_replicas

    nodes, topics = read_brokers(given.broker_list), read_topics(given.topics_to_move_json_file)
    current = await _replicas_of_topics(client, topics)
    brokers = {node: one.rack for node, one in (await client.cluster()).brokers.items() if node in nodes}
    racks = [rack for rack in brokers.values() if rack is not None]
    if given.disable_rack_aware or not racks:
        brokers = dict.fromkeys(brokers)
    elif len(racks) != len(brokers):
        raise KafkastoreError(
            "Not all brokers have rack information. Add --disable-rack-aware in command line to make replica "
            "assignment without rack information."
        )
    proposed: dict[Partition, Sequence[int]] = {}
    for topic in sorted(topics):
        numbers = sorted(number for name, number in current if name == topic)
        count = len(current[topic, numbers[0]])
        if not brokers:
            raise KafkastoreError("All brokers are currently fenced, or have all their log directories cordoned.")
        if count > len(brokers):
            raise KafkastoreError(
                f"The target replication factor of {count} cannot be reached because only {len(brokers)} broker(s) are "
                "registered or some brokers have all their log directories cordoned."
            )
        placed = place_replicas(brokers, len(numbers), count, len(proposed))
        proposed |= {(topic, number): replicas for number, replicas in zip(numbers, placed, strict=True)}
    places = await _directories(client, current)
    say(f"Current partition replica assignment\n{plan_text(current, places)}\n")
    say(f"Proposed partition reassignment configuration\n{plan_text(proposed)}")


# ---- execute
async def execute(client: AdminClient, given: Namespace) -> None:
    moves = read_moves(given.reassignment_json_file)
    check_moves(moves)
    under_way = await reassignments.list_reassignments(client)
    if under_way and not given.additional:
        raise RefusedMovesError(
            "Cannot execute because there is an existing partition assignment.  Use --additional to override this and "
            "create a new partition assignment in addition to the existing one. The --additional flag can also be used "
            "to change the throttle by resubmitting the current reassignment."
        )
    alive = (await client.cluster()).brokers
    for node in sorted({node for _, replicas in moves.partitions for node in replicas}):
        if node not in alive:
            raise KafkastoreError(f"Unknown broker id {node}")
    current = await _replicas_of(client, moves.targets)
    places = await _directories(client, current)
    say(f"Current partition replica assignment\n\n{plan_text(current, places)}\n")
    say("Save this to use as the --reassignment-json-file option during rollback")
    await _throttle(client, given, moves.targets, {one.broker for one in moves.log_dirs}, current, under_way)
    refused = await reassignments.alter_reassignments(
        client, moves.targets, allows_other_count=not given.disallow_replication_factor_change
    )
    if refused:
        raise RefusedMovesError(f"Error reassigning partition(s):\n{_reasons(refused)}")
    plural = "" if len(moves.targets) == 1 else "s"
    say(f"Successfully started partition reassignment{plural} for {_named(moves.targets)}")
    if moves.log_dirs:
        await _move_directories(client, moves.log_dirs, given.timeout)


async def _directories(
    client: AdminClient, assignment: Mapping[Partition, Sequence[int]]
) -> dict[tuple[Partition, int], str]:
    """Where the replicas are, of brokers that are alive."""
    alive = (await client.cluster()).brokers
    replicas = [log_dirs.Replica(node, *key) for key, nodes in assignment.items() for node in nodes if node in alive]
    places = await log_dirs.replica_places(client, replicas)
    return {(one.key, one.broker): place.current for one, place in places.items() if place.current is not None}


async def _throttle(
    client: AdminClient,
    given: Namespace,
    targets: Mapping[Partition, Sequence[int]],
    of_directories: Collection[int],
    current: Mapping[Partition, Sequence[int]],
    under_way: Mapping[Partition, Reassignment],
) -> None:
    rate = -1 if given.throttle is None else given.throttle
    directory_rate = given.replica_alter_log_dirs_throttle
    directory_rate = -1 if directory_rate is None else directory_rate
    if rate < 0 and directory_rate < 0:
        return
    say(
        "Warning: You must run --verify periodically, until the reassignment completes, to ensure the throttle is "
        "removed."
    )
    if rate >= 0:
        sources = _sources(targets, current, under_way)
        await _configure(client, _throttled_replicas(sources))
        nodes = {node for pair in sources.values() for side in pair for node in side}
        await _configure(client, {_broker(node): dict.fromkeys(RATES, str(rate)) for node in nodes})
        say(f"The inter-broker throttle limit was set to {rate} B/s")
    if directory_rate >= 0:
        await _configure(client, {_broker(node): {DIRECTORY_RATE: str(directory_rate)} for node in of_directories})
        say(f"The replica-alter-dir throttle limit was set to {directory_rate} B/s")


def _sources(
    targets: Mapping[Partition, Sequence[int]],
    current: Mapping[Partition, Sequence[int]],
    under_way: Mapping[Partition, Reassignment],
) -> Sources:
    """The brokers that each partition is copied from and to, of the moves under way and of the new ones."""
    found = {key: (set(one.replicas) - set(one.adding), set(one.adding)) for key, one in under_way.items()}
    for key, replicas in targets.items():
        source = found[key][0] if key in found else set(current[key])
        found[key] = source, set(replicas) - source
    return found


def _throttled_replicas(sources: Sources) -> dict[configs.ConfigResource, dict[str, str | None]]:
    changes: dict[configs.ConfigResource, dict[str, str | None]] = {}
    for topic in {topic for topic, _ in sources}:
        of_topic = {number: pair for (name, number), pair in sources.items() if name == topic}
        changes[configs.ConfigResource(configs.TOPIC, topic)] = {
            key: ",".join(sorted(f"{number}:{node}" for number, pair in of_topic.items() for node in pair[side]))
            for side, key in enumerate((LEADERS, FOLLOWERS))
        }
    return changes


async def _move_directories(client: AdminClient, targets: Mapping[Replica, str], timeout_ms: int | None) -> None:
    """Begins moves between directories; one of a replica that is on its way to the broker begins when it is there."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + (TIMEOUT_MS if timeout_ms is None else timeout_ms) / 1000
    left = dict(targets)
    while True:
        refused = await log_dirs.alter_replica_log_dirs(client, left)
        for replica in sorted(left.keys() - refused.keys()):
            say(
                f"Successfully started moving log directory to {left[replica]} for replica "
                f"{replica.topic}-{replica.partition} with broker {replica.broker} "
            )
        for replica, error in sorted(refused.items()):
            if error.code != ErrorCode.REPLICA_NOT_AVAILABLE:
                raise KafkastoreError(f"Failed to alter dir for {_of_replica(replica)}\nCaused by: {java_text(error)}")
        left = {replica: left[replica] for replica in refused}
        if not left:
            return
        if loop.time() >= deadline:
            plural = "" if len(left) == 1 else "s"
            names = ",".join(map(_of_replica, sorted(left)))
            raise RefusedMovesError(f"Timed out before log directory move{plural} could be started for: {names}")
        await asyncio.sleep(RETRY_S)


# ---- verify
async def verify(client: AdminClient, given: Namespace) -> None:
    moves = read_moves(given.reassignment_json_file)
    under_way = await reassignments.list_reassignments(client)
    known = await _known_replicas(client, [key for key in moves.targets if key not in under_way])
    say("Status of partition reassignment:")
    for key, target in sorted(moves.targets.items()):
        say(_status(key, target, under_way, known.get(key, ())))
    places = await log_dirs.replica_places(client, list(moves.log_dirs))
    lines = [_directory_status(one, moves.log_dirs[one], place) for one, place in sorted(places.items())]
    say("\n".join(lines))
    is_moving = any(place.current is None or place.future is not None for place in places.values())
    if not under_way and not is_moving and not given.preserve_throttles:
        await _clear_throttles(client, moves.targets)


def _status(
    key: Partition, target: Sequence[int], under_way: Mapping[Partition, Reassignment], replicas: Sequence[int]
) -> str:
    name = _named([key])
    if key in under_way:
        return f"Reassignment of partition {name} is still in progress."
    if list(replicas) == list(target):
        return f"Reassignment of partition {name} is completed."
    now, wanted = (",".join(map(str, nodes)) for nodes in (replicas, target))
    return f"There is no active reassignment of partition {name}, but replica set is {now} rather than {wanted}."


def _directory_status(replica: Replica, target: str, place: ReplicaPlace) -> str:
    partition = f"Partition {replica.topic}-{replica.partition}"
    if place.current is None:
        return (
            f"{partition} is not found in any live log dir on broker {replica.broker}. There is likely an offline log "
            "directory on the broker."
        )
    if place.future is None:
        if place.current == target:
            return f"Reassignment of replica {_of_replica(replica)} completed successfully."
        return f"{partition} on broker {replica.broker} is not being moved from log dir {place.current} to {target}."
    if place.future == target:
        return f"Reassignment of replica {_of_replica(replica)} is still in progress."
    return f"{partition} on broker {replica.broker} is being moved to log dir {place.future} instead of {target}."


# ---- cancel, list
async def cancel(client: AdminClient, given: Namespace) -> None:
    moves = read_moves(given.reassignment_json_file)
    moving = await reassignments.list_reassignments(client, moves.targets)
    if moving:
        refused = await reassignments.alter_reassignments(client, dict.fromkeys(moving))
        if refused:
            plural = "" if len(refused) == 1 else "s"
            raise RefusedMovesError(f"Error cancelling partition reassignment{plural} for:\n{_reasons(refused)}")
        plural = "" if len(moving) == 1 else "s"
        say(f"Successfully cancelled partition reassignment{plural} for: {_named(moving)}")
    else:
        say("None of the specified partition reassignments are active.")
    places = await log_dirs.replica_places(client, list(moves.log_dirs)) if moves.log_dirs else {}
    back = {one: place.current for one, place in places.items() if place.current and place.future}
    if back:
        await _move_directories(client, back, given.timeout)
    else:
        sys.stdout.write("None of the specified partition moves are active.")
    if not given.preserve_throttles:
        await _clear_throttles(client, moves.targets)


async def list_moves(client: AdminClient, _: Namespace) -> None:
    moving = await reassignments.list_reassignments(client)
    if not moving:
        say("No partition reassignments found.")
        return
    say("Current partition reassignments:")
    for key, one in sorted(moving.items()):
        replicas, adding, removing = (",".join(map(str, nodes)) for nodes in one)
        changes = (f" adding: {adding}." if adding else "") + (f" removing: {removing}." if removing else "")
        say(f"{_named([key])}: replicas: {replicas}.{changes}")


async def _clear_throttles(client: AdminClient, targets: Mapping[Partition, Sequence[int]]) -> None:
    nodes = set((await client.cluster()).brokers) | {node for replicas in targets.values() for node in replicas}
    listed = ",".join(map(str, map_order(sorted(nodes), lambda node: node)))
    say(f"Clearing broker-level throttles on broker{'' if len(nodes) == 1 else 's'} {listed}")
    await _configure(client, {_broker(node): dict.fromkeys((*RATES, DIRECTORY_RATE)) for node in nodes})
    topics = hash_order(sorted({topic for topic, _ in targets}))
    say(f"Clearing topic-level throttles on topic{'' if len(topics) == 1 else 's'} {','.join(topics)}")
    resources = [configs.ConfigResource(configs.TOPIC, topic) for topic in topics]
    await _configure(client, {one: dict.fromkeys((LEADERS, FOLLOWERS)) for one in resources})


# ---- what they share
def _broker(node: int) -> configs.ConfigResource:
    return configs.ConfigResource(configs.BROKER, str(node))


async def _configure(client: AdminClient, changes: Mapping[configs.ConfigResource, Mapping[str, str | None]]) -> None:
    """Sets keys, or removes those that are None. Raises the first refusal."""
    operations = {
        resource: [
            configs.ConfigChange(name, value, configs.DELETE if value is None else configs.SET)
            for name, value in keys.items()
        ]
        for resource, keys in changes.items()
    }
    if operations:
        for error in (await configs.alter_configs(client, operations)).values():
            raise error


async def _known_replicas(client: AdminClient, keys: Collection[Partition]) -> dict[Partition, tuple[int, ...]]:
    """The replicas of those of the partitions that there are."""
    found = await describe_topics(client, sorted({topic for topic, _ in keys})) if keys else {}
    replicas: dict[Partition, tuple[int, ...]] = {}
    for topic, described in found.items():
        if isinstance(described, KafkaError):
            if described.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise described
            continue
        replicas |= {(topic, one.number): one.replicas for one in described.partitions}
    return replicas


async def _replicas_of_topics(client: AdminClient, topics: Iterable[str]) -> dict[Partition, tuple[int, ...]]:
    """Raises KafkaError for a topic that is not there."""
    wanted = sorted(set(topics))
    found = await _known_replicas(client, [(topic, 0) for topic in wanted])
    there = {topic for topic, _ in found}
    for topic in wanted:
        if topic not in there:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Topic {topic} not found.")
    return found


async def _replicas_of(client: AdminClient, keys: Iterable[Partition]) -> dict[Partition, tuple[int, ...]]:
    """Raises KafkaError for partitions that are not there."""
    wanted = list(keys)
    found = await _replicas_of_topics(client, (topic for topic, _ in wanted))
    missing = [f"{topic}-{number}" for topic, number in sorted(wanted) if (topic, number) not in found]
    if missing:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition: {', '.join(missing)}")
    return {key: found[key] for key in wanted}


def _reasons(refused: Mapping[Partition, KafkaError]) -> str:
    return "\n".join(f"{_named([key])}: {error.client_message}" for key, error in sorted(refused.items()))


def _named(keys: Iterable[Partition]) -> str:
    return ",".join(f"{topic}-{number}" for topic, number in sorted(keys))


def _of_replica(replica: Replica) -> str:
    return f"{replica.topic}-{replica.partition}-{replica.broker}"


ACTIONS: Final[dict[str, Callable[[AdminClient, Namespace], Awaitable[None]]]] = {
    "generate": generate,
    "execute": execute,
    "verify": verify,
    "cancel": cancel,
    "list": list_moves,
}
