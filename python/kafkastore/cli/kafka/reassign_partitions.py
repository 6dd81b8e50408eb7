"""``kafka-reassign-partitions``: plans, begins, watches and cancels moves of partitions, with throttles, and moves of
replicas between the directories of a broker. ``reassignment_actions.py`` does it; this reads the command line."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from kafkastore.cli.kafka.flags import Flags, FlagsError, int64, is_given
from kafkastore.cli.kafka.run import ask, java_text
from kafkastore.errors import KafkastoreError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

PURPOSE: Final = "This tool helps to move topic partitions between replicas."
SERVER, CONTROLLER, CONFIG = "bootstrap-server", "bootstrap-controller", "command-config"
FILE, PRESERVE, TIMEOUT = "reassignment-json-file", "preserve-throttles", "timeout"
ACTIONS: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "generate": (("topics-to-move-json-file", "broker-list"), (SERVER, CONFIG, "disable-rack-aware")),
    "execute": (
        (FILE,),
        (
            SERVER,
            CONFIG,
            "additional",
            "throttle",
            "replica-alter-log-dirs-throttle",
            TIMEOUT,
            "disallow-replication-factor-change",
        ),
    ),
    "verify": ((FILE,), (SERVER, CONFIG, PRESERVE)),
    "cancel": ((FILE,), (SERVER, CONTROLLER, CONFIG, PRESERVE, TIMEOUT)),
    "list": ((), (SERVER, CONTROLLER, CONFIG)),
}
"""What each needs, and what may be given beside it."""


def _flags() -> Flags:
    flags = Flags("kafka-reassign-partitions", PURPOSE)
    flags.add("--generate", is_switch=True, help="Plan moves of topics onto brokers; move nothing.")
    flags.add("--execute", is_switch=True, help="Begin the moves of a file.")
    flags.add("--verify", is_switch=True, help="Whether the moves of a file are done; then take throttles away.")
    flags.add("--cancel", is_switch=True, help="End the moves of a file that are under way.")
    flags.add("--list", is_switch=True, help="All moves under way.")
    flags.add("--bootstrap-server", "HOST:PORT,...", is_optional=True, help="Brokers to begin with.")
    flags.add("--bootstrap-controller", "HOST:PORT,...", is_optional=True, help="Controllers of Kafka's quorum.")
    flags.add("--command-config", "FILE", help="A client.properties.")
    flags.add(
        "--reassignment-json-file",
        "FILE",
        help='{"version":1,"partitions":[{"topic":"foo","partition":1,"replicas":[1,2],"log_dirs":["any","/d"]}]}',
    )
    flags.add("--topics-to-move-json-file", "FILE", help='{"version":1,"topics":[{"topic":"foo"}]}')
    flags.add("--broker-list", "ID,ID,...", help="With --generate: the brokers that may get replicas.")
    flags.add("--disable-rack-aware", is_switch=True, help="With --generate: racks do not count.")
    flags.add("--throttle", "BYTES", type=int64, help="A second, between brokers.")
    flags.add(
        "--replica-alter-log-dirs-throttle", "BYTES", type=int64, help="A second, between directories of a broker."
    )
    flags.add("--timeout", "MS", type=int64, help="How long moves between directories may take to begin.  [10000]")
    flags.add("--additional", is_switch=True, help="Beside moves that are under way; also to change throttles.")
    flags.add("--preserve-throttles", is_switch=True, help="Leave throttles.")
    flags.add("--disallow-replication-factor-change", is_switch=True, help="Refuse more or fewer replicas.")
    return flags


FLAGS: Final = _flags()


def main(arguments: Sequence[str]) -> int:
    given = FLAGS.asked(arguments)
    action = _checked_action(given)
    from kafkastore.cli.kafka import reassignment_actions

    done = reassignment_actions.ACTIONS[action]
    try:
        ask(
            given.bootstrap_server,
            given.command_config,
            lambda client: done(client, given),
            bootstrap_controller=given.bootstrap_controller,
        )
    except reassignment_actions.RefusedMovesError as error:
        sys.stdout.write(f"{error}\n")
        return 1
    except KafkastoreError as error:
        sys.stdout.write(f"Error: {java_text(error)}\n")
        return 1
    return 0


def _checked_action(given: Namespace) -> str:
    """Raises FlagsError."""
    actions = [action for action in ACTIONS if is_given(given, action)]
    if len(actions) != 1:
        names = ", ".join(f"--{action}" for action in ("generate", "execute", "verify", "cancel", "list"))
        raise FlagsError(f"Command must include exactly one action: {names}")
    if is_given(given, SERVER) and is_given(given, CONTROLLER):
        raise FlagsError("Please don't specify both --bootstrap-server and --bootstrap-controller")
    if not is_given(given, SERVER) and not is_given(given, CONTROLLER):
        raise FlagsError("Please specify either --bootstrap-server or --bootstrap-controller")
    needed, permitted = ACTIONS[actions[0]]
    FLAGS.require(given, *needed)
    others = {name for needed, permitted in ACTIONS.values() for name in (*needed, *permitted)}
    for name in sorted(others - {*needed, *permitted}):
        if is_given(given, name):
            raise FlagsError(f'Option "[{name}]" can\'t be used with action "[{actions[0]}]"')
    return actions[0]
