"""``kafkastore configs``: what is configured, where a value comes from, and setting it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from kafkastore.cli.cluster_options import cluster_options, key_values
from kafkastore.cli.completion import CONFIG_KEY, CONFIG_NAME
from kafkastore.cli.configs_words import KINDS, name_of, resource_of, source_in_words
from kafkastore.cli.nouns import Noun
from kafkastore.cli.outcome import fail_if_refused
from kafkastore.cli.output import Column, output_options, say, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkastore.admin.admin_client import AdminClient, KafkaError
    from kafkastore.admin.configs import ConfigChange, ConfigEntry, ConfigResource
    from kafkastore.cli.cluster_options import ClusterSettings
    from kafkastore.cli.output import Output


class _Kind(click.Choice[str]):
    """Kafka's tools say the kinds in the plural."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value.removesuffix("s") in QUOTA_KINDS:
            self.fail(f"{value} has quotas, see kafkastore quotas, and passwords, see kafkastore users", param, ctx)
        return super().convert(value if value in KINDS else value.removesuffix("s"), param, ctx)


KIND: Final = _Kind(list(KINDS))
QUOTA_KINDS: Final = ("user", "client", "ip")
HIDDEN: Final = "(secret)"


@click.group("configs", cls=Noun)
def command() -> None:
    """Configuration of topics, brokers, groups and clients.

    KIND is topic, broker, broker-logger, group or client-metrics; of a broker NAME is its node id, or "default" for
    what counts for all brokers.
    """


SET_KEYS = (Column("kind"), Column("name"), Column("key"), Column("value"))
ENTRIES = (
    Column("name"),
    Column("key"),
    Column("value"),
    Column("source"),
    Column("type"),
    Column("read_only"),
    Column("sensitive"),
)
PLACES = (Column("source"), Column("key"), Column("value"), Column("in_effect"))


@command.command("list")
@cluster_options
@click.argument("kinds", metavar="[KIND]...", nargs=-1, type=KIND)
@output_options
def list_configs(cluster: ClusterSettings, kinds: tuple[str, ...], output: Output) -> None:
    """List what is set while brokers run, for each resource.

    Of all kinds but loggers, or of those named.
    """
    rows, refused = cluster.ask(
        lambda client: _set_keys(client, kinds or ("topic", "broker", "client-metrics", "group"))
    )
    output.rows(SET_KEYS, rows, nothing="nothing is set while brokers run")
    fail_if_refused(refused)


async def _set_keys(client: AdminClient, kinds: Sequence[str]) -> tuple[list[tuple[Any, ...]], dict[str, KafkaError]]:
    from kafkastore.admin.configs import BROKER, BROKER_DEFAULT, ConfigResource, describe_configs, list_config_resources
    from kafkastore.interbroker.cluster import UnsupportedApiError

    rows, refused = [], {}
    for kind in kinds:
        try:
            names = await list_config_resources(client, KINDS[kind])
        except UnsupportedApiError:  # older brokers have no such configurations, or do not list them
            continue
        resources = [ConfigResource(KINDS[kind], name) for name in names]
        resources += [BROKER_DEFAULT] if KINDS[kind] == BROKER else []
        for resource, entries in (await describe_configs(client, resources, has_synonyms=True)).items():
            if not isinstance(entries, tuple):
                refused[f"{kind} {name_of(resource)}"] = entries
                continue
            rows += [(kind, name_of(resource), one.name, _value(one)) for one in entries if _is_own(resource, one)]
    return rows, refused


def _is_own(resource: ConfigResource, entry: ConfigEntry) -> bool:
    return entry.source == resource.own_source


def _value(entry: ConfigEntry) -> Any:
    return HIDDEN if entry.value is None and entry.is_sensitive else entry.value


@command.command()
@cluster_options
@click.argument("kind", metavar="KIND", type=KIND)
@click.argument("names", metavar="NAME...", nargs=-1, required=True, type=CONFIG_NAME)
@click.option(
    "-k", "--key", "keys", metavar="KEY", multiple=True, type=CONFIG_KEY, help="These keys alone; may be given again."
)
@click.option("--all", "is_all", is_flag=True, help="Also what has its default value.")
@output_options
def describe(
    cluster: ClusterSettings,
    kind: str,
    names: tuple[str, ...],
    keys: tuple[str, ...],
    is_all: bool,
    output: Output,
) -> None:
    """Show what is in effect for resources.

    What differs from the default, or the keys named, or all.
    """
    from kafkastore.admin.configs import describe_configs

    resources = [resource_of(kind, name) for name in names]
    found = cluster.ask(
        lambda client: describe_configs(client, resources, keys or None, has_synonyms=True, has_documentation=True)
    )
    rows = [
        (
            name_of(resource),
            one.name,
            _value(one),
            source_in_words(one.source),
            one.type,
            one.is_read_only,
            one.is_sensitive,
        )
        for resource, entries in found.items()
        if isinstance(entries, tuple)
        for one in sorted(entries)
        if is_all or keys or not one.is_default
    ]
    refused = {name_of(one): entries for one, entries in found.items() if not isinstance(entries, tuple)}
    output.rows(ENTRIES, rows, "" if refused else "nothing differs from the default; --all shows every key")
    fail_if_refused(refused)


@command.command()
@cluster_options
@click.argument("kind", metavar="KIND", type=KIND)
@click.argument("name", metavar="NAME", type=CONFIG_NAME)
@click.argument("key", metavar="KEY", type=CONFIG_KEY)
def get(cluster: ClusterSettings, kind: str, name: str, key: str) -> None:
    """Print one value, and nothing else."""
    entry = _entry(cluster, resource_of(kind, name), key)
    if entry.is_sensitive:
        raise click.UsageError(f"{key} is a secret, which brokers do not tell")
    click.echo(entry.value or "")


