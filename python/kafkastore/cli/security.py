"""``kafkastore security``: makes and renews the files of a broker that lets in nobody who has not proven who they are,
and names what a configuration leaves open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kafkastore.cli.nouns import Noun
from kafkastore.cli.properties_options import broker_config

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkastore.config import BrokerConfig

    Decorated = Callable[..., Any]


@click.group("security", cls=Noun)
def command() -> None:
    """Make the files of a broker that lets in nobody unproven; what a configuration leaves open.

    Exit status: 0 done, or nothing is open; 1 refused or failed, with one sentence on stderr, or something is open; 2
    wrong usage.
    """


def _folder_options(function: Decorated) -> Decorated:
    days = click.option(
        "--days", metavar="N", default="825", show_default=True, help="How long the certificates are valid."
    )
    return click.option("--folder", metavar="DIR", required=True, type=click.Path())(days(function))


_CA_KEY = click.option(
    "--ca-key",
    metavar="FILE",
    default="",
    type=click.Path(),
    help="The authority's key.  [default: ca.key of the folder]",
)


@command.command()
@_folder_options
@click.option(
    "--hosts",
    metavar="H,H,...",
    default="localhost,127.0.0.1",
    show_default=True,
    help="Names and addresses by which clients reach the broker; it listens on every interface when one of them is not "
    "of this host alone.",
)
@click.option("--users", metavar="U,U,...", default="admin,client", show_default=True)
@click.option("--port", metavar="N", default="9093", show_default=True, help="Of SASL_SSL; SSL has the next.")
def init(**given: Any) -> None:
    """Make DIR with all that a secured broker and its users need; starts nothing.

    A private authority, the broker's certificate, a server.properties, and for each user a password, a certificate and
    files for clients. The broker listens with TLS alone: SASL_SSL for passwords (SCRAM-SHA-512), SSL for certificates.
    The first user may do everything, the others what ACLs allow them.
    """
    from kafkastore.cli import security_init

    security_init.run(security_init.FolderOptions(**given))


@command.command("add-user")
@_folder_options
@click.option("--users", metavar="U,U,...", required=True)
@_CA_KEY
def add_user(**given: Any) -> None:
    """Add users to a folder that init has made, with passwords, certificates and files.

    The broker may run, and lets them in within a second or two.
    """
    from kafkastore.cli import security_folder, security_init

    security_folder.add_users(security_init.FolderOptions(**given))


@command.command("add-host")
@_folder_options
@click.option("--hosts", metavar="H,H,...", required=True)
@_CA_KEY
def add_host(**given: Any) -> None:
    """Make another certificate for the broker, for the hosts that it has and these.

    A broker that runs takes it within seconds.
    """
    from kafkastore.cli import security_folder, security_init

    security_folder.add_hosts(security_init.FolderOptions(**given))


@command.command()
@_folder_options
@_CA_KEY
def renew(**given: Any) -> None:
    """Make other certificates for the broker, the authority and the users, from today.

    Keys of users change, the authority's key and passwords stay, and a broker that runs takes its own within seconds.
    """
    from kafkastore.cli import security_folder, security_init

    security_folder.renew(security_init.FolderOptions(**given))


@command.command()
@broker_config
def doctor(config: BrokerConfig) -> int:
    """Name each thing that a configuration leaves open, a line for each.

    Also what the mode of a file that it names leaves open, and certificates that end within 30 days.
    """
    from kafkastore.cli import security_doctor

    return security_doctor.run(config)
