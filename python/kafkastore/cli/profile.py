"""``kafkastore profile``: clusters by name, and which one is meant when a command names none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kafkastore.cli import profiles
from kafkastore.cli.cluster_options import SERVERS_KEY, SERVERS_KEY_OF_LIBRDKAFKA, key_values
from kafkastore.cli.completion import PROFILE
from kafkastore.cli.nouns import Noun
from kafkastore.cli.outcome import FailedError
from kafkastore.cli.output import Column, output_options, say

if TYPE_CHECKING:
    from kafkastore.cli.output import Output

LISTED = (Column("name"), Column("bootstrap_servers"), Column("in_use"))
SHOWN = (Column("key"), Column("value"))


@click.group("profile", cls=Noun)
def command() -> None:
    """Name clusters, and say which one is meant.

    A profile is a client.properties: the servers, and how the connections are protected, in Java's or librdkafka's
    keys. Kafka's tools take the file as --command-config, kcat as -F, where the keys are theirs. It is in
    ~/.config/kafkastore/profiles, and only its owner may read it.

    \b
      kafkastore profile create staging -b kafka-1:9092,kafka-2:9092
      kafkastore profile use staging
      kafkastore topics list

    What counts, first to last: options of the command line, KAFKASTORE_BOOTSTRAP_SERVERS, --profile or
    KAFKASTORE_PROFILE, the profile in use.
    """


@command.command("list")
@output_options
def list_profiles(output: Output) -> None:
    """List the profiles."""
    in_use = profiles.name_in_use()
    found = {name: profiles.read_profile(name) for name in profiles.names()}
    rows = [(name, _servers(pairs), name == in_use) for name, pairs in found.items()]
    output.rows(LISTED, rows, nothing="no profiles; see kafkastore profile create --help")


@command.command()
@click.argument("name", required=False, envvar="KAFKASTORE_PROFILE", type=PROFILE)
@click.option("--secrets", is_flag=True, help="With passwords and private keys.")
@output_options
def show(name: str | None, secrets: bool, output: Output) -> None:
    """Show the keys of a profile, of the one that is meant without NAME."""
    pairs = profiles.read_profile(_meant(name))
    output.rows(
        SHOWN,
        [(key, value if secrets or not profiles.is_secret(key) else profiles.HIDDEN) for key, value in pairs.items()],
    )


@command.command()
@click.argument("name")
@click.option("-b", "--bootstrap-server", metavar="HOST:PORT,...", required=True, help="Brokers to begin with.")
@click.option("-X", "properties", metavar="KEY=VALUE", multiple=True, help="A client's key; may be given again.")
def create(name: str, bootstrap_server: str, properties: tuple[str, ...]) -> None:
    """Make a profile."""
    if profiles.path_of(name).exists():
        raise FailedError(f"there is a profile {name} already; change it with kafkastore profile set --profile {name}")
    pairs = _pairs("-X", properties)
    _write(name, {SERVERS_KEY: bootstrap_server, **pairs}, pairs)
    say(f"{name}: made; kafkastore profile use {name} makes it the one that is meant")


@command.command("set")
@click.argument("properties", metavar="KEY=VALUE...", nargs=-1, required=True)
@click.option("--profile", metavar="NAME", envvar="KAFKASTORE_PROFILE", type=PROFILE, help="[default: the one in use]")
def set_keys(properties: tuple[str, ...], profile: str | None) -> None:
    """Set keys of a profile; to take one out, edit its file."""
    name = _meant(profile)
    pairs = _pairs("set", properties)
    _write(name, profiles.read_profile(name) | pairs, pairs)
    say(f"{name}: {', '.join(pairs)} set")


@command.command()
@click.argument("name", type=PROFILE)
def use(name: str) -> None:
    """Make a profile the one that is meant."""
    profiles.use_profile(name)
    say(f"{name}: in use, {_servers(profiles.read_profile(name)) or 'without servers'}")


@command.command()
@click.argument("names", metavar="NAME...", nargs=-1, required=True, type=PROFILE)
def delete(names: tuple[str, ...]) -> None:
    """Delete profiles."""
    for name in names:
        profiles.read_profile(name)
    for name in names:
        was_in_use = profiles.delete_profile(name)
        say(f"{name}: deleted{', and no profile is in use' if was_in_use else ''}")


@command.command()
@click.argument("name", required=False, envvar="KAFKASTORE_PROFILE", type=PROFILE)
def path(name: str | None) -> None:
    """Print where the file of a profile is, of the one that is meant without NAME."""
    meant = _meant(name)
    profiles.read_profile(meant)
    click.echo(profiles.path_of(meant))


def _meant(name: str | None) -> str:
    meant = name or profiles.name_in_use()
    if meant is None:
        raise FailedError("no profile is in use; name one, or see kafkastore profile use --help")
    return meant


def _servers(pairs: dict[str, str]) -> str | None:
    return pairs.get(SERVERS_KEY) or pairs.get(SERVERS_KEY_OF_LIBRDKAFKA)


def _pairs(option: str, properties: tuple[str, ...]) -> dict[str, str]:
    """Raises click.UsageError, without the value, which may be a secret."""
    pairs = key_values(option, properties)
    for key in pairs:
        if not key.isascii() or not all(one.isalnum() or one in "._-" for one in key):
            raise click.UsageError(f"{key!r} can be no client's key; keys are letters, digits, dots and -")
    return pairs


def _write(name: str, pairs: dict[str, str], given: dict[str, str]) -> None:
    """Writes the profile, and says which of the ``given`` values kcat reads otherwise."""
    from kafkastore.config.properties import escaped

    profiles.write_profile(name, pairs)
    for key, value in given.items():
        if escaped(value) != value:
            text = f"{key} is written with Java's escapes, which kcat -F does not know: give it to kcat as -X"
            click.echo(text, err=True)
