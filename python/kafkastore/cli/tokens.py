"""``kafkastore tokens``: delegation tokens (KIP-48), with which a program logs in for its user."""

from __future__ import annotations

import base64
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import click

from kafkastore.cli.cluster_options import cluster_options
from kafkastore.cli.nouns import Noun
from kafkastore.cli.outcome import fail_if_refused
from kafkastore.cli.output import Column, output_options, say
from kafkastore.cli.principals import PRINCIPAL

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from kafkastore.admin.admin_client import AdminClient, KafkaError
    from kafkastore.admin.tokens import DelegationToken
    from kafkastore.cli.cluster_options import ClusterSettings
    from kafkastore.cli.output import Output

LISTED: Final = (
    Column("token_id"),
    Column("owner"),
    Column("requester"),
    Column("renewers"),
    Column("issued"),
    Column("expires"),
    Column("expires_at_last"),
)
WITH_SECRET: Final = (*LISTED, Column("hmac"))
UNITS_MS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


class Duration(click.ParamType[int]):
    """``90s``, ``15m``, ``12h``, ``7d``, ``500ms``, as milliseconds."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        match = re.fullmatch(r"(\d{1,10})(ms|s|m|h|d)", str(value), re.ASCII)
        if match is None:
            self.fail(f"{value} is no length of time; write 90s, 15m, 12h or 7d", param, ctx)
        return int(match[1]) * UNITS_MS[match[2]]


@click.group("tokens", cls=Noun)
def command() -> None:
    """Delegation tokens.

    A client asks for them that has logged in with SASL or a certificate, and not by a token.
    """


@command.command()
@cluster_options
@click.option("--owner", type=PRINCIPAL, help="Whose token.  [default: the user's own]")
@click.option("--renewer", "renewers", type=PRINCIPAL, multiple=True, help="Who may renew it, too; may be repeated.")
@click.option("--max-life", type=Duration(), help="How long it can be renewed, as 7d.  [default: the broker's]")
@output_options
def create(
    cluster: ClusterSettings, owner: str | None, renewers: tuple[str, ...], max_life: int | None, output: Output
) -> None:
    """Make a token and print it.

    A program logs in by SCRAM with its id as the user and its HMAC as the password.
    """
    from kafkastore.admin import tokens

    token = cluster.ask(
        lambda client: tokens.create_token(
            client,
            [one for text in renewers if (one := tokens.principal_of(text))],
            None if owner is None else tokens.principal_of(owner),
            -1 if max_life is None else max_life,
        )
    )
    output.rows(WITH_SECRET, [(*_row(token), base64.b64encode(token.hmac).decode())])


@command.command("list")
@cluster_options
@click.option("--owner", "owners", type=PRINCIPAL, multiple=True, help="Whose tokens; may be repeated.")
@click.option("--show-hmac", is_flag=True, help="With the secret that logs in.")
@output_options
def list_tokens(cluster: ClusterSettings, owners: tuple[str, ...], show_hmac: bool, output: Output) -> None:
    """List the tokens that the user may see."""
    from kafkastore.admin import tokens

    wanted = [one for text in owners if (one := tokens.principal_of(text))] if owners else None
    found = cluster.ask(lambda client: tokens.describe_tokens(client, wanted))
    found.sort(key=lambda one: (one.owner, one.issue_timestamp_ms, one.token_id))
    nothing = "no tokens that the user may see"
    if show_hmac:
        output.rows(WITH_SECRET, [(*_row(one), base64.b64encode(one.hmac).decode()) for one in found], nothing)
    else:
        output.rows(LISTED, map(_row, found), nothing)


@command.command()
@cluster_options
@click.argument("names", metavar="TOKEN...", nargs=-1, required=True)
@click.option("--for", "period_ms", type=Duration(), help="How long from now, as 12h.  [default: the broker's]")
def renew(cluster: ClusterSettings, names: tuple[str, ...], period_ms: int | None) -> None:
    """Lengthen the life of tokens.

    TOKEN is an id or an HMAC.
    """
    from kafkastore.admin.tokens import renew_token

    _each(cluster, names, lambda client, hmac: renew_token(client, hmac, -1 if period_ms is None else period_ms))


@command.command()
@cluster_options
@click.argument("names", metavar="TOKEN...", nargs=-1, required=True)
@click.option("--in", "period_ms", type=Duration(), help="How long from now, as 15m.  [default: at once]")
def expire(cluster: ClusterSettings, names: tuple[str, ...], period_ms: int | None) -> None:
    """End tokens.

    TOKEN is an id or an HMAC.
    """
    from kafkastore.admin.tokens import expire_token

    _each(cluster, names, lambda client, hmac: expire_token(client, hmac, -1 if period_ms is None else period_ms))


def _each(
    cluster: ClusterSettings, names: Sequence[str], change: Callable[[AdminClient, bytes], Awaitable[int]]
) -> None:
    """Changes the tokens one after the other, and says when each expires."""
    from kafkastore.admin.admin_client import KafkaError
    from kafkastore.admin.tokens import describe_tokens

    async def change_all(client: AdminClient) -> tuple[dict[str, int], dict[str, str | KafkaError]]:
        known = {one.token_id: one.hmac for one in await describe_tokens(client)}
        done: dict[str, int] = {}
        refused: dict[str, str | KafkaError] = {}
        for name in names:
            hmac = known.get(name) or _hmac(name)
            if hmac is None:
                refused[name] = "there is no such token that you may see; give its id or its HMAC"
                continue
            try:
                done[name] = await change(client, hmac)
            except KafkaError as error:
                refused[name] = error
        return done, refused

    done, refused = cluster.ask(change_all)
    for name, expiry_ms in done.items():
        say(f"{name}: expires {_moment(expiry_ms)}")
    fail_if_refused(refused)


def _hmac(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return None


def _row(one: DelegationToken) -> tuple[object, ...]:
    return (
        one.token_id,
        str(one.owner),
        str(one.requester or one.owner),
        tuple(map(str, one.renewers)),
        _moment(one.issue_timestamp_ms),
        _moment(one.expiry_timestamp_ms),
        _moment(one.max_timestamp_ms),
    )


def _moment(moment_ms: int) -> str:
    return f"{datetime.fromtimestamp(moment_ms / 1000, UTC):%Y-%m-%dT%H:%M:%SZ}"
