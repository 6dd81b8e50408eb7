"""``kafka-delegation-tokens``: makes, renews, ends and shows delegation tokens, as Kafka's DelegationTokenCommand."""

from __future__ import annotations

import base64
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Final

from kafkastore.cli.kafka.flags import Flags, FlagsError, int64
from kafkastore.cli.kafka.run import ask, say
from kafkastore.errors import KafkastoreError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from kafkastore.admin.admin_client import AdminClient
    from kafkastore.admin.tokens import DelegationToken, Principal

PURPOSE: Final = "This tool helps to create, renew, expire, or describe delegation tokens."
ACTIONS: Final = ("create", "renew", "expire", "describe")
PERIODS: Final = ("max-life-time-period", "renew-time-period", "expiry-time-period")
HEADS: Final = ("TOKENID", "HMAC", "OWNER", "REQUESTER", "RENEWERS", "ISSUEDATE", "EXPIRYDATE", "MAXDATE")
WIDTHS: Final = (15, 30, 15, 15, 25, 15, 15, 15)
FORBIDDEN: Final = {
    "create": ("hmac", "renew-time-period", "expiry-time-period"),
    "renew": ("renewer-principal", "max-life-time-period", "expiry-time-period", "owner-principal"),
    "expire": ("renew", "max-life-time-period", "renew-time-period", "owner-principal"),
    "describe": ("renew-time-period", "max-life-time-period", "hmac", "expiry-time-period"),
}
REQUIRED: Final = {
    "create": ("max-life-time-period",),
    "renew": ("hmac", "renew-time-period"),
    "expire": ("hmac", "expiry-time-period"),
    "describe": (),
}


def _flags() -> Flags:
    flags = Flags("kafka-delegation-tokens", PURPOSE)
    flags.add("--bootstrap-server", "HOST:PORT", help="REQUIRED: brokers to begin with.")
    flags.add("--command-config", "FILE", help="REQUIRED: a client.properties, which logs in.")
    flags.add("--create", is_switch=True, help="Make a token.")
    flags.add("--renew", is_switch=True, help="Lengthen a token's life.")
    flags.add("--expire", is_switch=True, help="End a token.")
    flags.add("--describe", is_switch=True, help="Show tokens.")
    flags.add("--owner-principal", "TYPE:NAME", is_repeated=True, help="Whose tokens. [the user's]")
    flags.add("--renewer-principal", "TYPE:NAME", is_repeated=True, help="Who may renew it, beside its owner.")
    for name in PERIODS:
        flags.add(f"--{name}", "MS", is_optional=True, type=_milliseconds, help="-1: as the broker is configured.")
    flags.add("--hmac", "BASE64", is_optional=True, help="The token's secret.")
    return flags


def _milliseconds(text: str) -> int:
    return int64(text) if text else -1


FLAGS: Final = _flags()


class CommandError(KafkastoreError):
    """What the tool refuses by itself."""


def main(arguments: list[str]) -> int:
    given = FLAGS.asked(arguments)
    _check(given)
    run = _create if given.create else _renew if given.renew else _expire if given.expire else _describe
    try:
        ask(given.bootstrap_server, given.command_config, lambda client: run(client, given))
    except KafkastoreError as error:
        java_class = getattr(error, "java_class", None)
        sys.stderr.write(f"{f'org.apache.kafka.common.errors.{java_class}: ' if java_class else ''}{error}\n")
        return 1
    return 0


def _check(given: argparse.Namespace) -> None:
    if sum(getattr(given, one) for one in ACTIONS) != 1:
        raise FlagsError("Command must include exactly one action: --create, --renew, --expire or --describe")
    FLAGS.require(given, "bootstrap-server", "command-config")
    action = next(one for one in ACTIONS if getattr(given, one))
    FLAGS.require(given, *REQUIRED[action])
    FLAGS.forbid(given, action, *FORBIDDEN[action])


async def _create(client: AdminClient, given: argparse.Namespace) -> None:
    from kafkastore.admin.tokens import create_token

    renewers, period = _principals(given.renewer_principal), given.max_life_time_period
    say(f"Calling create token operation with renewers :{_listed(renewers)} , max-life-time-period :{period}")
    owners = _principals(given.owner_principal)
    token = await create_token(client, renewers, owners[0] if owners else None, period)
    say(f"Created delegation token with tokenId : {token.token_id}")
    _print([token])


async def _renew(client: AdminClient, given: argparse.Namespace) -> None:
    from kafkastore.admin.tokens import renew_token

    period = given.renew_time_period
    say(f"Calling renew token operation with hmac :{given.hmac} , renew-time-period :{period}")
    expiry_ms = await renew_token(client, _hmac(given.hmac), period)
    sys.stdout.write(f"Completed renew operation. New expiry date : {_minute(expiry_ms)}")


async def _expire(client: AdminClient, given: argparse.Namespace) -> None:
    from kafkastore.admin.tokens import expire_token

    period = given.expiry_time_period
    say(f"Calling expire token operation with hmac :{given.hmac} , expire-time-period :{period}")
    expiry_ms = await expire_token(client, _hmac(given.hmac), period)
    sys.stdout.write(f"Completed expire operation. New expiry date : {_minute(expiry_ms)}")


async def _describe(client: AdminClient, given: argparse.Namespace) -> None:
    from kafkastore.admin.tokens import describe_tokens

    owners = _principals(given.owner_principal)
    if owners:
        say(f"Calling describe token operation for owners: {_listed(owners)}")
    else:
        say("Calling describe token operation for current user.")
    tokens = await describe_tokens(client, owners)
    sys.stdout.write(f"Total number of tokens : {len(tokens)}")
    _print(tokens)


def _principals(given: Sequence[str] | None) -> list[Principal]:
    """Raises CommandError."""
    from kafkastore.admin.tokens import principal_of

    found = []
    for text in given or ():
        principal = principal_of(text.strip())
        if principal is None:
            raise CommandError(f"expected a string in format principalType:principalName but got {text}")
        found.append(principal)
    return found


def _hmac(text: str) -> bytes:
    """Raises CommandError."""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise CommandError("--hmac: give the token's HMAC in base64, as --describe shows it") from None


def _print(tokens: Sequence[DelegationToken]) -> None:
    _print_row(HEADS)
    for one in tokens:
        owner = str(one.owner)
        _print_row(
            (
                one.token_id,
                base64.b64encode(one.hmac).decode(),
                owner,
                owner if one.requester is None else str(one.requester),
                _listed(one.renewers),
                _minute(one.issue_timestamp_ms),
                _minute(one.expiry_timestamp_ms),
                _minute(one.max_timestamp_ms),
            )
        )


def _print_row(cells: Sequence[str]) -> None:
    sys.stdout.write(f"\n{' '.join(cell.ljust(width) for cell, width in zip(cells, WIDTHS, strict=True))}\n")


def _listed(principals: Sequence[Principal]) -> str:
    return f"[{', '.join(map(str, principals))}]"


def _minute(moment_ms: int) -> str:
    return f"{datetime.fromtimestamp(moment_ms / 1000):%Y-%m-%dT%H:%M}"  # noqa: DTZ006 - Java's, the local time
