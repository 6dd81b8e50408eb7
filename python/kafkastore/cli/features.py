"""``kafkastore features``: what a cluster has agreed on, what its brokers could, and the APIs that they serve."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import click

from kafkastore.cli.cluster_options import cluster_options, key_values
from kafkastore.cli.nouns import Noun
from kafkastore.cli.outcome import fail_if_refused
from kafkastore.cli.output import Column, output_options, say

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkastore.cli.cluster_options import ClusterSettings
    from kafkastore.cli.output import Output

LEVEL: Final = re.compile(r"0*\d{1,4}", re.ASCII)
FEATURES = (
    Column("feature"),
    Column("level", is_number=True),
    Column("lowest", is_number=True),
    Column("highest", is_number=True),
    Column("version"),
)
APIS = (
    Column("broker", is_number=True),
    Column("key", is_number=True),
    Column("api"),
    Column("lowest", is_number=True),
    Column("highest", is_number=True),
    Column("usable", is_number=True),
)


@click.group("features", cls=Noun)
def command() -> None:
    """Features and API versions of brokers."""


@command.command("list")
@cluster_options
@click.option("--broker", metavar="ID", type=int, help="What this one could.  [default: any]")
@output_options
def list_features(cluster: ClusterSettings, broker: int | None, output: Output) -> None:
    """List features: the level in force, and those that a broker could have."""
    from kafkastore.admin.features import describe_features
    from kafkastore.admin.metadata_versions import METADATA_FEATURE, shown_level

    found = cluster.ask(lambda client: describe_features(client, broker))
    rows = []
    for name in sorted(found.supported.keys() | found.finalized.keys()):
        level = found.finalized.get(name, 0)
        low, high = found.supported.get(name, (None, None))
        rows.append((name, level, low, high, shown_level(name, level) if name == METADATA_FEATURE else None))
    output.rows(FEATURES, rows)


def _change_options(function: Callable[..., Any]) -> Callable[..., Any]:
    pairs = click.argument("pairs", metavar="[FEATURE=LEVEL]...", nargs=-1)
    release = click.option("--release", metavar="VERSION", help="All features as a new cluster of it has them: 4.4.")
    dry_run = click.option("--dry-run", is_flag=True, help="Only ask whether it would be done.")
    return cluster_options(pairs(release(dry_run(function))))


@command.command()
@_change_options
def upgrade(cluster: ClusterSettings, pairs: tuple[str, ...], release: str | None, dry_run: bool) -> None:
    """Raise the levels of features."""
    from kafkastore.admin.features import UPGRADE

    _change(cluster, _levels(pairs, release, skips_zero=True), UPGRADE, dry_run)


@command.command()
@_change_options
@click.option("--unsafe", is_flag=True, help="Even if metadata may be lost.")
def downgrade(
    cluster: ClusterSettings, pairs: tuple[str, ...], release: str | None, dry_run: bool, unsafe: bool
) -> None:
    """Lower the levels of features; level 0 turns one off."""
    from kafkastore.admin.features import SAFE_DOWNGRADE, UNSAFE_DOWNGRADE

    kind = UNSAFE_DOWNGRADE if unsafe else SAFE_DOWNGRADE
    _change(cluster, _levels(pairs, release, skips_zero=False), kind, dry_run)


def _levels(pairs: tuple[str, ...], release: str | None, *, skips_zero: bool) -> dict[str, int]:
    """Raises click.UsageError."""
    from kafkastore.admin.metadata_versions import METADATA_FEATURE, NAMES, default_levels, level_of

    levels = {}
    if release is not None:
        level = level_of(release)
        if level is None:
            raise click.UsageError(f"--release: there is no metadata version {release}; there are {', '.join(NAMES)}")
        others = {name: one for name, one in default_levels(level).items() if one or not skips_zero}
        levels = {METADATA_FEATURE: level, **others}
    for name, text in key_values("", pairs).items():
        named = level_of(text) if name == METADATA_FEATURE else None
        if named is None and LEVEL.fullmatch(text) is None:
            raise click.UsageError(f"{name}={text} has no number as its level; features list has the levels")
        levels[name] = int(text) if named is None else named
    if not levels:
        raise click.UsageError("name features as FEATURE=LEVEL, or a --release")
    return levels


def _change(cluster: ClusterSettings, levels: dict[str, int], kind: int, dry_run: bool) -> None:
    from kafkastore.admin.features import describe_features, update_features

    before = cluster.ask(describe_features).finalized
    refused = cluster.ask(lambda client: update_features(client, levels, kind, validate_only=dry_run))
    for name, level in sorted(levels.items()):
        if name not in refused:
            say(f"{name}: {'would go' if dry_run else 'went'} from {before.get(name, 0)} to {level}")
    fail_if_refused({name: error.client_message for name, error in refused.items()})


@command.command()
@cluster_options
@click.argument("apis", metavar="[API]...", nargs=-1)
@click.option("--broker", "brokers", metavar="ID", type=int, multiple=True, help="May be given again.")
@output_options
def versions(cluster: ClusterSettings, apis: tuple[str, ...], brokers: tuple[int, ...], output: Output) -> None:
    """Show which versions of which APIs each broker serves, and which Kafka 4.4's clients would use."""
    from kafkastore.admin.brokers import served_apis
    from kafkastore.errors import KafkastoreError

    found = cluster.ask(served_apis)
    wanted = {one.lower() for one in apis}
    rows = [
        (node, one.key, one.name, *(one.served or (None, None)), one.usable)
        for node, served in found.items()
        if not isinstance(served, KafkastoreError) and (not brokers or node in brokers)
        for one in served
        if (one.name or str(one.key)).lower() in wanted or (not wanted and one.served is not None)
    ]
    output.rows(APIS, rows)
    silent = {str(node): served for node, served in found.items() if isinstance(served, KafkastoreError)}
    fail_if_refused({f"broker {node}": error.client_message for node, error in silent.items()})
