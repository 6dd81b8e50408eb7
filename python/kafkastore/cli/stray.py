"""``kafkastore stray``: logs that a start has set aside, taken back or deleted."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from kafkastore.cli.broker import UsageError, parse_arguments

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkastore.config import BrokerConfig

USAGE = """\
usage: kafkastore stray list [server.properties] [--override key=value ...]
       kafkastore stray adopt TOPIC [server.properties] [--override key=value ...]
       kafkastore stray delete DIRECTORY [server.properties] [--override key=value ...]

Logs that a start of this broker has set aside, as directories that end in -stray: of topics that the metadata store did not know, or
knows under another id. For the broker of this server.properties; without one, for the broker that needs none.

list          each of them: topic, partition, topic id, records, offsets and bytes; the broker may run
adopt         makes TOPIC of all its logs that are set aside here; the broker must not run. Its next start serves them again, as the one
              replica of each partition, with the topic's id and the configuration that is kept beside the logs; of a topic without one
              nothing is deleted until somebody configures it. Replicas on other brokers are added with kafka-reassign-partitions.
              Records below a log start that DeleteRecords had moved may be back
delete        deletes one of them for good; the broker must not run

options:
  --override key=value   set or replace a key; may be given again
  -h, --help             show this text

exit status: 0 done, 1 refused or failed, with a sentence on stderr and nothing changed, 2 wrong usage
"""


def main(arguments: list[str]) -> int:
    """Runs a command; returns the exit status, see USAGE."""
    if not arguments or arguments[0] in ("-h", "--help"):
        (sys.stdout if arguments else sys.stderr).write(USAGE)
        return 0 if arguments else 2
    from kafkastore.errors import KafkastoreError

    try:
        command, named, path, overrides = _parse(arguments)
    except UsageError as error:
        sys.stderr.write(f"kafkastore stray: {error}\n\n{USAGE}")
        return 2
    if path == "--help":
        sys.stdout.write(USAGE)
        return 0
    try:
        from kafkastore.config import BrokerConfig

        return _COMMANDS[command](BrokerConfig.load(path, overrides), named)
    except KafkastoreError as error:
        sys.stderr.write(f"kafkastore: {error}\n")
        return 1


def _parse(arguments: list[str]) -> tuple[str, str, str | None, list[str]]:
    """(command, TOPIC or DIRECTORY, path of the properties file or None, overrides). Raises UsageError."""
    command, *remaining = arguments
    if command not in _COMMANDS:
        raise UsageError(f"there is no command {command}")
    named = ""
    if command != "list" and remaining[:1] not in (["-h"], ["--help"]):
        if not remaining or remaining[0].startswith("-"):
            raise UsageError(f"{command} needs a {'TOPIC' if command == 'adopt' else 'DIRECTORY'}")
        named, *remaining = remaining
    return command, named, *parse_arguments(remaining)


def _list(config: BrokerConfig, _: str) -> int:
    from kafkastore.log import strays
    from kafkastore.metadata.nodes import topic_id_text

    found = strays.find(config.log_dirs)
    for one in found:
        held = strays.content(one)
        topic_id = "none" if one.topic_id is None else topic_id_text(one.topic_id)
        offsets = "none" if held.first_offset < 0 else f"{held.first_offset} to {held.end_offset - 1}"
        fault = "" if held.fault is None else f", then {held.fault}"
        sys.stdout.write(
            f"{one.topic}-{one.partition}: topic id {topic_id}, {held.records} records, offsets {offsets},"
            f" {held.size_bytes} bytes{fault}, in {one.path}\n"
        )
    if not found:
        sys.stdout.write(f"Nothing is set aside in {', '.join(config.log_dirs)}\n")
    return 0


def _adopt(config: BrokerConfig, topic: str) -> int:
    from kafkastore.log import strays

    taken = strays.adopt(topic, config.log_dirs)
    sys.stdout.write(
        f"The next start of broker {config.node_id} serves {topic} with {len(taken)} partitions, from this broker alone\n"
    )
    return 0


def _delete(config: BrokerConfig, path: str) -> int:
    from kafkastore.log import strays

    gone = strays.delete(path, config.log_dirs)
    sys.stdout.write(f"{gone.path} is deleted\n")
    return 0


_COMMANDS: dict[str, Callable[[BrokerConfig, str], int]] = {"list": _list, "adopt": _adopt, "delete": _delete}
