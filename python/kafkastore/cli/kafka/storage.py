"""``kafka-storage``: gives log directories the id of a cluster, and says what they have.

A broker of ours needs no such step: it makes its directories at its first start. After it, the broker starts with the
id that was given here, and with no other.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from kafkastore.cli.kafka.features import dependencies, release_error, version_mapping
from kafkastore.cli.kafka.java_order import hash_order
from kafkastore.cli.kafka.subcommands import Subcommands
from kafkastore.errors import KafkastoreError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from kafkastore.config import BrokerConfig

META: Final = "meta.properties"
CLUSTER_ID, NODE_ID, DIRECTORY_ID, VERSION = "cluster.id", "node.id", "directory.id", "version"
VOTERS: Final = "controller.quorum.voters"
ROLES: Final = "process.roles"


def _flags() -> Subcommands:
    parser = Subcommands("kafka-storage", description="The Kafka storage tool.")
    commands = parser.add_subparsers(dest="command", required=True)
    info = commands.add_parser("info", help="What the log directories have.")
    form = commands.add_parser("format", help="Give the log directories the id of a cluster.")
    for one in (info, form):
        one.add_argument("--config", "-c", required=True, metavar="FILE", help="The server.properties.")
    form.add_argument("--cluster-id", "-t", required=True, metavar="ID", help="See random-uuid.")
    form.add_argument("--add-scram", "-S", action="append", metavar="MECHANISM=[name=...]", help="Refused: see there.")
    form.add_argument("--ignore-formatted", "-g", action="store_true", help="Leave directories that have an id.")
    form.add_argument("--release-version", "-r", metavar="VERSION", help="Checked; a broker of ours has its own.")
    form.add_argument("--feature", "-f", action="append", metavar="FEATURE=LEVEL", help="Checked, as above.")
    quorum = form.add_mutually_exclusive_group()
    quorum.add_argument("--standalone", "-s", action="store_true", help="This node is the only controller.")
    quorum.add_argument("--no-initial-controllers", "-N", action="store_true", help="It gets to know them.")
    quorum.add_argument("--initial-controllers", "-I", metavar="ID@HOST:PORT:DIRECTORY", help="This node alone.")
    mapping = commands.add_parser("version-mapping", help="The levels of all features in a release.")
    mapping.add_argument("--release-version", "-r", metavar="VERSION")
    needs = commands.add_parser("feature-dependencies", help="What a level of a feature needs.")
    needs.add_argument("--feature", "-f", action="append", required=True, metavar="FEATURE=LEVEL")
    commands.add_parser("random-uuid", help="An id for a new cluster.")
    return parser


FLAGS: Final = _flags()


def main(arguments: Sequence[str]) -> int:
    given = FLAGS.read(arguments)
    if given is None:
        return 0
    if given.command == "random-uuid":
        from kafkastore.metadata.nodes import new_id, topic_id_text

        sys.stdout.write(f"{topic_id_text(new_id())}\n")
    elif given.command == "version-mapping":
        sys.stdout.write(version_mapping(given.release_version))
    elif given.command == "feature-dependencies":
        sys.stdout.write("".join(map(_dependencies, given.feature)))
    elif given.command == "info":
        return _info(given)
    else:
        _format(given)
    return 0


def _dependencies(text: str) -> str:
    feature, equals, level = text.partition("=")
    if not equals:
        raise KafkastoreError(
            f"Invalid feature format: {text}. Expected format: 'feature=version' (e.g. 'group.version=1')"
        )
    if not level.isdecimal():
        raise KafkastoreError(f"Invalid version format: {level} for feature {feature}")
    return dependencies(feature, int(level), f"Feature level {level} is not supported for feature {feature}")


# ---- info
def _info(given: Namespace) -> int:
    """Exit status 1 where there is a problem."""
    from pathlib import Path

    found: list[str] = []
    problems: list[str] = []
    metas: list[dict[str, str]] = []
    for directory in sorted(_config(given).log_dirs):
        if not Path(directory).is_dir():
            problems.append(f"{directory} {'is not a directory' if Path(directory).exists() else 'does not exist'}")
            continue
        found.append(directory)
        meta = _meta(directory)
        if meta is None:
            problems.append(f"{directory} is not formatted.")
            continue
        metas.append(meta)
        if metas[0].get(CLUSTER_ID) != meta.get(CLUSTER_ID):
            problems.append("Mismatched cluster IDs between storage directories.")
        elif metas[0].get(NODE_ID) != meta.get(NODE_ID):
            problems.append("Mismatched node IDs between storage directories.")
    _print_block("Found log director", found, "y:", "ies:")
    if metas:
        sys.stdout.write(
            f"Found metadata: {{{', '.join(f'{key}={value}' for key, value in sorted(metas[0].items()))}}}\n\n"
        )
    _print_block("Found problem", problems, ":", "s:")
    return 1 if problems else 0


def _print_block(head: str, lines: list[str], one: str, several: str) -> None:
    if lines:
        sys.stdout.write(f"{head}{one if len(lines) == 1 else several}\n")
        sys.stdout.write("".join(f"  {line}\n" for line in lines) + "\n")


# ---- format
def _format(given: Namespace) -> None:
    config = _config(given)
    release = _check_features(given)
    kind, directory_id = _quorum_part(given, config)
    directories = sorted(config.log_dirs)
    metas = {directory: meta for directory in directories if (meta := _meta(directory)) is not None}
    for directory, meta in metas.items():
        _check_meta(directory, meta, given.cluster_id, config.node_id)
    if metas and not given.ignore_formatted:
        raise KafkastoreError(
            f"Log directory {next(iter(metas))} is already formatted. Use --ignore-formatted to ignore this directory "
            "and format the others."
        )
    usable = [directory for directory in directories if _is_usable(directory)]
    if not usable:
        raise KafkastoreError("No available log directories to format.")
    fresh = [directory for directory in usable if directory not in metas]
    if not fresh:
        sys.stdout.write("All of the log directories are already formatted.\n")
    for directory in hash_order(fresh):
        is_of_metadata = directory == config.log_dirs[0]
        named = f"{kind} directory" if is_of_metadata else "data directory"
        sys.stdout.write(f"Formatting {named} {directory} with metadata.version {release}.\n")
        _write_meta(directory, given.cluster_id, config.node_id, directory_id if is_of_metadata else None)


def _config(given: Namespace) -> BrokerConfig:
    from kafkastore.config import BrokerConfig

    return BrokerConfig.load(given.config, is_start=False)


def _check_features(given: Namespace) -> str:
    """The release that is asked for. Raises KafkastoreError for one, and for features, that are not."""
    from kafkastore.admin import metadata_versions as versions
    from kafkastore.cli.kafka.features import name_and_level

    release = given.release_version
    pairs = dict(map(name_and_level, given.feature or ()))
    for feature, level in pairs.items():
        if feature == versions.METADATA_FEATURE:
            if release is not None:
                raise KafkastoreError(
                    "Use --release-version instead of --feature metadata.version=X to avoid ambiguity."
                )
            release = versions.name_of(level) or str(level)
        elif feature not in versions.DEFAULTS:
            known = ", ".join(sorted(versions.DEFAULTS))
            raise KafkastoreError(f"Unsupported feature: {feature}. Supported features are: {known}")
        elif not 0 <= level <= versions.highest_level(feature):
            raise KafkastoreError(f"No feature:{feature} with feature level {level}")
    if given.add_scram:
        name = next((text for text in given.add_scram if "=" not in text), None)
        if name is not None:
            raise KafkastoreError(f"Failed to find equals sign in SCRAM argument '{name}'")
        raise KafkastoreError(
            "--add-scram: users are made by a broker that runs, with kafka-configs --alter --entity-type users, or "
            "before its first start by kafkastore security init; leave --add-scram out"
        )
    name = release or versions.LATEST
    asked, latest = versions.level_of(name), versions.level_of(versions.LATEST)
    if asked is None or latest is None or asked > latest:
        raise release_error(name, is_stable=True)
    return versions.name_of(asked) or name


def _quorum_part(given: Namespace, config: BrokerConfig) -> tuple[str, str | None]:
    """What Kafka calls the directory of the metadata, and its id where that is given. Raises KafkastoreError."""
    is_controller = "controller" in (config.get(ROLES) or ())
    voters = config.get(VOTERS)
    is_dynamic = given.standalone or given.initial_controllers is not None
    if given.standalone and not is_controller:
        raise KafkastoreError("You can only use --standalone on a controller.")
    if voters and is_dynamic:
        raise KafkastoreError(
            "You cannot specify controller.quorum.voters and format the node with --initial-controllers or "
            "--standalone. If you want to use dynamic quorum, please remove controller.quorum.voters and specify "
            "controller.quorum.bootstrap.servers instead."
        )
    if is_controller and not voters and not is_dynamic and not given.no_initial_controllers:
        raise KafkastoreError(
            "Because controller.quorum.voters is not set on this controller, you must specify one of the following: "
            "--standalone, --initial-controllers, or --no-initial-controllers."
        )
    if given.initial_controllers is None:
        return ("dynamic metadata voter" if given.standalone else "metadata"), None
    controllers = given.initial_controllers.split(",")
    node, at, rest = controllers[0].partition("@")
    if not at or rest.count(":") < 2:
        raise KafkastoreError(
            f"--initial-controllers {given.initial_controllers} is no id@host:port:directory; see kafka-storage format "
            "--help"
        )
    if len(controllers) > 1 or node != str(config.node_id):
        raise KafkastoreError(
            f"--initial-controllers names other controllers than this node, whose node.id is {config.node_id}: this "
            "version has no quorum of controllers; give the brokers of a cluster one metadata store, "
            "zookeeper.connect or kafkastore.metadata.path"
        )
    return "dynamic metadata voter", rest.rpartition(":")[2]


def _check_meta(directory: str, meta: dict[str, str], cluster_id: str, node_id: int) -> None:
    if meta.get(CLUSTER_ID) != cluster_id:
        raise KafkastoreError(
            f"Invalid cluster.id in: {directory}/{META}. Expected {cluster_id}, but read {meta.get(CLUSTER_ID)}"
        )
    if meta.get(NODE_ID, str(node_id)) != str(node_id):
        raise KafkastoreError(
            f"Stored node id {meta[NODE_ID]} doesn't match previous node id {node_id} in {directory}/{META}. If you "
            "moved your data, make sure your configured node id matches. If you intend to create a new node, you "
            "should remove all data in your data directories."
        )


def _is_usable(directory: str) -> bool:
    from pathlib import Path

    if Path(directory).exists() and not Path(directory).is_dir():
        sys.stdout.write(f"I/O error trying to read log directory {directory}. Ignoring...\n")
        return False
    return True


def _meta(directory: str) -> dict[str, str] | None:
    """What a directory says of itself; None for one that is not there, or has not been used."""
    from kafkastore.config.properties import read_properties

    try:
        found = read_properties(f"{directory}/{META}")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise KafkastoreError(f"Error loading {directory}/{META}: {error}") from None
    return found or None


def _write_meta(directory: str, cluster_id: str, node_id: int, directory_id: str | None) -> None:
    """Makes the directory and its file, which are on the disk when this returns. Raises KafkastoreError."""
    import os

    from kafkastore.metadata.nodes import new_id, topic_id_text
    from kafkastore.plain_files import replace_file

    fields: dict[str, Any] = {
        VERSION: 1,
        CLUSTER_ID: cluster_id,
        NODE_ID: node_id,
        DIRECTORY_ID: directory_id or topic_id_text(new_id()),
    }
    path = os.path.join(directory, META)
    try:
        os.makedirs(directory, exist_ok=True)
        replace_file(path, "".join(f"{key}={value}\n" for key, value in fields.items()), 0o644)
    except OSError as error:
        raise KafkastoreError(f"Error while writing meta.properties file {directory}: {error.strerror}") from None
