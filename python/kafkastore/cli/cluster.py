"""``kafkastore cluster``: prepares a cluster, shows its status, and moves its partitions when brokers come or go.

Results go to stdout, progress and refusals to stderr. The whole command line is checked before the command changes
anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kafkastore.cli.cluster_options import cluster_options
from kafkastore.cli.nouns import Noun
from kafkastore.cli.progress import progress_option

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkastore.cli.cluster_options import ClusterSettings

    Decorated = Callable[..., Any]

EPILOG = """\
Ctrl-C, or a kill, ends the command and not the moves: run it again to go on, or cancel.
"""


@click.group("cluster", cls=Noun)
def command() -> None:
    """Prepare a cluster, look at one, move its partitions when brokers come or go.

    Any broker of the cluster may be named; Apache Kafka's kafka-reassign-partitions.sh sees and does the same moves.

    Exit status: 0 done, 1 refused or failed, with one sentence on stderr, 2 wrong usage, 130 Ctrl-C.
    """


@command.command()
@click.option("--folder", metavar="DIR", required=True, type=click.Path())
@click.option("--brokers", metavar="N", required=True)
@click.option(
    "--hosts", metavar="H,H,...", default="127.0.0.1", show_default=True, help="One for each broker, or one for all."
)
@click.option("--first-id", metavar="N", default="1", show_default=True, help="node.id of the first.")
@click.option(
    "--first-port",
    metavar="N",
    default="9092",
    show_default=True,
    help="Port of the first; the others on its host take the next.",
)
@click.option(
    "--first-broker-port",
    metavar="N",
    help="The same of the listener on which brokers reach each other.  [default: 1000 above --first-port]",
)
@click.option("--racks", metavar="R,R,...", help="One for each broker.")
@click.option(
    "--installed-at",
    metavar="DIR",
    help="Where DIR will be on the brokers' hosts, when it is copied there.  [default: where it is]",
)
@click.option(
    "--log-dirs",
    metavar="D,D,...",
    default="data",
    show_default=True,
    help="Of each broker, relative to its folder.",
)
@click.option(
    "--zookeeper",
    metavar="CONNECT",
    help="zookeeper.connect; without, one SQLite file in DIR, which works on one host only.",
)
def create(**given: Any) -> None:
    """Write the files of N brokers, in the DIR of others for the same cluster.

    For each DIR/broker-ID/server.properties, and beside it the secret by which they know each other. Starts nothing.
    """
    from kafkastore.cli import cluster_create

    cluster_create.run(cluster_create.CreateOptions(**given))


def _moving(function: Decorated) -> Decorated:
    """Adds the options of verbs that move partitions."""
    throttle = click.option(
        "--throttle",
        metavar="BYTES",
        default="0",
        help="A second, on each broker and in each direction; taken away when the command has ended well.",
    )
    dry_run = click.option("--dry-run", is_flag=True, help="Print the plan as a reassignment file, and do nothing.")
    return cluster_options(throttle(dry_run(progress_option(function))))


_BROKERS = click.option("--brokers", metavar="ID,ID,...", required=True)


@command.command()
@cluster_options
def status(cluster: ClusterSettings) -> None:
    """Show brokers, the controller, partitions that want something, what moves and how far it is."""
    from kafkastore.cli import cluster_status

    cluster_status.run(cluster)


@command.command("add-brokers", epilog=EPILOG)
@_moving
@_BROKERS
def add_brokers(cluster: ClusterSettings, **given: Any) -> None:
    """Move partitions onto brokers that run already, until all have as many replicas.

    With the fewest bytes that do it.
    """
    _move("add-brokers", cluster, given)


@command.command("remove-brokers", epilog=EPILOG)
@_moving
@_BROKERS
def remove_brokers(cluster: ClusterSettings, **given: Any) -> None:
    """Take brokers out of service, and move what they have to the others.

    It ends when they hold nothing: then they may be stopped. Nothing is placed on them again until add-brokers.
    """
    _move("remove-brokers", cluster, given)


@command.command(epilog=EPILOG)
@_moving
def rebalance(cluster: ClusterSettings, **given: Any) -> None:
    """Move partitions between the brokers that are in service, until all have as many replicas.

    With the fewest bytes that do it.
    """
    _move("rebalance", cluster, given)


@command.command(epilog=EPILOG)
@_moving
@click.option("--reassignment-json-file", metavar="FILE", required=True, type=click.Path())
def reassign(cluster: ClusterSettings, **given: Any) -> None:
    """Move partitions as a file says.

    \b
    {"version":1,"partitions":[{"topic":"T","partition":0,"replicas":[1,2]}]}
    """
    _move("reassign", cluster, given)


@command.command()
@cluster_options
def cancel(cluster: ClusterSettings) -> None:
    """End all moves under way; what moves is again where it was."""
    _move("cancel", cluster, {})


def _move(verb: str, cluster: ClusterSettings, given: dict[str, Any]) -> None:
    from kafkastore.cli import cluster_moves

    cluster_moves.run(verb, cluster_moves.MoveOptions(cluster.bootstrap_servers, cluster.properties, **given))


def number_of(key: str, text: str, low: int, high: int) -> int:
    """A whole number within bounds. Raises AdminError."""
    from kafkastore.admin.admin_client import AdminError

    if not (text.isascii() and text.isdigit() and len(text) < 19 and low <= int(text) <= high):
        raise AdminError(f"{key} is {text}; give a whole number from {low} to {high}")
    return int(text)
