"""``kafkastore users``: users of SCRAM and their passwords. A password is never printed, and brokers never see it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

import click

from kafkastore.cli.cluster_options import cluster_options
from kafkastore.cli.completion import USER
from kafkastore.cli.confirm import confirm, yes_option
from kafkastore.cli.nouns import Noun
from kafkastore.cli.outcome import fail_if_refused
from kafkastore.cli.output import Column, output_options, printable, say

if TYPE_CHECKING:
    from kafkastore.admin.admin_client import AdminClient, KafkaError
    from kafkastore.cli.cluster_options import ClusterSettings
    from kafkastore.cli.output import Output

MECHANISMS: Final = ("SCRAM-SHA-256", "SCRAM-SHA-512")
FEWEST_ITERATIONS: Final = 4096
MOST_ITERATIONS: Final = 16384
LISTED: Final = (Column("user"), Column("mechanism"), Column("iterations", is_number=True))


@click.group("users", cls=Noun)
def command() -> None:
    """SCRAM credentials of users."""


@command.command("list")
@cluster_options
@click.argument("users", metavar="[USER]...", nargs=-1, type=USER)
@output_options
def list_users(cluster: ClusterSettings, users: tuple[str, ...], output: Output) -> None:
    """List users and their mechanisms: all, or those named."""
    from kafkastore.admin.scram import describe_users, is_missing

    found = cluster.ask(lambda client: describe_users(client, users or None))
    rows = [
        (user, one.mechanism, one.iterations)
        for user, credentials in sorted(found.items())
        if isinstance(credentials, list)
        for one in sorted(credentials)
    ]
    output.rows(LISTED, rows, nothing="" if users else "no users")
    refused = {user: one for user, one in found.items() if not isinstance(one, list)}
    fail_if_refused({user: "there is no such user" if is_missing(one) else one for user, one in refused.items()})


@command.command("set")
@cluster_options
@click.argument("user", metavar="USER", type=USER)
@click.option(
    "-m",
    "--mechanism",
    "mechanisms",
    type=click.Choice(MECHANISMS, case_sensitive=False),
    multiple=True,
    help="May be given again.  [default: SCRAM-SHA-512]",
)
@click.option("--password", metavar="TEXT", help="Others on this host may see it: better answer the question.")
@click.option("--password-stdin", is_flag=True, help="The first line of stdin is the password.")
@click.option(
    "--iterations",
    type=click.IntRange(FEWEST_ITERATIONS, MOST_ITERATIONS),
    default=FEWEST_ITERATIONS,
    show_default=True,
    help="How often the password is hashed.",
)
def set_(
    cluster: ClusterSettings,
    user: str,
    mechanisms: tuple[str, ...],
    password: str | None,
    password_stdin: bool,
    iterations: int,
) -> None:
    """Make a user, or give one another password. Connections that are open stay."""
    from kafkastore.admin.scram import Upsertion, alter_users

    chosen = tuple(dict.fromkeys(mechanisms)) or MECHANISMS[1:]
    word = _password(user, password, is_from_stdin=password_stdin)
    upsertions = [Upsertion(user, mechanism, word, iterations) for mechanism in chosen]
    refused = cluster.ask(lambda client: alter_users(client, upsertions))
    if user not in refused:
        say(f"{user}: the password for {' and '.join(chosen)} is set")
    fail_if_refused(refused)


def _password(user: str, given: str | None, *, is_from_stdin: bool) -> str:
    """Raises click.UsageError."""
    if given is not None and is_from_stdin:
        raise click.UsageError("--password and --password-stdin: give one of them")
    if is_from_stdin:
        given = sys.stdin.readline().rstrip("\r\n")
    elif given is None:
        if not sys.stdin.isatty():
            raise click.UsageError("there is no terminal to ask for the password; give --password-stdin")
        from kafkastore.cli.ending import terminated_as_error

        question = f"Password of {printable(user)}"
        with terminated_as_error():  # the terminal shows again what is typed
            given = click.prompt(question, hide_input=True, confirmation_prompt=True, err=True)
    if not given:
        raise click.UsageError("the password is empty; give one")
    return given


@command.command()
@cluster_options
@click.argument("users", metavar="USER...", nargs=-1, required=True, type=USER)
@click.option(
    "-m",
    "--mechanism",
    "mechanisms",
    type=click.Choice(MECHANISMS, case_sensitive=False),
    multiple=True,
    help="May be given again.  [default: all that the user has]",
)
@click.option("--dry-run", is_flag=True, help="Only say what would be deleted.")
@yes_option
def delete(
    cluster: ClusterSettings, users: tuple[str, ...], mechanisms: tuple[str, ...], dry_run: bool, is_confirmed: bool
) -> None:
    """Delete users, or their passwords for a mechanism.

    They cannot log in any more; connections that are open, ACLs and quotas stay.
    """
    from kafkastore.admin.scram import Deletion, alter_users, describe_users

    found = cluster.ask(lambda client: describe_users(client, users))
    deletions, refused = [], {}
    for user in dict.fromkeys(users):
        credentials = found.get(user)
        has = sorted(one.mechanism for one in credentials) if isinstance(credentials, list) else []
        meant = [one for one in has if not mechanisms or one in mechanisms]
        deletions += [Deletion(user, mechanism) for mechanism in meant]
        if not meant:
            refused[user] = f"there is no such user{' with ' + ' or '.join(mechanisms) if mechanisms else ''}"
    if deletions and not dry_run:
        names = ", ".join(dict.fromkeys(one.user for one in deletions))
        confirm(f"Delete the passwords of {names}?", is_confirmed=is_confirmed)

        async def delete_them(client: AdminClient) -> dict[str, KafkaError]:
            return await alter_users(client, deletions=deletions)

        refused |= {user: str(error) for user, error in cluster.ask(delete_them).items()}
    for one in deletions:
        if one.user not in refused:
            say(f"{one.user}: {one.mechanism} {'would be deleted' if dry_run else 'deleted'}")
    fail_if_refused(refused)
