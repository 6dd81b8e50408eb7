"""``kafka-leader-election``: elects the preferred leaders of partitions, or any where there is none."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, Final

from kafkastore.cli.kafka.flags import Flags, FlagsError, int32, is_given
from kafkastore.cli.kafka.run import ask, java_text
from kafkastore.errors import ErrorCode, KafkastoreError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Mapping, Sequence

    from kafkastore.admin.admin_client import KafkaError

    Partition = tuple[str, int]

PURPOSE: Final = (
    "This tool attempts to elect a new leader for a set of topic partitions. The type of elections supported are "
    "preferred replicas and unclean replicas."
)
TYPES: Final = ("PREFERRED", "UNCLEAN")
"""In the order of Kafka's numbers."""
WHICH: Final = ("topic", "all-topic-partitions", "path-to-json-file")


def _flags() -> Flags:
    flags = Flags("kafka-leader-election", PURPOSE)
    flags.add("--bootstrap-server", "HOST:PORT,...", help="REQUIRED: brokers to begin with.")
    flags.add("--command-config", "FILE", help="A client.properties.")
    flags.add("--admin.config", "FILE", help="The same (deprecated).")
    flags.add("--election-type", "preferred|unclean", help="REQUIRED: unclean may lose records.")
    flags.add("--topic", "TOPIC", help="With --partition.")
    flags.add("--partition", "N", type=int32, help="With --topic.")
    flags.add("--all-topic-partitions", is_switch=True, help="All that need it.")
    flags.add("--path-to-json-file", "FILE", help='{"partitions":[{"topic":"foo","partition":1}]}')
    return flags


FLAGS: Final = _flags()


def main(arguments: Sequence[str]) -> int:
    given = FLAGS.asked(arguments)
    _check(given)
    kind = TYPES.index(given.election_type.upper())
    partitions = _partitions(given)
    from kafkastore.admin.elections import elect_leaders

    config = vars(given)["admin.config"] or given.command_config
    try:
        found = ask(given.bootstrap_server, config, lambda client: elect_leaders(client, kind, partitions))
    except KafkastoreError as error:
        if error.code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            sys.stdout.write("Not authorized to perform leader election\n")
        raise
    return _tell(TYPES[kind], found)


def _check(given: Namespace) -> None:
    missing = [name for name in ("bootstrap-server", "election-type") if not is_given(given, name)]
    if missing:
        raise KafkastoreError(f"Missing required option(s): {', '.join(missing)}")
    if sum(is_given(given, name) for name in WHICH) != 1:
        raise KafkastoreError(f"One and only one of the following options is required: {', '.join(WHICH)}")
    if given.topic is not None and given.partition is None:
        raise KafkastoreError("Missing required option(s): partition")
    if given.topic is None and given.partition is not None:
        raise KafkastoreError("Option partition is only allowed if topic is used")
    if given.election_type.upper() not in TYPES:
        raise KafkastoreError(f"Cannot parse argument '{given.election_type}' of option election-type")
    if is_given(given, "admin.config") and given.command_config is not None:
        raise FlagsError('Option "[admin.config]" can\'t be used with option "[command-config]"')


def _partitions(given: Namespace) -> list[Partition] | None:
    if given.path_to_json_file is not None:
        return _partitions_of(given.path_to_json_file)
    return None if given.topic is None else [(given.topic, given.partition)]


def _partitions_of(path: str) -> list[Partition]:
    """The partitions of a file. Raises KafkastoreError."""
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    except OSError:
        raise KafkastoreError(f"java.io.IOException: Unable to read file {path}") from None
    except (ValueError, RecursionError) as error:
        raise KafkastoreError(f"{path}: Replica election data is empty, or no JSON ({error})") from None
    if not isinstance(content, dict) or "partitions" not in content:
        raise KafkastoreError('Replica election data is missing "partitions" field')
    rows = content["partitions"]
    found = [_partition(path, row) for row in (rows if isinstance(rows, list) else [rows])]
    twice = sorted({one for one in found if found.count(one) > 1})
    if twice:
        raise KafkastoreError(f"Replica election data contains duplicate partitions: [{_named(twice)}]")
    return found


def _partition(path: str, row: Any) -> Partition:
    topic, number = (row.get("topic"), row.get("partition")) if isinstance(row, dict) else (None, None)
    if not isinstance(topic, str) or not isinstance(number, int):
        raise KafkastoreError(f'{path}: {json.dumps(row)} is no partition; write {{"topic":"foo","partition":1}}')
    return topic, number


def _tell(kind: str, found: Mapping[Partition, KafkaError | None]) -> int:
    elected = [key for key, error in found.items() if error is None]
    there = [key for key, error in found.items() if error and error.code == ErrorCode.ELECTION_NOT_NEEDED]
    if elected:
        sys.stdout.write(f"Successfully completed leader election ({kind}) for partitions {_named(elected)}\n")
    if there:
        sys.stdout.write(f"Valid replica already elected for partitions {_named(there)}\n")
    failed = {key: error for key, error in found.items() if error and key not in there}
    for key, error in sorted(failed.items()):
        sys.stdout.write(
            f"Error completing leader election ({kind}) for partition: {_named([key])}: {java_text(error)}\n"
        )
    if failed:
        raise KafkastoreError(f"{len(failed)} replica(s) could not be elected")
    return 0


def _named(keys: Iterable[Partition]) -> str:
    return ", ".join(f"{topic}-{number}" for topic, number in sorted(keys))
