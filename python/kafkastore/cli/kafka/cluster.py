"""``kafka-cluster``: the id of a cluster, its brokers and controllers, what they serve, and forgetting one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from kafkastore.cli.kafka.flags import int32
from kafkastore.cli.kafka.run import ask
from kafkastore.cli.kafka.subcommands import Subcommands, add_bootstrap
from kafkastore.errors import KafkastoreError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from kafkastore.admin.admin_client import AdminClient
    from kafkastore.admin.brokers import ClusterDescription

COMMANDS: Final = {
    "cluster-id": "The id of the cluster.",
    "unregister": "Make the cluster forget a broker.",
    "unregister-controller": "Make the cluster forget a controller.",
    "list-endpoints": "Where brokers, or controllers, are reached.",
    "api-versions": "The versions of each API that brokers or controllers serve.",
}
COLUMN: Final = 10
TYPE_COLUMN: Final = 15
HELP_STATUS: Final = 1
"""Of ``--help``, as Kafka's ends with it."""


def _flags() -> Subcommands:
    parser = Subcommands("kafka-cluster", description="The Kafka cluster tool.")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, purpose in COMMANDS.items():
        one = commands.add_parser(name, help=purpose)
        add_bootstrap(one, server=("--bootstrap-server", "-b"), controller=("--bootstrap-controller", "-C"))
        one.add_argument("--config", metavar="FILE", help="The same as --command-config (deprecated).")
        one.add_argument("--command-config", "-c", metavar="FILE", help="A client.properties.")
        if name.startswith("unregister"):
            one.add_argument("--id", "-i", type=int32, required=True, metavar="ID")
        if name == "list-endpoints":
            one.add_argument("--include-fenced-brokers", action="store_true", help="Those that are not alive, too.")
    return parser


FLAGS: Final = _flags()


def main(arguments: Sequence[str]) -> int:
    given = FLAGS.read(arguments)
    if given is None:
        return HELP_STATUS
    if given.config is not None:
        sys.stdout.write(
            "Option --config has been deprecated and will be removed in a future version. Use --command-config "
            "instead.\n"
        )
    is_of_controllers = given.bootstrap_controller is not None
    if given.command == "list-endpoints" and given.include_fenced_brokers and is_of_controllers:
        raise KafkastoreError("The option --include-fenced-brokers is only supported with --bootstrap-server option")
    text = ask(
        given.bootstrap_server,
        given.command_config or given.config,
        lambda client: _done(client, given),
        bootstrap_controller=given.bootstrap_controller,
    )
    sys.stdout.write(text)
    return 0


async def _done(client: AdminClient, given: Namespace) -> str:
    from kafkastore.cli.kafka.api_versions_text import api_versions_text

    if given.command == "cluster-id":
        return f"Cluster ID: {(await client.cluster()).cluster_id}\n"
    if given.command.startswith("unregister"):
        return await _unregister(client, given)
    if given.command == "api-versions":
        return await api_versions_text(client)
    return await _endpoints(client, given)


async def _unregister(client: AdminClient, given: Namespace) -> str:
    from kafkastore.admin.brokers import is_unsupported, unregister_broker, unregister_controller

    is_broker = given.command == "unregister"
    kind = "broker" if is_broker else "controller"
    try:
        await (unregister_broker if is_broker else unregister_controller)(client, given.id)
    except KafkastoreError as error:
        if not is_unsupported(error):
            raise
        return f"The target cluster does not support the {kind} unregistration API.\n"
    return f"{kind.capitalize()} {given.id} is no longer registered.\n"


async def _endpoints(client: AdminClient, given: Namespace) -> str:
    from kafkastore.admin.brokers import BROKERS, CONTROLLERS, describe_cluster

    is_of_controllers = given.bootstrap_controller is not None
    found = await describe_cluster(
        client,
        endpoint_type=CONTROLLERS if is_of_controllers else BROKERS,
        includes_fenced=given.include_fenced_brokers,
    )
    return endpoints_text(found, is_of_controllers=is_of_controllers)


def endpoints_text(found: ClusterDescription, *, is_of_controllers: bool) -> str:
    """A line for each, under a head; columns are as wide as Kafka's tool makes them."""
    host = max((len(one.host) for one in found.brokers.values()), default=0)
    rack = max((len(one.rack) for one in found.brokers.values() if one.rack), default=COLUMN)

    def line(node: object, address: str, port: object, in_rack: str, state: str, kind: str) -> str:
        states = [] if is_of_controllers else [f"{state:<{COLUMN}}"]
        cells = [f"{node:<{COLUMN}}", address.ljust(host), f"{port:<{COLUMN}}", in_rack.ljust(rack), *states]
        return " ".join([*cells, kind.ljust(TYPE_COLUMN)]) + "\n"

    kind = "controller" if is_of_controllers else "broker"
    rows = [
        line(node, one.host, one.port, one.rack or "null", "fenced" if one.is_fenced else "unfenced", kind)
        for node, one in sorted(found.brokers.items())
    ]
    return line("ID", "HOST", "PORT", "RACK", "STATE", "ENDPOINT_TYPE") + "".join(rows)
