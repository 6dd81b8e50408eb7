"""``kafkastore cluster``: prepares a cluster, shows its status, and moves its partitions when brokers come or go.

Results go to stdout, progress and refusals to stderr. The whole command line is checked before the command changes
anything.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

USAGE = """\
usage: kafkastore cluster create --folder DIR --brokers N [options]
       kafkastore cluster status --bootstrap-server HOST:PORT
       kafkastore cluster add-brokers --bootstrap-server HOST:PORT --brokers ID,ID,... [options]
       kafkastore cluster remove-brokers --bootstrap-server HOST:PORT --brokers ID,ID,... [options]
       kafkastore cluster rebalance --bootstrap-server HOST:PORT [options]
       kafkastore cluster reassign --bootstrap-server HOST:PORT --reassignment-json-file FILE [options]
       kafkastore cluster cancel --bootstrap-server HOST:PORT

create           writes DIR/broker-ID/server.properties for each of N brokers, in the DIR of others for the same
                 cluster, and beside it the secret by which they know each other; starts nothing
status           brokers, controller, partitions that want something, what moves and how far it is
add-brokers      moves partitions onto brokers that run already, until all have as many replicas; the fewest bytes that
                 do it
remove-brokers   takes these brokers out of service, moves what they have to the others, and ends when they hold
                 nothing: then they may be stopped. Nothing is placed on them again until add-brokers
rebalance        moves partitions between the brokers that are in service, until all have as many replicas; the fewest
                 bytes that do it
reassign         moves partitions as a file says:
                 {"version":1,"partitions":[{"topic":"T","partition":0,"replicas":[1,2]}]}
cancel           ends all moves under way; what moves is again where it was

options of create:
  --hosts H,H,...      one for each broker, or one for all (default: 127.0.0.1)
  --first-id N         node.id of the first (default: 1)
  --first-port N       port of the first; the others on its host take the next (default: 9092)
  --first-broker-port N  the same of the listener on which brokers reach each other (default: 1000 above --first-port)
  --racks R,R,...      one for each broker
  --installed-at DIR   where DIR will be on the brokers' hosts, when it is copied there (default: where it is)
  --log-dirs D,D,...   of each broker, relative to its folder (default: data)
  --zookeeper CONNECT  zookeeper.connect; without, one SQLite file in DIR, which works on one host only

options of all but create:
  --command-config FILE  a client.properties with security.protocol, sasl.* and ssl.*, as for Kafka's tools

options of add-brokers, remove-brokers, rebalance and reassign:
  --throttle BYTES     a second, on each broker and in each direction; taken away when the command has ended well
  --dry-run            print the plan as a reassignment file, and do nothing
  --no-progress        no progress bar (there is one only when stderr is a terminal)

Ctrl-C, or a kill, ends the command and not the moves: run it again to go on, or cancel. Any broker of the cluster may
be named; Apache Kafka's kafka-reassign-partitions.sh sees and does the same moves.

exit status: 0 done, 1 refused or failed, with one sentence on stderr, 130 Ctrl-C
"""

COMMANDS = ("create", "status", "add-brokers", "remove-brokers", "rebalance", "reassign", "cancel")


def main(arguments: list[str]) -> int:
    """Runs a command; returns the exit status, see USAGE."""
    if not arguments:
        sys.stderr.write(USAGE)
        return 1
    from kafkastore.cli.scan_sentences import option_names
    from kafkastore.errors import KafkastoreError

    try:
        return _run(arguments[0], arguments[1:])
    except KafkastoreError as error:
        sys.stderr.write(f"kafkastore cluster: {option_names(error.client_message)}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write(
            "\nkafkastore cluster: stopped; what moves goes on: run the same again, or kafkastore cluster cancel\n"
        )
        raise


def _run(command: str, given: list[str]) -> int:
    from kafkastore.admin.cluster_client import AdminError

    if command not in COMMANDS:
        raise AdminError(f"there is no command {command}; the commands are {', '.join(COMMANDS)}")
    options = _parser(command, AdminError).parse_args(given)
    if command == "create":
        from kafkastore.cli import cluster_create

        return cluster_create.run(options)
    if command == "status":
        from kafkastore.cli import cluster_status

        return cluster_status.run(options)
    from kafkastore.cli import cluster_moves

    return cluster_moves.run(command, options)


def _parser(command: str, refusal: Callable[[str], Exception]) -> argparse.ArgumentParser:
    import argparse

    class Parser(argparse.ArgumentParser):
        def error(self, message: str) -> NoReturn:
            raise refusal(f"{command}: {message}; see kafkastore cluster --help")

    parser = Parser(add_help=False, allow_abbrev=False)
    if command == "create":
        parser.add_argument("--folder", required=True)
        parser.add_argument("--brokers", required=True)
        parser.add_argument("--hosts", default="127.0.0.1")
        parser.add_argument("--first-id", default="1")
        parser.add_argument("--first-port", default="9092")
        parser.add_argument("--first-broker-port")
        parser.add_argument("--installed-at")
        parser.add_argument("--racks")
        parser.add_argument("--log-dirs", default="data")
        parser.add_argument("--zookeeper")
        return parser
    parser.add_argument("--bootstrap-server", required=True)
    parser.add_argument("--command-config")
    if command in ("add-brokers", "remove-brokers"):
        parser.add_argument("--brokers", required=True)
    if command == "reassign":
        parser.add_argument("--reassignment-json-file", required=True)
    if command in ("add-brokers", "remove-brokers", "rebalance", "reassign"):
        parser.add_argument("--throttle", default="0")
        parser.add_argument("--dry-run", action="store_true")
        parser.add_argument("--no-progress", action="store_true")
    return parser


def number_of(key: str, text: str, low: int, high: int) -> int:
    """A whole number within bounds. Raises AdminError."""
    from kafkastore.admin.cluster_client import AdminError

    if not (text.isascii() and text.isdigit() and len(text) < 19 and low <= int(text) <= high):
        raise AdminError(f"{key} is {text}; give a whole number from {low} to {high}")
    return int(text)
