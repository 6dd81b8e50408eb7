"""``kafka-features``: the features of a cluster, shown and set; which release has which."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from kafkastore.cli.kafka.flags import FlagsError, int32
from kafkastore.cli.kafka.run import ask
from kafkastore.cli.kafka.subcommands import Subcommands
from kafkastore.errors import KafkastoreError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Sequence

    from kafkastore.admin.admin_client import KafkaError

SHORT: Final = 1 << 15


class _Flags(Subcommands):
    def print_usage_and_why(self, why: str) -> None:
        sys.stderr.write(f"Command line error: {why}. Type --help for help.\n")


def _flags() -> _Flags:
    parser = _Flags("kafka-features", description="This tool manages feature flags in Kafka.")
    servers = parser.add_mutually_exclusive_group()
    servers.add_argument("--bootstrap-server", metavar="HOST:PORT,...", help="Brokers of the cluster.")
    servers.add_argument("--bootstrap-controller", metavar="HOST:PORT,...", help="Controllers of Kafka's quorum.")
    parser.add_argument("--command-config", metavar="FILE", help="A client.properties.")
    commands = parser.add_subparsers(dest="command", required=True)
    describe = commands.add_parser("describe", help="The features of a broker and of the cluster.")
    describe.add_argument("--node-id", type=int32, help="The broker to ask; any without.")
    for name in ("upgrade", "downgrade"):
        one = commands.add_parser(name, help=f"{name.capitalize()} features.")
        one.add_argument("--metadata", metavar="VERSION", help="The metadata's version, such as 4.3-IV0 (deprecated).")
        one.add_argument("--release-version", metavar="VERSION", help="The release whose levels all features get.")
        one.add_argument("--feature", action="append", metavar="FEATURE=LEVEL", help="May be given again.")
        if name == "downgrade":
            one.add_argument("--unsafe", action="store_true", help="Even if metadata may be lost.")
        one.add_argument("--dry-run", action="store_true", help="Only ask whether it would be done.")
    disable = commands.add_parser("disable", help="Downgrade features to level 0.")
    disable.add_argument("--feature", action="append", metavar="FEATURE", help="May be given again.")
    disable.add_argument("--unsafe", action="store_true", help="Even if metadata may be lost.")
    disable.add_argument("--dry-run", action="store_true", help="Only ask whether it would be done.")
    mapping = commands.add_parser("version-mapping", help="The levels of all features in a release.")
    mapping.add_argument("--release-version", metavar="VERSION")
    needs = commands.add_parser("feature-dependencies", help="What a level of a feature needs.")
    needs.add_argument("--feature", action="append", required=True, metavar="FEATURE=LEVEL", help="May be given again.")
    return parser


FLAGS: Final = _flags()


def main(arguments: Sequence[str]) -> int:
    given = FLAGS.read(arguments)
    if given is None:
        return 0
    if given.command == "version-mapping":
        sys.stdout.write(version_mapping(given.release_version))
    elif given.command == "feature-dependencies":
        for name, level in map(name_and_level, given.feature):
            sys.stdout.write(dependencies(name, level, f"No feature:{name} with feature level {level}"))
    elif given.bootstrap_server is None and given.bootstrap_controller is None:
        raise FlagsError("You must specify either --bootstrap-controller or --bootstrap-server.")
    elif given.command == "describe":
        _describe(given)
    else:
        _update(given)
    return 0


def version_mapping(release: str | None) -> str:
    """The levels of a release, a line each. Raises KafkastoreError."""
    from kafkastore.admin import metadata_versions as versions

    name = versions.LATEST if release is None else release
    level = _metadata_level(name)
    lines = [f"{versions.METADATA_FEATURE}={level} ({name})"]
    lines += [f"{feature}={of_feature}" for feature, of_feature in versions.default_levels(level).items()]
    return "".join(f"{line}\n" for line in lines)


def dependencies(feature: str, level: int, unknown_level: str) -> str:
    """What a level needs, as lines. Raises KafkastoreError, of ``unknown_level`` where there is none such."""
    from kafkastore.admin import metadata_versions as versions

    if feature == versions.METADATA_FEATURE:
        name = versions.name_of(level)
        if name is None:
            raise KafkastoreError(f"Unknown metadata.version {level}")
        return f"{feature}={level} ({name}) has no dependencies.\n"
    if feature not in versions.DEFAULTS:
        raise KafkastoreError(f"Unknown feature: {feature}")
    if not 0 <= level <= versions.highest_level(feature):
        raise KafkastoreError(unknown_level)
    needed = versions.DEPENDENCIES.get((feature, level))
    if needed is None:
        return f"{feature}={level} has no dependencies.\n"
    return f"{feature}={level} requires:\n    {needed[0]}={needed[1]} ({versions.name_of(needed[1])})\n"


def name_and_level(text: str) -> tuple[str, int]:
    """FEATURE=LEVEL. Raises KafkastoreError."""
    name, equals, level = (part.strip() for part in text.partition("="))
    if not equals:
        raise KafkastoreError(f"Can't parse feature=level string {text}: equals sign not found.")
    try:
        number = int(level)
    except ValueError:
        number = SHORT
    if not -SHORT <= number < SHORT:
        raise KafkastoreError(f"Can't parse feature=level string {text}: unable to parse {level} as a short.")
    return name, number


def _metadata_level(name: str) -> int:
    from kafkastore.admin import metadata_versions as versions

    level = versions.level_of(name)
    if level is None:
        raise release_error(name)
    return level


def release_error(name: str, *, is_stable: bool = False) -> KafkastoreError:
    """That there is no such release; ``is_stable``: only those that are out count."""
    from kafkastore.admin import metadata_versions as versions

    last = versions.NAMES.index(versions.LATEST) + 1 if is_stable else len(versions.NAMES)
    known = ", ".join(versions.NAMES[:last])
    return KafkastoreError(f"Unknown metadata.version '{name}'. Supported metadata.version are: {known}")


def _describe(given: Namespace) -> None:
    from kafkastore.admin import features
    from kafkastore.admin.metadata_versions import shown_level

    found = ask(
        given.bootstrap_server,
        given.command_config,
        lambda client: features.describe_features(client, given.node_id),
        bootstrap_controller=given.bootstrap_controller,
    )
    epoch = "-" if found.epoch is None else found.epoch
    for name, (low, high) in sorted(found.supported.items()):
        level = shown_level(name, found.finalized.get(name, 0))
        sys.stdout.write(
            f"Feature: {name:<42}SupportedMinVersion: {shown_level(name, low):<17}"
            f"SupportedMaxVersion: {shown_level(name, high):<17}FinalizedVersionLevel: {level:<17}Epoch: {epoch}\n"
        )


def _update(given: Namespace) -> None:
    from kafkastore.admin import features

    levels = dict.fromkeys(_once(given.feature or ()), 0) if given.command == "disable" else _levels(given)
    if not levels:
        raise KafkastoreError(f"You must specify at least one feature to {given.command}")
    kind = features.UPGRADE
    if given.command != "upgrade":
        kind = features.UNSAFE_DOWNGRADE if given.unsafe else features.SAFE_DOWNGRADE
    refused = ask(
        given.bootstrap_server,
        given.command_config,
        lambda client: features.update_features(client, levels, kind, validate_only=given.dry_run),
        bootstrap_controller=given.bootstrap_controller,
    )
    for name in sorted(levels):
        sys.stdout.write(f"{_outcome(given, name, levels[name], refused.get(name))}\n")
    if refused:
        raise KafkastoreError(f"{len(refused)} out of {len(levels)} operation(s) failed.")


def _outcome(given: Namespace, name: str, level: int, refusal: KafkaError | None) -> str:
    if refusal is None:
        done = "disabled" if given.command == "disable" else f"{given.command}d to {level}"
        return f"{name} {'can be' if given.dry_run else 'was'} {done}."
    what = f"disable {name}" if given.command == "disable" else f"{given.command} {name} to {level}"
    return f"{'Can' if given.dry_run else 'Could'} not {what}. {refusal.client_message}"


def _levels(given: Namespace) -> dict[str, int]:
    """The levels that an upgrade or a downgrade asks for. Raises KafkastoreError."""
    from kafkastore.admin.metadata_versions import METADATA_FEATURE, default_levels

    if given.release_version is not None:
        if given.metadata is not None or given.feature is not None:
            raise KafkastoreError("Can not specify `release-version` with other feature flags.")
        metadata_level = _metadata_level(given.release_version)
        others = default_levels(metadata_level)
        if given.command == "upgrade":  # nothing is upgraded to 0
            others = {name: level for name, level in others.items() if level}
        return {METADATA_FEATURE: metadata_level, **others}
    levels = {}
    if given.metadata is not None:
        sys.stdout.write(" `metadata` flag is deprecated and may be removed in a future release.\n")
        levels[METADATA_FEATURE] = _metadata_level(given.metadata)
    pairs = list(map(name_and_level, given.feature or ()))
    _once([*levels, *(name for name, _ in pairs)])
    return levels | dict(pairs)


def _once(names: Iterable[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        if name in found:
            raise KafkastoreError(f"Feature {name} was specified more than once.")
        found.append(name)
    return found
