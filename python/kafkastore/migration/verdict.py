"""Whether a broker of ours serves a directory of Apache Kafka as it is: what speaks against it, what has no
effect, what is to be done first, and how the directory goes back to Kafka. Each is one sentence. Nothing is changed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkastore._core import supported_features
from kafkastore.admin.admin_client import AdminError
from kafkastore.admin.metadata_versions import METADATA_FEATURE, shown_level
from kafkastore.config import BrokerConfig, validate_topic_configs
from kafkastore.config.effect import without_effect
from kafkastore.errors import ConfigError, StartupError
from kafkastore.membership.kafkas_settings import counts_of
from kafkastore.metadata.kafka_metadata_log import metadata_places
from kafkastore.migration.directory import REMOTE_KEY, ZOOKEEPER, Directory, read_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

META_VERSIONS: Final = ("0", "1")
OVER_THE_NETWORK: Final = "mirror the cluster with kafkastore migrate plan"


class Verdict(NamedTuple):
    """``taken`` and ``left_out``: how many of what a start takes over from Kafka's metadata, and does not."""

    directory: Directory
    taken: Mapping[str, int]
    left_out: Mapping[str, int]
    reasons: list[str]
    without_effect: list[str]
    steps: list[str]
    way_back: list[str]


def look_at(paths: Sequence[str], faults: Callable[[list[str]], int | None]) -> Verdict:
    """Of directories, or of a ``server.properties``. ``faults`` verifies the files of directories, and returns how many
    faults they have; None when that is not wanted. Raises AdminError for what is no directory."""
    files = [one for one in paths if os.path.isfile(one)]
    if files and len(paths) > 1:
        raise AdminError(f"{files[0]} is a file: give one server.properties, or directories")
    reasons: list[str] = []
    config = _config(files[0], reasons) if files else None
    if files and config is None:
        log_dirs, places = _named_dirs(files[0]), []
    else:
        log_dirs = list(paths) if config is None else config.log_dirs
        places = [] if config is None else metadata_places(config)
    found = read_directory(log_dirs, places)
    reasons += _reasons(found)
    taken: Mapping[str, int] = {}
    left_out: Mapping[str, int] = {}
    try:
        taken, left_out = counts_of(found.metadata)
    except StartupError as error:
        reasons.append(str(error.client_message))
    if config is not None and config.authorizer is not None and found.metadata.faults:
        reasons.append(f"Kafka's metadata may have ACLs that would not be known: {found.metadata.faults[0]}")
    count = faults(log_dirs)
    if count:
        reasons.append(f"{count} faults are in its files; see kafkastore check {' '.join(log_dirs)}")
    idle = list(_idle(found, left_out))
    if files and config is not None:
        idle += [f"{key} of {files[0]} has no effect here" for key in without_effect(config.static)]
        idle += [f"{key} of {files[0]} is no key of Kafka 4" for key in config.unknown]
    return Verdict(found, taken, left_out, reasons, idle, _steps(found, config), _way_back(found))


def _config(path: str, reasons: list[str]) -> BrokerConfig | None:
    try:
        return BrokerConfig.load(path, is_start=False)
    except ConfigError as error:
        reasons.append(str(error.client_message))
        return None


def _named_dirs(path: str) -> list[str]:
    """The directories that a file names which says something else that is not served."""
    from kafkastore.config.properties import read_properties

    try:
        found = read_properties(path)
    except (OSError, ValueError) as error:
        raise AdminError(f"{path} cannot be read: {error}") from None
    text = found.get("log.dirs") or found.get("log.dir")
    if not text:
        raise AdminError(f"{path} names no log.dirs; give the directories")
    return [one.strip() for one in text.split(",") if one.strip()]


def _reasons(found: Directory) -> Iterator[str]:
    for path, meta in zip(found.log_dirs, found.metas, strict=True):
        if meta is None:
            yield f"{path} has no meta.properties that can be read, so it is no log directory of a broker"
        elif meta.version not in META_VERSIONS:
            yield f"{path}: meta.properties has version {meta.version}, and {' and '.join(META_VERSIONS)} are known"
    for what, key in (("clusters", "cluster_id"), ("brokers", "node_id")):
        different = sorted({str(value) for one in found.known if (value := getattr(one, key)) is not None})
        if len(different) > 1:
            yield f"the directories belong to different {what} ({', '.join(different)}); give those of one broker"
    others = found.metadata.brokers - {int(one.node_id or -1) for one in found.known}
    if others:
        shown = ", ".join(map(str, sorted(others)))
        yield (
            f"the cluster has other brokers ({shown}), and one broker alone is taken over by its directory; "
            f"{OVER_THE_NETWORK}, or move all partitions to one broker and unregister the others first"
        )
    if found.tiered:
        yield (
            f"records of {', '.join(found.tiered)} are in remote storage ({REMOTE_KEY}=true), which is not read here; "
            f"{OVER_THE_NETWORK}"
        )
    elif found.has_remote_metadata and found.mode == ZOOKEEPER:
        yield f"it has __remote_log_metadata, so records may be in remote storage; {OVER_THE_NETWORK}"


def _idle(found: Directory, left_out: Mapping[str, int]) -> Iterator[str]:
    for what, count in sorted(left_out.items()):
        yield f"{count} {what} of Kafka's metadata are of a kind that is not known here and are left out"
    highest = {name: most for name, _, most in supported_features()}
    for name, level in sorted(found.metadata.features.items()):
        if name != METADATA_FEATURE and level > highest.get(name, 0):
            yield f"feature {name} is at level {level}, and {highest.get(name, 0)} is the highest here"
    if found.has_share_groups:
        yield "share groups: __share_group_state is kept and not read"
    for name, configs in sorted(found.metadata.topic_configs().items()):
        try:
            validate_topic_configs(configs)
        except ConfigError as error:
            if name not in found.tiered:
                yield f"topic {name}: {error.client_message}"
    if found.mode == ZOOKEEPER:
        yield (
            "configurations of topics, ACLs, users and quotas are in ZooKeeper and not in the directory: topics keep "
            "all records until retention.ms is set for them anew"
        )
    yield from (f"{one}, and is skipped" for one in found.metadata.faults)


def _steps(found: Directory, config: BrokerConfig | None) -> list[str]:
    steps = ["stop the broker that runs on it: this report is of a moment"] if found.is_running else []
    if found.was_served_here:
        return [*steps, "it has been taken over already: its metadata is kafkastore's, and Kafka's is not read again"]
    if not found.is_running and not found.is_clean:
        steps.append("Kafka was not stopped cleanly; the first start checks the ends of all logs, as Kafka would")
    steps.append("make a copy of the directory")
    steps.append("start kafkastore broker server.properties" if config is None else "start kafkastore broker with it")
    return steps


def _way_back(found: Directory) -> list[str]:
    if found.mode == ZOOKEEPER:
        return ["start Kafka on the directory with its ZooKeeper: it serves the topics that it knew, with all records"]
    return [
        "stop the broker and start Kafka on the directory: it serves all records, those written here too",
        "topics, ACLs, users and configurations that were made here are not in its metadata log: make them anew there",
    ]


def levels(found: Directory) -> dict[str, str]:
    """The levels of features, of the metadata as Kafka names it."""
    return {name: shown_level(name, level) for name, level in sorted(found.metadata.features.items())}
