"""``kafka-topics``: lists, describes, creates, grows and deletes topics, as Kafka's TopicCommand."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkastore.cli.kafka.flags import Flags, FlagsError, int32, is_given, split_list
from kafkastore.cli.kafka.java_order import hash_order, java_hash, map_order, sized
from kafkastore.cli.kafka.run import KAFKA_VERSION, ask, log_error, say
from kafkastore.errors import KafkastoreError

if TYPE_CHECKING:
    import argparse

    from kafkastore.admin.admin_client import AdminClient
    from kafkastore.admin.configs import ConfigEntry
    from kafkastore.admin.reassignments import Reassignment
    from kafkastore.admin.topics import NewTopic, PartitionDescription, TopicDescription

    Moves = dict[tuple[str, int], Reassignment]

PURPOSE: Final = "This tool helps to create, delete, describe, or change a topic."
LOGGER: Final = "org.apache.kafka.tools.TopicCommand"
ACTIONS: Final = ("create", "list", "alter", "describe", "delete")
MIN_ISR: Final = "min.insync.replicas"
MOST_REPLICAS: Final = 32767
REPORTS: Final = (
    "under-replicated-partitions",
    "unavailable-partitions",
    "under-min-isr-partitions",
    "at-min-isr-partitions",
)
ONLY_WITH: Final = {
    "config": ("alter", "create"),
    "partitions": ("alter", "create"),
    "replication-factor": ("create",),
    "replica-assignment": ("alter", "create"),
    **dict.fromkeys(REPORTS, ("describe",)),
    "topics-with-overrides": ("describe",),
    "if-exists": ("alter", "delete", "describe"),
    "if-not-exists": ("create",),
    "exclude-internal": ("list", "describe"),
}
"""The actions that a flag belongs to."""


def _flags() -> Flags:
    flags = Flags("kafka-topics", PURPOSE)
    flags.add("--bootstrap-server", "HOST:PORT", help="REQUIRED: brokers to begin with.")
    flags.add("--command-config", "FILE", help="A client.properties.")
    flags.add("--list", is_switch=True, help="List topics.")
    flags.add("--create", is_switch=True, help="Create a topic.")
    flags.add("--delete", is_switch=True, help="Delete topics.")
    flags.add("--alter", is_switch=True, help="Add partitions; kafka-configs changes configurations.")
    flags.add("--describe", is_switch=True, help="Show topics and their partitions.")
    flags.add("--topic", "TOPIC", help="A topic; but for --create a regular expression.")
    flags.add("--topic-id", "ID", help="The id of the topic to describe.")
    flags.add("--config", "NAME=VALUE", is_repeated=True, help="A configuration of the topic to create.")
    flags.add("--delete-config", "NAME", help="Not supported; use kafka-configs.")
    flags.add("--partitions", "N", type=int32, help="How many the topic is to have. [the broker's]")
    flags.add("--replication-factor", "N", type=int32, help="How many replicas each has. [the broker's]")
    flags.add("--replica-assignment", "N:N,N:N", help="The brokers of each partition.")
    flags.add("--under-replicated-partitions", is_switch=True, help="Describe these alone.")
    flags.add("--unavailable-partitions", is_switch=True, help="Describe those without a leader alone.")
    flags.add("--under-min-isr-partitions", is_switch=True, help=f"Describe those below {MIN_ISR} alone.")
    flags.add("--at-min-isr-partitions", is_switch=True, help=f"Describe those at {MIN_ISR} alone.")
    flags.add("--topics-with-overrides", is_switch=True, help="Describe topics with configurations of their own alone.")
    flags.add("--if-exists", is_switch=True, help="A topic that is not there is no error.")
    flags.add("--if-not-exists", is_switch=True, help="A topic that is there already is no error.")
    flags.add("--exclude-internal", is_switch=True, help="Without the topics of the brokers themselves.")
    flags.add("--partition-size-limit-per-response", "N", type=int32, default=2000, help="Partitions in one answer.")
    return flags


FLAGS: Final = _flags()


class CommandError(KafkastoreError):
    """What Kafka's tool says of a command that cannot be done."""


def main(arguments: list[str]) -> int:
    given = FLAGS.read(arguments)
    if given.help or not arguments:
        raise FlagsError(PURPOSE if arguments else "Create, delete, describe, or change a topic.")
    if given.version:
        say(KAFKA_VERSION)
        return 0
    _check(given)
    action = next(one for one in ACTIONS if getattr(given, one))
    try:
        return ask(given.bootstrap_server, given.command_config, lambda client: RUN[action](client, given))
    except KafkastoreError as error:
        say(f"Error while executing topic command : {error.client_message}")
        log_error(str(error), LOGGER)
        return 1


