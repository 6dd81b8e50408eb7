"""``kafka-groups``: lists groups of all types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkastore.cli.kafka.flags import Flags, FlagsError
from kafkastore.cli.kafka.java_order import hash_order
from kafkastore.cli.kafka.run import ask, say
from kafkastore.errors import KafkastoreError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from kafkastore.admin.groups import ListedGroup

PURPOSE: Final = "This tool helps to list groups of all types."
TYPES: Final = ("classic", "consumer", "share", "streams")
CONSUMER: Final = "consumer"
LEAST: Final = 20


def _flags() -> Flags:
    flags = Flags("kafka-groups", PURPOSE)
    flags.add("--bootstrap-server", "server to connect to", help="REQUIRED: brokers to begin with.")
    flags.add("--command-config", "command config property file", help="A client.properties.")
    flags.add("--list", is_switch=True, help="List groups.")
    flags.add("--group-type", "type", help=f"Those of one type: {', '.join(TYPES)}.")
    flags.add("--protocol", "protocol", help="Those of one protocol type.")
    flags.add("--consumer", is_switch=True, help="Groups of consumers of both protocols.")
    flags.add("--share", is_switch=True, help="Share groups.")
    flags.add("--streams", is_switch=True, help="Streams groups.")
    return flags


FLAGS: Final = _flags()


def main(arguments: list[str]) -> int:
    given = FLAGS.asked(arguments)
    is_chosen = _chooser(given)
    from kafkastore.admin.groups import list_groups

    try:
        listed = ask(given.bootstrap_server, given.command_config, list_groups)
    except KafkastoreError as error:
        say(f"Error while executing groups command : {error}")
        return 1
    by_name = {group.group_id: group for group in listed if is_chosen(group)}
    rows = [
        (group.group_id, group.type, group.protocol_type) for group in map(by_name.__getitem__, hash_order(by_name))
    ]
    width = max(LEAST, *(len(cell) for row in rows for cell in row), 0)
    say(" ".join(head.ljust(width) for head in ("GROUP", "TYPE", "PROTOCOL")))
    for row in rows:
        say("".join(f"{cell.ljust(width)} " for cell in row))
    return 0


def _chooser(given: Namespace) -> Callable[[ListedGroup], bool]:
    FLAGS.require(given, "bootstrap-server")
    if not given.list:
        raise FlagsError("Command must include exactly one action: --list.")
    if given.group_type is not None and given.group_type.lower() not in TYPES:
        raise FlagsError("--group-type must be a valid group type.")
    FLAGS.forbid(given, "consumer", "group-type", "protocol", "share", "streams")
    FLAGS.forbid(given, "share", "consumer", "group-type", "protocol", "streams")
    FLAGS.forbid(given, "streams", "consumer", "group-type", "protocol", "share")

    def is_chosen(group: ListedGroup) -> bool:
        type_ = group.type.lower()
        if given.group_type is not None:
            return type_ == given.group_type.lower() and given.protocol in (None, group.protocol_type)
        if given.protocol is not None:
            return bool(group.protocol_type == given.protocol)
        if given.consumer:
            return group.protocol_type in (CONSUMER, "") or type_ == CONSUMER
        wanted = "share" if given.share else "streams" if given.streams else type_
        return type_ == wanted

    return is_chosen