@command.command()
@cluster_options
@click.argument("kind", metavar="KIND", type=KIND)
@click.argument("name", metavar="NAME", type=CONFIG_NAME)
@click.argument("key", metavar="KEY", type=CONFIG_KEY)
@output_options
def explain(cluster: ClusterSettings, kind: str, name: str, key: str, output: Output) -> None:
    """Say where a value comes from.

    Every place that sets it, the one in effect first, and what the key means.
    """
    entry = _entry(cluster, resource_of(kind, name), key)
    rows = [
        (source_in_words(one.source), one.name, HIDDEN if entry.is_sensitive else one.value, at == 0)
        for at, one in enumerate(entry.synonyms)
    ] or [(source_in_words(entry.source), entry.name, _value(entry), True)]
    if not output.is_table:
        places = [dict(zip([column.name for column in PLACES], row, strict=True)) for row in rows]
        about = {"documentation": entry.documentation, "read_only": entry.is_read_only, "type": entry.type}
        output.objects([{"key": entry.name, "value": _value(entry), **about, "places": places}])
        return
    output.rows(PLACES, rows)
    if entry.is_read_only:
        click.echo("\nIt cannot be changed while brokers run.")
    if entry.documentation:
        click.echo(f"\n{click.wrap_text(shown(entry.documentation), 100)}")


def _entry(cluster: ClusterSettings, resource: ConfigResource, key: str) -> ConfigEntry:
    """Raises KafkaError, click.UsageError."""
    from kafkastore.admin.configs import describe_configs

    found = cluster.ask(
        lambda client: describe_configs(client, [resource], [key], has_synonyms=True, has_documentation=True)
    )[resource]
    if not isinstance(found, tuple):
        raise found
    for one in found:
        if one.name == key:
            return one
    raise click.UsageError(f"{key} is no key that is set or has a default there")


@command.command("set")
@cluster_options
@click.argument("kind", metavar="KIND", type=KIND)
@click.argument("name", metavar="NAME", type=CONFIG_NAME)
@click.argument("pairs", metavar="KEY=VALUE...", nargs=-1, required=True, type=CONFIG_KEY)
@click.option("--append", "is_append", is_flag=True, help="Add VALUE to the key's list.")
@click.option("--subtract", "is_subtract", is_flag=True, help="Take VALUE out of the key's list.")
@click.option("--dry-run", is_flag=True, help="Only ask whether it would be taken.")
def set_(
    cluster: ClusterSettings,
    kind: str,
    name: str,
    pairs: tuple[str, ...],
    is_append: bool,
    is_subtract: bool,
    dry_run: bool,
) -> None:
    """Set keys of one resource; the others stay."""
    from kafkastore.admin.configs import APPEND, SET, SUBTRACT, ConfigChange

    if is_append and is_subtract:
        raise click.UsageError("--append and --subtract: give one of them")
    operation = APPEND if is_append else SUBTRACT if is_subtract else SET
    changes = [ConfigChange(key, value, operation) for key, value in key_values("", pairs).items()]
    _change(cluster, resource_of(kind, name), changes, dry_run=dry_run)


@command.command()
@cluster_options
@click.argument("kind", metavar="KIND", type=KIND)
@click.argument("name", metavar="NAME", type=CONFIG_NAME)
@click.argument("keys", metavar="KEY...", nargs=-1, required=True, type=CONFIG_KEY)
@click.option("--dry-run", is_flag=True, help="Only ask whether it would be taken.")
def unset(cluster: ClusterSettings, kind: str, name: str, keys: tuple[str, ...], dry_run: bool) -> None:
    """Remove keys of one resource.

    What counts without them is in effect again.
    """
    from kafkastore.admin.configs import DELETE, ConfigChange

    changes = [ConfigChange(key, "", DELETE) for key in keys]
    _change(cluster, resource_of(kind, name), changes, dry_run=dry_run)


def _change(cluster: ClusterSettings, resource: ConfigResource, changes: list[ConfigChange], *, dry_run: bool) -> None:
    """Changes keys, all or none, and says what each was before."""
    from kafkastore.admin.configs import DELETE, SET, alter_configs, describe_configs

    async def change(client: AdminClient) -> tuple[dict[str, ConfigEntry], KafkaError | None]:
        keys = [one.name for one in changes]
        before = (await describe_configs(client, [resource], keys, has_synonyms=True)).get(resource, ())
        refused = await alter_configs(client, {resource: changes}, validate_only=dry_run)
        known = {one.name: one for one in before} if isinstance(before, tuple) else {}
        return known, refused.get(resource)

    before, refused = cluster.ask(change)
    if refused is not None:
        fail_if_refused({f"{name_of(resource)}": refused})
    verb = "would be" if dry_run else "is"
    for one in changes:
        entry = before.get(one.name)
        is_set = entry is not None and _is_own(resource, entry)
        was = f" (was {shown(_value(entry))})" if entry is not None and is_set else " (was not set)"
        if one.operation == DELETE:
            what = f"{verb} unset"
        elif one.operation == SET:
            secret = entry is not None and entry.is_sensitive
            what = f"{verb} {HIDDEN if secret else shown(one.value)}"
        else:
            what = f"{verb} changed by {shown(one.value)}"
        say(f"{name_of(resource)}: {one.name} {what}{was}")