def _check(given: argparse.Namespace) -> None:
    if sum(getattr(given, one) for one in ACTIONS) != 1:
        raise FlagsError("Command must include exactly one action: --list, --describe, --create, --alter or --delete")
    if given.delete_config is not None:
        sys.stderr.write("delete-config is not supported; use kafka-configs --alter --delete-config.\n")
    if given.bootstrap_server is None:
        raise FlagsError("--bootstrap-server must be specified")
    if given.describe and given.if_exists:
        if given.topic is None and given.topic_id is None:
            raise FlagsError("--topic or --topic-id is required to describe a topic")
        if given.topic is not None and given.topic_id is not None:
            say(
                "Only topic id will be used when both --topic and --topic-id are specified and topicId is not "
                "Uuid.ZERO_UUID"
            )
    if not given.list and not given.describe:
        FLAGS.require(given, "topic")
    if given.alter:
        FLAGS.require(given, "partitions")
        FLAGS.forbid(given, "alter", "config")
    for name, actions in ONLY_WITH.items():
        FLAGS.forbid(given, name, *(one for one in ACTIONS if one not in actions))
    if given.create:
        FLAGS.forbid(given, "replica-assignment", "partitions", "replication-factor")
    for report in REPORTS:
        FLAGS.forbid(given, report, "topics-with-overrides")


# ---- the actions
async def _create(client: AdminClient, given: argparse.Namespace) -> int:
    from kafkastore.admin.topics import create_topics
    from kafkastore.errors import ErrorCode
    from kafkastore.topic_names import may_collide

    topic = _new_topic(given)
    if may_collide(topic.name):
        say(
            "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could "
            "collide. To avoid issues it is best to use either, but not both."
        )
    refused = (await create_topics(client, [topic])).get(topic.name)
    if refused is None:
        say(f"Created topic {topic.name}.")
    elif not (given.if_not_exists and refused.code == ErrorCode.TOPIC_ALREADY_EXISTS):
        raise refused
    return 0


def _new_topic(given: argparse.Namespace) -> NewTopic:
    """Raises CommandError."""
    from kafkastore.admin.topics import NewTopic

    if given.replication_factor is not None and not 1 <= given.replication_factor <= MOST_REPLICAS:
        raise CommandError(f"The replication factor must be between 1 and {MOST_REPLICAS} inclusive")
    if given.partitions is not None and given.partitions < 1:
        raise CommandError("The partitions must be greater than 0")
    pairs = [re.split(r"\s*=\s*", one) for one in given.config or ()]
    if any(len(pair) != 2 or not pair[1] for pair in pairs):
        raise CommandError(
            'requirement failed: Invalid topic config: all configs to be added must be in the format "key=val".'
        )
    configs = {name.strip(): value.strip() for name, value in pairs}
    replicas = _assignment(given.replica_assignment)
    return NewTopic(given.topic, given.partitions or -1, given.replication_factor or -1, configs, replicas)


def _assignment(text: str | None) -> list[list[int]]:
    """The replicas of each partition. Raises CommandError."""
    if not text:
        return []
    try:
        found = [[int(node) for node in of_partition.split(":")] for of_partition in split_list(text)]
    except ValueError:
        raise CommandError(f"--replica-assignment {text}: write node ids as 1:2,2:3") from None
    for number, nodes in enumerate(found):
        twice = [node for at, node in enumerate(nodes) if node in nodes[:at]]
        if twice:
            raise CommandError(
                f"Partition replica lists may not contain duplicate entries: {','.join(map(str, twice))}"
            )
        if len(nodes) != len(found[0]):
            raise CommandError(f"Partition {number} has different replication factor: {nodes}")
    return found


async def _list(client: AdminClient, given: argparse.Namespace) -> int:
    say("\n".join(await _names(client, given)))
    return 0


async def _alter(client: AdminClient, given: argparse.Namespace) -> int:
    from kafkastore.admin.topics import all_topics, create_partitions

    names = await _names(client, given)
    _check_exists(given, names)
    replicas = _assignment(given.replica_assignment)
    placed = {}
    if replicas:
        there = await all_topics(client)
        placed = {name: replicas[len(there[name].partitions) :] for name in names if name in there}
    refused = await create_partitions(client, dict.fromkeys(names, given.partitions), placed)
    for error in refused.values():
        raise error
    return 0


async def _delete(client: AdminClient, given: argparse.Namespace) -> int:
    from kafkastore.admin.topics import delete_topics

    names = await _names(client, given)
    _check_exists(given, names)
    if names:
        for error in (await delete_topics(client, names)).values():
            raise error
    return 0


async def _names(client: AdminClient, given: argparse.Namespace) -> list[str]:
    """The topics that --topic means. Raises CommandError."""
    from kafkastore.admin.topics import topic_names

    found = await topic_names(client)
    names = sorted(name for name, is_internal in found.items() if not (given.exclude_internal and is_internal))
    if given.topic is None:
        return names
    regex = given.topic.strip().replace(",", "|").replace(" ", "").strip("\"'")
    try:
        pattern = re.compile(regex)
    except re.error:
        raise CommandError(f"{regex} is an invalid regex.") from None
    return [name for name in names if pattern.fullmatch(name)]


def _check_exists(given: argparse.Namespace, names: list[str]) -> None:
    if given.topic and not names and not given.if_exists:
        raise CommandError(f"Topic '{given.topic}' does not exist as expected")


