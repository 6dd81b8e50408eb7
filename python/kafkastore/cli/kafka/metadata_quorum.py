"""``kafka-metadata-quorum``: the quorum of controllers that keeps a cluster's metadata, and its members."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Final

from kafkastore.cli.kafka.flags import int32
from kafkastore.cli.kafka.run import ask
from kafkastore.cli.kafka.subcommands import Subcommands, add_bootstrap
from kafkastore.errors import KafkastoreError
from kafkastore.metadata.node_content import InvalidNodeError
from kafkastore.metadata.nodes import parse_topic_id, topic_id_text

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from kafkastore.admin.admin_client import AdminClient
    from kafkastore.admin.quorum import Quorum, QuorumReplica

HEADS: Final = (
    "NodeId",
    "DirectoryId",
    "LogEndOffset",
    "Lag",
    "LastFetchTimestamp",
    "LastCaughtUpTimestamp",
    "Status",
)


def _flags() -> Subcommands:
    parser = Subcommands("kafka-metadata-quorum", description="This tool describes kraft metadata quorum status.")
    add_bootstrap(parser, server=("--bootstrap-server",), controller=("--bootstrap-controller",))
    parser.add_argument("--command-config", metavar="FILE", help="A client.properties; of add-controller its own.")
    commands = parser.add_subparsers(dest="command", required=True)
    describe = commands.add_parser("describe", help="How far its members are.")
    describe.add_argument("--status", action="store_true", help="In short.")
    describe.add_argument("--replication", action="store_true", help="Each member.")
    describe.add_argument("--human-readable", action="store_true", help="With --replication: how long ago.")
    add = commands.add_parser("add-controller", help="Make a controller a member.")
    add.add_argument("--dry-run", action="store_true", help="Only say what would be done.")
    remove = commands.add_parser("remove-controller", help="Take a controller out of the quorum.")
    remove.add_argument("--controller-id", "-i", type=int32, required=True, metavar="ID")
    remove.add_argument("--controller-directory-id", "-d", required=True, metavar="UUID")
    remove.add_argument("--dry-run", action="store_true", help="Only say what would be done.")
    remove.add_argument("--unregister", action="store_true", help="And make the cluster forget it.")
    return parser


FLAGS: Final = _flags()


def main(arguments: Sequence[str]) -> int:
    given = FLAGS.read(arguments)
    if given is None:
        return 0
    if given.command == "describe":
        _describe(given)
    elif given.command == "add-controller":
        raise KafkastoreError(
            "add-controller changes the quorum of Apache Kafka's own controllers; run Kafka's tool on the host of the "
            "controller, whose directory id it reads there"
        )
    else:
        _remove(given)
    return 0


def _ask(given: Namespace, work: Callable[[AdminClient], Awaitable[str]]) -> None:
    controllers = given.bootstrap_controller
    sys.stdout.write(ask(given.bootstrap_server, given.command_config, work, bootstrap_controller=controllers))


def _describe(given: Namespace) -> None:
    if given.status and given.replication:
        raise KafkastoreError("Only one of --status or --replication should be specified with describe sub-command")
    if not given.status and not given.replication:
        raise KafkastoreError("One of --status or --replication must be specified with describe sub-command")
    if given.status and given.human_readable:
        raise KafkastoreError("The option --human-readable is only supported along with --replication")

    async def described(client: AdminClient) -> str:
        from kafkastore.admin.quorum import describe_quorum

        quorum = await describe_quorum(client)
        if given.replication:
            return _replication(quorum, is_human_readable=given.human_readable)
        return _status((await client.cluster()).cluster_id, quorum)

    _ask(given, described)


def _status(cluster_id: str | None, quorum: Quorum) -> str:
    leader = _leader(quorum)
    slowest = min(quorum.voters, key=lambda one: one.log_end_offset)
    lag_ms = leader.last_caught_up_ms - slowest.last_caught_up_ms
    if slowest.node == leader.node:
        lag_ms = 0
    elif leader.last_caught_up_ms < 0 or slowest.last_caught_up_ms < 0:
        lag_ms = -1
    lines = {
        "ClusterId": cluster_id,
        "LeaderId": quorum.leader,
        "LeaderEpoch": quorum.leader_epoch,
        "HighWatermark": quorum.high_watermark,
        "MaxFollowerLag": leader.log_end_offset - slowest.log_end_offset,
        "MaxFollowerLagTimeMs": lag_ms,
        "CurrentVoters": _members(quorum, quorum.voters),
        "CurrentObservers": _members(quorum, quorum.observers),
    }
    return "".join(f"{f'{name}:':<24}{value}\n" for name, value in lines.items())


def _leader(quorum: Quorum) -> QuorumReplica:
    for voter in quorum.voters:
        if voter.node == quorum.leader:
            return voter
    raise KafkastoreError("the quorum has no leader now; ask again")


def _members(quorum: Quorum, replicas: Iterable[QuorumReplica]) -> str:
    return f"[{', '.join(_member(quorum, one) for one in replicas)}]"


def _member(quorum: Quorum, one: QuorumReplica) -> str:
    words = [f'"id": {one.node}']
    if any(one.directory_id):
        words.append(f'"directoryId": "{topic_id_text(one.directory_id)}"')
    places = [f'"{name}://{host}:{port}"' for name, host, port in quorum.endpoints.get(one.node, ())]
    if places:
        words.append(f'"endpoints": [{", ".join(places)}]')
    return f"{{{', '.join(words)}}}"


def _replication(quorum: Quorum, *, is_human_readable: bool) -> str:
    leader = _leader(quorum)
    groups = {
        "Leader": [leader],
        "Follower": [one for one in quorum.voters if one.node != quorum.leader],
        "Observer": quorum.observers,
    }

    def moment(at_ms: int) -> str:
        return f"{int(time.time() * 1000) - at_ms} ms ago" if is_human_readable and at_ms >= 0 else str(at_ms)

    rows = [
        (
            str(one.node),
            topic_id_text(one.directory_id),
            str(one.log_end_offset),
            str(leader.log_end_offset - one.log_end_offset),
            moment(one.last_fetch_ms),
            moment(one.last_caught_up_ms),
            status,
        )
        for status, replicas in groups.items()
        for one in replicas
    ]
    widths = [max(map(len, column)) for column in zip(HEADS, *rows, strict=True)]
    lines = ("".join(f"{cell:<{width}}\t" for cell, width in zip(row, widths, strict=True)) for row in (HEADS, *rows))
    return "".join(f"{line}\n" for line in lines)


def _remove(given: Namespace) -> None:
    node, text = given.controller_id, given.controller_directory_id
    if node < 0:
        raise KafkastoreError(f"Invalid negative --controller-id: {node}")
    try:
        directory = parse_topic_id(text)
    except InvalidNodeError as error:
        raise KafkastoreError(f"Failed to parse --controller-directory-id: {error}") from None
    what = f"KRaft controller {node} with directory id {topic_id_text(directory)}"

    async def removed(client: AdminClient) -> str:
        from kafkastore.admin.quorum import remove_voter

        await remove_voter(client, node, directory)
        return f"Removed {what}\n"

    if given.unregister and not given.dry_run:
        raise KafkastoreError("--unregister is Apache Kafka's 4.4 alone; run kafka-cluster unregister-controller there")
    if given.dry_run:
        sys.stdout.write(f"DRY RUN of removing {what}\n")
    else:
        _ask(given, removed)
