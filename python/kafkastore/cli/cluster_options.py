"""The options that say which cluster a command talks to, and how: the same for all commands that need one.

What is given on the command line counts before ``KAFKASTORE_BOOTSTRAP_SERVERS`` and ``KAFKASTORE_PROFILE``, those
before the profile in use. Nothing here connects.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from kafkastore.cli.completion import PROFILE
from kafkastore.cli.profiles import profile_in_use, read_client_properties

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kafkastore.admin.admin_client import AdminClient

T = TypeVar("T")

SERVERS_KEY = "bootstrap.servers"
SERVERS_KEY_OF_LIBRDKAFKA = "metadata.broker.list"
DEFAULT_SERVERS = "localhost:9092"
"""Where ``kafkastore broker`` listens without a file."""


class ClusterSettings(NamedTuple):
    """``properties``: the keys of Kafka's clients, in Java's or librdkafka's names, without the servers. ``option`` is
    the one that names the servers."""

    bootstrap_servers: str
    properties: dict[str, str]
    option: str = "--bootstrap-server"

    def ask(self, work: Callable[[AdminClient], Awaitable[T]]) -> T:
        """What ``work`` returns, which gets a client of the cluster. Raises KafkastoreError."""
        import asyncio

        from kafkastore.admin.admin_client import AdminClient

        kind = type("NamedClient", (AdminClient,), {"key": self.option})

        async def run() -> T:
            async with kind(self.bootstrap_servers, self.properties).within() as client:
                return await work(client)

        return asyncio.run(run())


def cluster_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options to a command, whose first argument becomes the ClusterSettings."""

    @click.option(
        "-b",
        "--bootstrap-server",
        metavar="HOST:PORT,...",
        envvar="KAFKASTORE_BOOTSTRAP_SERVERS",
        help=f"Brokers to begin with; any of the cluster.  [default: the profile's, else {DEFAULT_SERVERS}]",
    )
    @click.option(
        "--command-config",
        metavar="FILE",
        help="A client.properties: security.protocol, sasl.*, ssl.*, in Java's or librdkafka's names.",
    )
    @click.option(
        "--profile",
        metavar="NAME",
        envvar="KAFKASTORE_PROFILE",
        type=PROFILE,
        help="See kafkastore profile --help.",
    )
    @click.option("-X", "properties", metavar="KEY=VALUE", multiple=True, help="One such key; may be given again.")
    @wraps(function)
    def with_cluster(
        *arguments: Any,
        bootstrap_server: str | None,
        command_config: str | None,
        profile: str | None,
        properties: tuple[str, ...],
        **options: Any,
    ) -> Any:
        settings = settings_of(bootstrap_server, command_config, profile, properties)
        return function(settings, *arguments, **options)

    return with_cluster


def settings_of(
    bootstrap_server: str | None, command_config: str | None, profile: str | None, properties: tuple[str, ...] = ()
) -> ClusterSettings:
    """Raises ConfigError for files that cannot be read, click.UsageError for what is no key=value."""
    found = profile_in_use(profile)
    if command_config is not None:
        found |= read_client_properties("--command-config", command_config)
    found |= key_values("-X", properties)
    servers = found.pop(SERVERS_KEY, None) or found.pop(SERVERS_KEY_OF_LIBRDKAFKA, None)
    return ClusterSettings(bootstrap_server or servers or DEFAULT_SERVERS, found)


def key_values(option: str, given: tuple[str, ...]) -> dict[str, str]:
    """What an option was given as KEY=VALUE, the last of equal keys; an argument is the option "". Raises
    click.UsageError."""
    found = {}
    for pair in given:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            before = f"{option} " if option else ""
            raise click.UsageError(f"{before}{pair} is no key=value; write it as {before}key=value")
        found[key.strip()] = value
    return found
