"""``kafkastore acls``: who may do what."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from kafkastore.acl_words import OPERATIONS
from kafkastore.cli.cluster_options import cluster_options
from kafkastore.cli.completion import TOPIC
from kafkastore.cli.confirm import confirm, yes_option
from kafkastore.cli.nouns import Noun
from kafkastore.cli.outcome import fail_if_refused
from kafkastore.cli.output import Column, output_options, printable, say
from kafkastore.cli.principals import PRINCIPAL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kafkastore.acl_words import AclBindingFilter, ResourcePattern
    from kafkastore.admin.acls import AclBinding
    from kafkastore.admin.admin_client import AdminClient
    from kafkastore.cli.cluster_options import ClusterSettings
    from kafkastore.cli.output import Output

OPERATION: Final = click.Choice(list(OPERATIONS.values()), case_sensitive=False)
RESOURCES: Final = {
    "topic": "Topic",
    "group": "Group",
    "transactional_id": "TransactionalId",
    "token": "DelegationToken",
    "token_owner": "User",
}
EVERYWHERE: Final = "*"
LISTED: Final = (
    Column("principal"),
    Column("permission"),
    Column("operation"),
    Column("resource_type"),
    Column("pattern_type"),
    Column("resource"),
    Column("host"),
)


@click.group("acls", cls=Noun)
def command() -> None:
    """Access control lists.

    An ACL lets a principal do an operation on a resource, or denies it.
    """


class Resources(NamedTuple):
    """(Kafka's name of a resource type, name) of each, and how the names are meant."""

    named: tuple[tuple[str, str], ...]
    is_prefix: bool
    is_cluster: bool


def resource_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options that name resources, which a command gets as ``resources``."""

    @click.option("--topic", multiple=True, metavar="NAME", type=TOPIC, help="A topic; '*' is every one.")
    @click.option("--group", multiple=True, metavar="NAME", help="A consumer group.")
    @click.option("--transactional-id", multiple=True, metavar="NAME", help="A transactional id.")
    @click.option("--cluster", "is_cluster", is_flag=True, help="The cluster as a whole.")
    @click.option("--token", multiple=True, metavar="ID", help="A delegation token.")
    @click.option("--token-owner", multiple=True, metavar="TYPE:NAME", help="A user whose tokens others may make.")
    @click.option("--prefix", "is_prefix", is_flag=True, help="The names are the beginnings of names.")
    @wraps(function)
    def with_resources(*arguments: Any, is_prefix: bool, is_cluster: bool, **options: Any) -> Any:
        named = tuple((kind, name) for option, kind in RESOURCES.items() for name in options.pop(option))
        return function(*arguments, resources=Resources(named, is_prefix, is_cluster), **options)

    return with_resources


def entry_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options that say who may, or may not, do what."""

    @click.option("--principal", "principals", type=PRINCIPAL, multiple=True, help="User:alice, or alice.")
    @click.option("--operation", "operations", type=OPERATION, multiple=True, help="May be given again.")
    @click.option("--host", "hosts", metavar="ADDRESS", multiple=True, help="From where.  [default: everywhere]")
    @click.option("--deny", "is_deny", is_flag=True, help="Deny it, whatever other ACLs allow.")
    @click.option("--producer", "is_producer", is_flag=True, help="All that a producer needs.")
    @click.option("--consumer", "is_consumer", is_flag=True, help="All that a consumer needs.")
    @wraps(function)
    def with_entry(
        *arguments: Any,
        principals: tuple[str, ...],
        operations: tuple[str, ...],
        hosts: tuple[str, ...],
        is_deny: bool,
        is_producer: bool,
        is_consumer: bool,
        **options: Any,
    ) -> Any:
        if operations and (is_producer or is_consumer):
            raise click.UsageError("--producer and --consumer say which operations; give them without --operation")
        entries = Entries(principals, operations, hosts, is_deny, is_producer, is_consumer)
        return function(*arguments, entries=entries, **options)

    return with_entry


class Entries(NamedTuple):
    """Who may, or may not, do what: as the options say it."""

    principals: tuple[str, ...]
    operations: tuple[str, ...]
    hosts: tuple[str, ...]
    is_deny: bool
    is_producer: bool
    is_consumer: bool


# ---- the commands
@command.command("list")
@cluster_options
@resource_options
@click.option("--affecting", is_flag=True, help="All ACLs that count for the names: also prefixes and '*'.")
@click.option("--principal", "principals", type=PRINCIPAL, multiple=True, help="Of these alone.")
@output_options
def list_acls(
    cluster: ClusterSettings, resources: Resources, affecting: bool, principals: tuple[str, ...], output: Output
) -> None:
    """List ACLs.

    All, those of the resources named, or those that affect them.
    """
    filters = _filters(resources, is_match=affecting)
    found = cluster.ask(lambda client: _found(client, filters))
    rows = [_row(one) for one in found if not principals or one[1].principal in principals]
    output.rows(LISTED, rows, nothing="no ACLs")


@command.command()
@cluster_options
@resource_options
@entry_options
@click.option("--dry-run", is_flag=True, help="Only say which would be added.")
def add(cluster: ClusterSettings, resources: Resources, entries: Entries, dry_run: bool) -> None:
    """Add ACLs.

    For instance: kafkastore acls add --principal alice --consumer --topic orders --group readers
    """
    from kafkastore.admin.acls import create_acls

    kinds = {kind for kind, _ in resources.named}
    if (entries.is_producer or entries.is_consumer) and "Topic" not in kinds:
        raise click.UsageError("--producer and --consumer need a --topic")
    if entries.is_consumer and "Group" not in kinds:
        raise click.UsageError("--consumer needs a --group")
    wanted = _bindings(resources, entries)

    async def add_them(client: AdminClient) -> tuple[set[AclBinding], dict[AclBinding, Any]]:
        there = set(await _found(client, _filters(resources, is_match=False)))
        missing = [one for one in wanted if one not in there]
        return there, {} if dry_run or not missing else await create_acls(client, missing)

    there, refused = cluster.ask(add_them)
    for one in wanted:
        if one not in refused:
            done = "is there" if one in there else "would be added" if dry_run else "added"
            say(f"{in_words(one)}: {done}")
    fail_if_refused({in_words(one): error for one, error in refused.items()})


@command.command()
@cluster_options
@resource_options
@entry_options
@click.option("--all", "is_all", is_flag=True, help="Every ACL of the cluster, where nothing else is named.")
@click.option("--dry-run", is_flag=True, help="Only say which would be removed.")
@yes_option
def remove(
    cluster: ClusterSettings,
    resources: Resources,
    entries: Entries,
    is_all: bool,
    dry_run: bool,
    is_confirmed: bool,
) -> None:
    """Remove ACLs.

    Those that fit all that is named, after they were shown.
    """
    from kafkastore.admin.acls import delete_acls, filter_of

    is_named = resources.named or resources.is_cluster or entries.principals or entries.operations or entries.hosts
    if not (is_named or is_all):
        raise click.UsageError("name a resource, a principal, an operation or a host, or give --all")
    found = cluster.ask(lambda client: _found(client, _filters(resources, is_match=False)))
    meant = [one for one in found if _fits(one, entries)]
    if not meant:
        click.echo("no ACL fits", err=True)
        return
    if dry_run:
        for one in meant:
            say(f"{in_words(one)}: would be removed")
        return
    if not is_confirmed:
        for one in meant:
            click.echo(in_words(one), err=True)
    confirm(f"Remove {f'these {len(meant)} ACLs' if len(meant) > 1 else 'this ACL'}?", is_confirmed=is_confirmed)
    removed, refused = cluster.ask(lambda client: delete_acls(client, list(map(filter_of, meant))))
    for one in removed:
        say(f"{in_words(one)}: removed")
    fail_if_refused({in_words(one): refused[filter_of(one)] for one in meant if filter_of(one) in refused})


# ---- what the options mean
def _filters(resources: Resources, *, is_match: bool) -> list[AclBindingFilter]:
    """The filters that find the ACLs of the resources, whoever they are for."""
    from kafkastore.acl_words import MATCH
    from kafkastore.admin.acls import EVERY_ACL

    return [
        EVERY_ACL._replace(
            resource_type=one.resource_type, pattern_type=MATCH if is_match else one.pattern_type, name=one.name
        )
        for one in _patterns(resources)
    ] or [EVERY_ACL]


async def _found(client: AdminClient, filters: Iterable[AclBindingFilter]) -> list[AclBinding]:
    from kafkastore.admin.acls import list_acls

    return sorted({binding for one in filters for binding in await list_acls(client, one)})


def _patterns(resources: Resources) -> list[ResourcePattern]:
    from kafkastore.acl_words import CLUSTER, CLUSTER_NAME, LITERAL, PREFIXED, RESOURCE_TYPES, ResourcePattern

    numbers = {name: number for number, name in RESOURCE_TYPES.items()}
    kind = PREFIXED if resources.is_prefix else LITERAL
    found = [ResourcePattern(numbers[of], kind, name) for of, name in resources.named]
    return found + [ResourcePattern(CLUSTER, LITERAL, CLUSTER_NAME)] * resources.is_cluster


def _bindings(resources: Resources, entries: Entries) -> list[AclBinding]:
    """The ACLs to add. Raises click.UsageError."""
    from kafkastore.acl_words import ALL, ALLOW, DENY, RESOURCE_TYPES, SUPPORTED, AccessControlEntry

    patterns = _patterns(resources)
    if not patterns:
        raise click.UsageError("name a resource: --topic, --group, --transactional-id, --cluster, --token")
    if not entries.principals:
        raise click.UsageError("say who: --principal alice")
    if not (entries.operations or entries.is_producer or entries.is_consumer):
        raise click.UsageError("say what: --operation, --producer or --consumer")
    found = []
    for pattern in patterns:
        for operation in _operations(pattern, entries):
            if operation not in (ALL, *SUPPORTED[pattern.resource_type]):
                names = ", ".join(OPERATIONS[one] for one in (ALL, *SUPPORTED[pattern.resource_type]))
                raise click.UsageError(
                    f"{OPERATIONS[operation]} is nothing to do with a {RESOURCE_TYPES[pattern.resource_type]}; "
                    f"there are {names}"
                )
            permission = DENY if entries.is_deny else ALLOW
            found += [
                (pattern, AccessControlEntry(principal, host, operation, permission))
                for principal in entries.principals
                for host in entries.hosts or (EVERYWHERE,)
            ]
    return list(dict.fromkeys(found))


def _operations(pattern: ResourcePattern, entries: Entries) -> list[int]:
    from kafkastore.admin.acls import CONSUMER, IDEMPOTENT, PRODUCER

    numbers = {name: number for number, name in OPERATIONS.items()}
    roles = [PRODUCER, IDEMPOTENT] if entries.is_producer else []
    roles += [CONSUMER] if entries.is_consumer else []
    found = [numbers[name] for name in entries.operations]
    for role in roles:
        found += role.get(pattern.resource_type, ())
    return list(dict.fromkeys(found))


def _fits(binding: AclBinding, entries: Entries) -> bool:
    """Whether all that is named is so in the ACL."""
    from kafkastore.acl_words import DENY

    pattern, entry = binding
    has_operations = entries.operations or entries.is_producer or entries.is_consumer
    return (
        (not entries.principals or entry.principal in entries.principals)
        and (not entries.hosts or entry.host in entries.hosts)
        and (not has_operations or entry.operation in _operations(pattern, entries))
        and (not entries.is_deny or entry.permission == DENY)
    )


def _row(binding: AclBinding) -> tuple[str, ...]:
    from kafkastore.acl_words import PATTERN_TYPES, PERMISSIONS, RESOURCE_TYPES

    pattern, entry = binding
    return (
        entry.principal,
        PERMISSIONS.get(entry.permission, "Unknown"),
        OPERATIONS.get(entry.operation, "Unknown"),
        RESOURCE_TYPES.get(pattern.resource_type, "Unknown"),
        PATTERN_TYPES.get(pattern.pattern_type, "UNKNOWN").lower(),
        pattern.name,
        entry.host,
    )


def in_words(binding: AclBinding) -> str:
    """``User:alice may Read Topic orders``."""
    principal, permission, operation, kind, pattern_type, name, host = _row(binding)
    may = "may not" if permission == "Deny" else "may"
    prefix = " with names that begin with" if pattern_type == "prefixed" else ""
    where = "" if host == EVERYWHERE else f" from {host}"
    return printable(f"{principal} {may} {operation} {kind}{prefix} {name}{where}")
