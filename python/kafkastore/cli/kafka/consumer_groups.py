"""``kafka-consumer-groups``: lists, describes and deletes groups of consumers, and sets or deletes their offsets."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from kafkastore.cli.kafka.flags import Flags, FlagsError, int64, is_given, split_list
from kafkastore.cli.kafka.java_order import hash_order
from kafkastore.cli.kafka.run import KAFKA_VERSION, ask, java_text, say
from kafkastore.errors import ConfigError, ErrorCode, KafkastoreError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Awaitable, Callable, Collection, Iterable

    from kafkastore.admin.admin_client import AdminClient, Partition
    from kafkastore.admin.groups import ListedGroup

PURPOSE: Final = "This tool helps to list, describe, delete and manage the offsets of consumer groups."
FLAGS: Final = Flags("kafka-consumer-groups", PURPOSE)
ACTIONS: Final = ("list", "describe", "delete", "reset-offsets", "delete-offsets", "validate-regex")
RESET_WAYS: Final = (
    "to-offset", "shift-by", "to-datetime", "by-duration", "to-earliest", "to-latest", "to-current", "from-file",
)  # fmt: skip
STATES: Final = (
    "Empty", "Stable", "PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling", "Dead",
)  # fmt: skip
TYPES: Final = ("Classic", "Consumer")
DEFAULT_TIMEOUT_MS: Final = 30_000
NO_ACTION: Final = (
    "WARN: No action will be performed as the --execute option is missing. In version 5.0, this command will require "
    "either --dry-run or --execute to be specified. You should add the --dry-run option explicitly if you are "
    "scripting this command and want to keep the current default behavior without prompting."
)


def _add_flags() -> None:
    add = FLAGS.add
    add("--bootstrap-server", "server to connect to", help="Required but for --validate-regex.")
    add("--command-config", "command config property file", help="A client.properties.")
    add("--timeout", "timeout (ms)", type=int64, default=DEFAULT_TIMEOUT_MS, help="How long requests are sent again.")
    for action, text in zip(ACTIONS[:-1], (
        "List groups of consumers.",
        "Describe groups: partitions, committed offsets, lag.",
        "Delete groups that have no members.",
        "Set the offsets of groups without members.",
        "Delete offsets of a group.",
    ), strict=True):  # fmt: skip
        add(f"--{action}", is_switch=True, help=text)
    add("--validate-regex", "regex", help="Whether a regular expression is one of RE2.")
    add("--group", "group id", is_repeated=True, help="May be given again.")
    add("--all-groups", is_switch=True, help="All groups of consumers.")
    add("--topic", "topic", is_repeated=True, help="A topic, or partitions of it as topic:0,1; may be given again.")
    add("--all-topics", is_switch=True, help="All topics that the group has committed offsets for.")
    add("--members", is_switch=True, help="With --describe: the members.")
    add("--offsets", is_switch=True, help="With --describe: the offsets, as without it.")
    add("--state", "state", is_optional=True, help="With --describe: the state; with --list: states, or those given.")
    add("--type", "type", is_optional=True, help="With --list: types, or those given (classic, consumer).")
    add("--verbose", is_switch=True, help="With --describe: more columns.")
    add("--dry-run", is_switch=True, help="With --reset-offsets: show the new offsets only, as without --execute.")
    add("--execute", is_switch=True, help="With --reset-offsets: set them.")
    add("--export", is_switch=True, help="With --reset-offsets: print them as CSV.")
    add("--to-offset", "offset", type=int64, help="To this offset.")
    add("--shift-by", "number-of-offsets", type=int64, help="By so many from what is committed.")
    add("--to-datetime", "datetime", help="To this time: YYYY-MM-DDThh:mm:ss.sss.")
    add("--by-duration", "duration", help="To the time so long ago: PnDTnHnMnS.")
    add("--to-earliest", is_switch=True, help="To the first record.")
    add("--to-latest", is_switch=True, help="To the end.")
    add("--to-current", is_switch=True, help="To what is committed.")
    add("--from-file", "path to CSV file", help="To the offsets in a file.")


_add_flags()


def main(arguments: list[str]) -> int:
    given = _checked(arguments)
    if given is None:
        return 0
    if is_given(given, "validate-regex"):
        _validate_regex(given.validate_regex)
        return 0
    work = next(work for action, work in _WORK.items() if is_given(given, action))
    from kafkastore.admin.offset_resets import NothingCommittedError
    from kafkastore.cli.kafka.group_tables import print_error

    try:
        ask(
            given.bootstrap_server,
            given.command_config,
            lambda client: work(client, given),
            limit_s=given.timeout / 1000,
        )
    except NothingCommittedError as error:
        raise FlagsError(str(error)) from None
    except KafkastoreError as error:
        print_error(f"Executing consumer group command failed due to {error}")
    return 0


def _checked(arguments: list[str]) -> Namespace | None:
    given = FLAGS.read(arguments)
    if given.help or not arguments:
        raise FlagsError(PURPOSE)
    if given.version:
        say(KAFKA_VERSION)
        return None
    if not is_given(given, "validate-regex"):
        FLAGS.require(given, "bootstrap-server")
    _check_scope(given)
    if given.reset_offsets:
        if given.dry_run and given.execute:
            raise FlagsError("Option [reset-offsets] only accepts one of [execute] and [dry-run]")
        if not given.dry_run and not given.execute:
            sys.stderr.write(f"{NO_ACTION}\n")
        for way in RESET_WAYS:
            FLAGS.forbid(given, way, *(other for other in RESET_WAYS if other != way))
    FLAGS.forbid(given, "group", "all-groups", "list")
    FLAGS.forbid(given, "topic", "list", "describe")
    if sum(is_given(given, action) for action in ACTIONS) != 1:
        actions = ", ".join(f"--{action}" for action in ACTIONS)
        raise FlagsError(f"Command must include exactly one action: {actions}")
    if given.list:
        _values(given.state, STATES, "state")
        _values(given.type, TYPES, "types")
    return given


def _check_scope(given: Namespace) -> None:
    for name, actions in {
        "members": ("describe",), "offsets": ("describe",), "verbose": ("describe",), "state": ("describe", "list"),
        "type": ("list",),
    }.items():  # fmt: skip
        if is_given(given, name) and not any(is_given(given, action) for action in actions):
            raise FlagsError(f"Option(s) [{name}] are unavailable given other options on the command line")
    for action in ("describe", "delete", "reset-offsets"):
        if is_given(given, action) and not given.group and not given.all_groups:
            raise FlagsError(f"Option [{action}] takes one of these options: [group], [all-groups]")
    if given.describe:
        if sum(is_given(given, name) for name in ("members", "offsets", "state")) > 1:
            raise FlagsError("Option [describe] takes at most one of these options: [members], [offsets], [state]")
        if given.state:
            raise FlagsError("Option [describe] does not take a value for [state]")
    if given.delete and given.topic:
        raise FlagsError("The consumer does not support topic-specific offset deletion from a consumer group.")
    if given.delete_offsets and len(given.group or ()) > 1:
        raise FlagsError("Found multiple arguments for option group, but you asked for only one")
    if given.delete_offsets and not (given.group and given.topic):
        raise FlagsError("Option [delete-offsets] takes the following options: [group], [topic]")


def _values(text: str | None, known: Collection[str], what: str) -> list[str]:
    """Raises FlagsError for a value that is not known."""
    if not text:
        return []
    by_lower = {one.lower(): one for one in known}
    given = [one.strip().lower() for one in split_list(text)]
    if not all(one in by_lower for one in given):
        word = f"{what}s" if what == "state" else what
        raise FlagsError(f"Invalid {what} list '{text}'. Valid {word} are: {', '.join(known)}")
    return [by_lower[one] for one in given]


def _validate_regex(text: str) -> None:
    from kafkastore.cli.kafka.re2_syntax import fault_of

    fault = fault_of(text)
    say(f"The regular expression `{text}` is {'valid' if fault is None else f'invalid: {fault}'}.")


# ---- list
async def _list(client: AdminClient, given: Namespace) -> None:
    from kafkastore.admin.groups import consumer_groups

    has_type, has_state = given.type is not None, given.state is not None
    states = _values(given.state, STATES, "state")
    listed = await consumer_groups(client, states=states, types=_values(given.type, TYPES, "types"))
    if has_type or has_state:
        by_name = {one.group_id: one for one in listed}
        _print_listed([by_name[name] for name in hash_order(by_name)], has_type=has_type, has_state=has_state)
        return
    for name in hash_order(one.group_id for one in listed):
        say(name)


def _print_listed(groups: Iterable[ListedGroup], *, has_type: bool, has_state: bool) -> None:
    rows = [("GROUP", "TYPE", "STATE"), *((one.group_id, one.type or "Unknown", one.state) for one in groups)]
    width = max(15, *(len(row[0]) for row in rows[1:]), 0) + 10
    for name, type_, state in rows:
        cells = [name.ljust(width)]
        cells += [type_.ljust(20)] if has_type else []
        cells += [(state or "Unknown").ljust(20)] if has_state else []
        say(" ".join(cells))


async def _names(client: AdminClient, given: Namespace) -> list[str]:
    from kafkastore.admin.groups import consumer_groups

    if given.all_groups:
        return [one.group_id for one in await consumer_groups(client)]
    return list(dict.fromkeys(given.group))


# ---- describe
async def _describe(client: AdminClient, given: Namespace) -> None:
    from kafkastore.admin.admin_client import KafkaError
    from kafkastore.admin.groups import CONSUMER_PROTOCOLS, describe_consumer_groups
    from kafkastore.cli.kafka import group_tables

    described = []
    for name, group in (await describe_consumer_groups(client, await _names(client, given))).items():
        if isinstance(group, KafkaError):
            raise ConfigError(java_text(group))
        if group.protocol_type not in CONSUMER_PROTOCOLS:
            raise ConfigError(
                f"java.lang.IllegalArgumentException: GroupId {name} is not a consumer group ({group.protocol_type})."
            )
        described.append(group)
    described.sort(key=lambda one: one.group_id)
    if given.members:
        for group in described:
            group_tables.print_members(group, is_verbose=given.verbose)
    elif given.state is not None:
        cluster = await client.cluster()
        for group in described:
            group_tables.print_state(group, cluster, is_verbose=given.verbose)
    else:
        await _describe_offsets(client, described, is_verbose=given.verbose)


async def _describe_offsets(client: AdminClient, described: list[Any], *, is_verbose: bool) -> None:
    from kafkastore.admin.admin_client import KafkaError
    from kafkastore.admin.group_lag import group_lags
    from kafkastore.admin.group_offsets import committed_offsets
    from kafkastore.cli.kafka.group_tables import print_offsets

    committed = {}
    for name, offsets in (await committed_offsets(client, [one.group_id for one in described])).items():
        if isinstance(offsets, KafkaError):
            raise ConfigError(f"java.util.concurrent.ExecutionException: {java_text(offsets)}")
        committed[name] = offsets
    lags = await group_lags(client, described, committed)
    for group in described:
        print_offsets(group, lags[group.group_id], is_verbose=is_verbose)


# ---- changes
async def _delete(client: AdminClient, given: Namespace) -> None:
    from kafkastore.admin.groups import delete_groups
    from kafkastore.cli.kafka.group_tables import print_error

    names = await _names(client, given)
    refused = await delete_groups(client, names)
    deleted = ", ".join(f"'{name}'" for name in hash_order(names) if name not in refused)
    if not refused:
        say(f"Deletion of requested consumer groups ({deleted}) was successful.")
        return
    print_error("Deletion of some consumer groups failed:")
    for name in hash_order(refused):
        say(f"* Group '{name}' could not be deleted due to: {java_text(refused[name])}")
    if deleted:
        say(f"\nThese consumer groups were deleted successfully: {deleted}")


async def _reset(client: AdminClient, given: Namespace) -> None:
    from kafkastore.cli.kafka import group_resets
    from kafkastore.cli.partitions import topic_partitions

    if not (given.all_topics or given.topic or is_given(given, "from-file")):
        raise FlagsError("One of the reset scopes should be defined: --all-topics, --topic.")
    try:
        scope = [topic_partitions(one) for one in given.topic or ()]
    except ConfigError as error:
        raise FlagsError(str(error)) from None
    plan = await group_resets.reset_offsets(client, await _names(client, given), scope, given)
    if given.export:
        group_resets.print_csv(plan, is_of_one=len(given.group or ()) == 1)
    else:
        group_resets.print_plan(plan)


async def _delete_offsets(client: AdminClient, given: Namespace) -> None:
    from kafkastore.admin.admin_client import KafkaError
    from kafkastore.admin.group_offsets import delete_offsets
    from kafkastore.cli.kafka.group_tables import print_error
    from kafkastore.cli.partitions import partitions_of, topic_partitions

    group = given.group[-1]
    statuses: dict[Partition, str] = {}
    partitions: list[Partition] = []
    for one in map(topic_partitions, given.topic):
        try:
            partitions += await partitions_of(client, [one], names_topic=False)
        except KafkaError as error:
            statuses[one.topic, -1] = f"Error: {java_text(error)}"
    try:
        refused = await delete_offsets(client, group, partitions) if partitions else {}
        whole = None
    except KafkaError as error:
        refused = dict.fromkeys(partitions, error)
        whole = error
    if whole is not None and whole.code in OF_THE_GROUP:
        print_error(str(whole))
    elif whole is not None and whole.code not in OF_PARTITIONS:
        print_error(f"Encountered some unknown error: {whole.name}")
    elif refused:
        print_error("Encountered some partition-level error, see the follow-up details.")
    else:
        say(f"Request succeeded for deleting offsets from group {group}.")
    statuses |= {key: f"Error: {java_text(refused[key])}" if key in refused else "Successful" for key in partitions}
    _print_statuses(statuses)


OF_THE_GROUP: Final = (
    ErrorCode.INVALID_GROUP_ID,
    ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.NON_EMPTY_GROUP,
)
OF_PARTITIONS: Final = (
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)


def _print_statuses(statuses: dict[Partition, str]) -> None:
    width = max(15, *(len(topic) for topic, _ in statuses))
    sys.stdout.write(f"\n{'TOPIC':<{width}} {'PARTITION':<10} {'STATUS':<15}")
    for (topic, number), status in sorted(statuses.items(), key=lambda one: f"{one[0][0]}{one[0][1]}"):
        sys.stdout.write(f"\n{topic:<{width}} {number if number >= 0 else '-':<10} {status:<15}")
    say("")


_WORK: Final[dict[str, Callable[[AdminClient, Namespace], Awaitable[None]]]] = {
    "list": _list,
    "describe": _describe,
    "delete": _delete,
    "reset-offsets": _reset,
    "delete-offsets": _delete_offsets,
}