# ---- describe
async def _describe(client: AdminClient, given: argparse.Namespace) -> int:
    from kafkastore.admin.admin_client import KafkaError
    from kafkastore.admin.configs import TOPIC, ConfigResource, describe_configs
    from kafkastore.admin.reassignments import visible_reassignments

    topics = await _described(client, given)
    if not topics:
        return 0
    resources = [ConfigResource(TOPIC, topic.name) for topic in topics]
    configs = await describe_configs(client, resources)
    alive = set((await client.cluster(is_fresh=True)).brokers)
    moves = await visible_reassignments(client)
    for topic, resource in zip(topics, resources, strict=True):
        entries = configs[resource]
        if isinstance(entries, KafkaError):
            raise entries
        _print_topic(given, View(topic, {one.name: one for one in entries}, moves, alive))
    return 0


class View(NamedTuple):
    """What is known of a topic that is described."""

    topic: TopicDescription
    configs: dict[str, ConfigEntry]
    moves: Moves
    alive: set[int]

    def replication_factor(self, partition: PartitionDescription) -> int:
        from kafkastore.admin.reassignments import wanted_replicas

        return wanted_replicas(partition, self.moves.get((self.topic.name, partition.number)))

    def min_isr(self) -> int:
        entry = self.configs.get(MIN_ISR)
        return int(entry.value or 1) if entry is not None else 1


async def _described(client: AdminClient, given: argparse.Namespace) -> list[TopicDescription]:
    """Raises KafkaError, CommandError."""
    from kafkastore.admin.admin_client import KafkaError
    from kafkastore.admin.topics import TopicDescription, describe_topic_id, describe_topics, topic_names

    topic_id = _topic_id(given.topic_id)
    if topic_id is not None:
        try:
            found = await describe_topic_id(client, topic_id)
        except KafkaError:
            if given.if_exists:
                return []
            raise CommandError(f"TopicId '{given.topic_id}' does not exist as expected") from None
        is_hidden = given.exclude_internal and (await topic_names(client)).get(found.name)
        return [] if is_hidden else [found]
    names = await _names(client, given)
    _check_exists(given, names)
    described = await describe_topics(client, names, partition_limit=given.partition_size_limit_per_response)
    for one in described.values():
        if not isinstance(one, TopicDescription):
            raise one
    order = map_order(names, java_hash, sized(len(names)))
    return [one for name in order if isinstance(one := described[name], TopicDescription)]


def _topic_id(text: str | None) -> bytes | None:
    """None for no id and for the id of no topic. Raises CommandError."""
    from kafkastore.metadata.node_content import InvalidNodeError
    from kafkastore.metadata.nodes import parse_topic_id

    if text is None or not text.strip("A"):
        return None
    try:
        return parse_topic_id(text)
    except InvalidNodeError as error:
        raise CommandError(f"--topic-id: {error}") from None


def _print_topic(given: argparse.Namespace, view: View) -> None:
    topic, partitions = view.topic, view.topic.partitions
    is_report = any(is_given(given, one) for one in REPORTS)
    own = [name for name in hash_order(view.configs) if not view.configs[name].is_default]
    if not is_report and (own or not given.topics_with_overrides):
        shown = ",".join(f"{name}={'null' if (value := view.configs[name].value) is None else value}" for name in own)
        words = [f"Topic: {topic.name}"]
        if topic.topic_id is not None:
            from kafkastore.metadata.nodes import topic_id_text

            words.append(f"TopicId: {topic_id_text(topic.topic_id)}")
        words += [
            f"PartitionCount: {len(partitions)}",
            f"ReplicationFactor: {view.replication_factor(partitions[0]) if partitions else 0}",
            f"Configs: {shown}",
        ]
        say("\t".join(words))
    if given.topics_with_overrides:
        return
    for one in partitions:
        if not is_report or _is_reported(given, view, one):
            _print_partition(view, one)


def _is_reported(given: argparse.Namespace, view: View, one: PartitionDescription) -> bool:
    in_sync = len(one.isr)
    return bool(
        (given.under_replicated_partitions and view.replication_factor(one) > in_sync)
        or (given.unavailable_partitions and one.leader not in view.alive)
        or (given.under_min_isr_partitions and (one.leader < 0 or in_sync < view.min_isr()))
        or (given.at_min_isr_partitions and in_sync == view.min_isr())
    )


def _print_partition(view: View, one: PartitionDescription) -> None:
    words = [
        f"\tTopic: {view.topic.name}",
        f"Partition: {one.number}",
        f"Leader: {one.leader if one.leader >= 0 else 'none'}",
        f"Replicas: {_listed(one.replicas)}",
        f"Isr: {_listed(one.isr)}",
    ]
    move = view.moves.get((view.topic.name, one.number))
    if move is not None:
        words += [f"Adding Replicas: {_listed(move.adding)}", f"Removing Replicas: {_listed(move.removing)}"]
    words += [f"Elr: {_listed(one.elr)}", f"LastKnownElr: {_listed(one.last_known_elr)}"]
    say("\t".join(words))


def _listed(nodes: tuple[int, ...] | None) -> str:
    return "N/A" if nodes is None else ",".join(map(str, nodes))


RUN: Final = {"create": _create, "list": _list, "alter": _alter, "describe": _describe, "delete": _delete}
