"""``kafkastore quotas``: how much users, client ids and addresses may do."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Final

import click

from kafkastore.cli.cluster_options import cluster_options, key_values
from kafkastore.cli.nouns import Noun
from kafkastore.cli.outcome import fail_if_refused
from kafkastore.cli.output import Column, output_options, say

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkastore.admin.admin_client import AdminClient, KafkaError
    from kafkastore.admin.quotas import Component, Entity
    from kafkastore.cli.cluster_options import ClusterSettings
    from kafkastore.cli.output import Output

KINDS: Final = ("user", "client-id", "ip")
LISTED: Final = (
    Column("user"),
    Column("client_id"),
    Column("ip"),
    Column("key"),
    Column("value", is_number=True),
)
DEFAULT: Final = "<default>"
UNITS: Final = {"k": 1e3, "m": 1e6, "g": 1e9, "ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30}
"""What may stand behind a number."""


@click.group("quotas", cls=Noun)
def command() -> None:
    """Quotas of users, clients and addresses.

    Keys are producer_byte_rate, consumer_byte_rate (bytes a second, on each broker), request_percentage (of a thread's
    time) and controller_mutation_rate (partitions a second); of addresses connection_creation_rate.
    """


def entity_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options that say whom a quota is for; the command gets the parts, None as the name of a default."""

    @click.option("--user", metavar="NAME", help="A user.")
    @click.option("--user-default", is_flag=True, help="Users without a quota of their own.")
    @click.option("--client-id", metavar="ID", help="A client id; with --user, of that user.")
    @click.option("--client-id-default", is_flag=True, help="Client ids without a quota of their own.")
    @click.option("--ip", metavar="ADDRESS", help="An address.")
    @click.option("--ip-default", is_flag=True, help="Addresses without a quota of their own.")
    @wraps(function)
    def with_entity(*arguments: Any, **options: Any) -> Any:
        parts: list[tuple[str, str | None]] = []
        for kind in KINDS:
            name, is_default = options.pop(kind.replace("-", "_")), options.pop(f"{kind.replace('-', '_')}_default")
            if name is not None and is_default:
                raise click.UsageError(f"--{kind} and --{kind}-default: give one of them")
            if name is not None or is_default:
                parts.append((kind, name))
        if len(parts) > 1 and parts[-1][0] == "ip":
            raise click.UsageError("an address has quotas of its own; give --ip without --user and --client-id")
        return function(*arguments, entity=tuple(parts), **options)

    return with_entity


@command.command("list")
@cluster_options
@entity_options
@click.option("--strict", is_flag=True, help="Not those that have other parts beside.")
@output_options
def list_quotas(cluster: ClusterSettings, entity: Entity, strict: bool, output: Output) -> None:
    """List quotas: all, or those of a user, a client id, an address."""
    from kafkastore.admin.quotas import describe_quotas, place_of

    found = cluster.ask(lambda client: describe_quotas(client, _components(entity), is_strict=strict))
    rows = []
    for parts in sorted(found, key=place_of):
        names = {kind: DEFAULT if name is None else name for kind, name in parts}
        rows += [(*map(names.get, KINDS), key, _plain(value)) for key, value in sorted(found[parts].items())]
    output.rows(LISTED, rows, nothing="no quotas")


def _components(entity: Entity) -> list[Component]:
    from kafkastore.admin.quotas import Component

    return [Component(kind, name) for kind, name in entity]


def _plain(value: float) -> float | int:
    return int(value) if value.is_integer() else value


@command.command("set")
@cluster_options
@entity_options
@click.argument("pairs", metavar="KEY=NUMBER...", nargs=-1, required=True)
@click.option("--dry-run", is_flag=True, help="Only ask whether it would be done.")
def set_(cluster: ClusterSettings, entity: Entity, pairs: tuple[str, ...], dry_run: bool) -> None:
    """Set quotas; others stay.

    Of one user, client id, both together, or address. 10M is ten million, 10Mi is 10485760.
    """
    values = {key: _number(key, text) for key, text in key_values("", pairs).items()}
    _change(cluster, entity, dict(values), dry_run=dry_run)


def _number(key: str, text: str) -> float:
    """Raises click.UsageError."""
    digits = text.rstrip("kKmMgGiI")
    unit = text[len(digits) :].lower()
    try:
        return float(digits) * (UNITS[unit] if unit else 1)
    except (KeyError, ValueError):
        raise click.UsageError(f"{key}={text}: {text} is no number; write 1048576, 0.5, 10M or 10Mi") from None


@command.command()
@cluster_options
@entity_options
@click.argument("keys", metavar="[KEY]...", nargs=-1)
@click.option("--dry-run", is_flag=True, help="Only ask whether it would be done.")
def remove(cluster: ClusterSettings, entity: Entity, keys: tuple[str, ...], dry_run: bool) -> None:
    """Remove quotas, those named or all.

    Of one user, client id, both together, or address.
    """
    _change(cluster, entity, dict.fromkeys(keys), dry_run=dry_run)


def _change(cluster: ClusterSettings, entity: Entity, changes: dict[str, float | None], *, dry_run: bool) -> None:
    """Changes quotas of an entity, all or none, and says what each was; without changes removes all."""
    from kafkastore.admin.quotas import alter_quotas, describe_quotas

    if not entity:
        raise click.UsageError("say whose: --user, --client-id or --ip, or a default such as --user-default")

    async def change(client: AdminClient) -> tuple[dict[str, float], dict[str, float | None], KafkaError | None]:
        before = (await describe_quotas(client, _components(entity), is_strict=True)).get(entity, {})
        wanted: dict[str, float | None] = changes or dict.fromkeys(before)
        refused = await alter_quotas(client, {entity: wanted}, validate_only=dry_run) if wanted else {}
        return before, wanted, refused.get(entity)

    before, wanted, refused = cluster.ask(change)
    whose = " ".join(f"{kind} {DEFAULT if name is None else name}" for kind, name in entity)
    if refused is not None or not wanted:
        fail_if_refused({whose: refused or "it has no quotas"})
    verb = "would be" if dry_run else "is"
    for key, value in wanted.items():
        was = f"was {_plain(before[key])}" if key in before else "was not set"
        say(f"{whose}: {key} {verb} {'removed' if value is None else _plain(value)} ({was})")
