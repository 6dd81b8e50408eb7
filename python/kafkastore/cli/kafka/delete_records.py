"""``kafka-delete-records``: deletes the records of partitions before the offsets in a JSON file."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, Final

from kafkastore.cli.kafka.flags import Flags
from kafkastore.cli.kafka.partition_order import partition_order
from kafkastore.cli.kafka.run import ask, java_text, say
from kafkastore.errors import ConfigError, KafkastoreError

if TYPE_CHECKING:
    from kafkastore.admin.admin_client import Partition

PURPOSE: Final = "This tool helps to delete records of the given partitions down to the specified offset."
FORM: Final = '{"partitions": [{"topic": "foo", "partition": 1, "offset": 1}], "version": 1}'


def _flags() -> Flags:
    flags = Flags("kafka-delete-records", PURPOSE)
    flags.add("--bootstrap-server", "server(s) to use for bootstrapping", help="REQUIRED: brokers to begin with.")
    flags.add("--offset-json-file", "Offset json file path", help=f"REQUIRED: {FORM}; -1 is the end.")
    flags.add("--command-config", "command config property file path", help="A client.properties.")
    return flags


FLAGS: Final = _flags()


def main(arguments: list[str]) -> int:
    given = FLAGS.asked(arguments)
    FLAGS.require(given, "bootstrap-server", "offset-json-file")
    try:
        _delete(given.bootstrap_server, given.command_config, read_offsets(given.offset_json_file))
    except KafkastoreError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _delete(server: str, command_config: str | None, offsets: dict[Partition, int]) -> None:
    from kafkastore.admin.admin_client import KafkaError
    from kafkastore.admin.records import delete_records

    say("Executing records delete operation")
    found = ask(server, command_config, lambda client: delete_records(client, offsets))
    say("Records delete operation completed:")
    for topic, number in partition_order(found):
        low = found[topic, number]
        said = f"error: {java_text(low)}" if isinstance(low, KafkaError) else f"low_watermark: {low}"
        say(f"partition: {topic}-{number}\t{said}")


def read_offsets(path: str) -> dict[Partition, int]:
    """Raises ConfigError of one sentence."""
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    except OSError:
        raise ConfigError(f"Unable to read file {path}") from None
    except (ValueError, RecursionError):
        raise ConfigError("The input string is not a valid JSON") from None
    version = content.get("version", 1) if isinstance(content, dict) else None
    if version != 1:
        raise ConfigError(f"Not supported version field value {version}")
    if not isinstance(content.get("partitions"), list):
        raise ConfigError("Missing partitions field")
    offsets: dict[Partition, int] = {}
    twice: dict[Partition, None] = {}
    for row in content["partitions"]:
        key, offset = _row(row)
        twice |= {key: None} if key in offsets else {}
        offsets[key] = offset
    if twice:
        named = ",".join(f"{topic}-{number}" for topic, number in partition_order(twice))
        raise ConfigError(f"Offset json file contains duplicate topic partitions: {named}")
    return offsets


def _row(row: Any) -> tuple[Partition, int]:
    try:
        topic, number, offset = row["topic"], row["partition"], row["offset"]
        if isinstance(topic, str) and type(number) is int and type(offset) is int:
            return (topic, number), offset
    except (TypeError, KeyError):
        pass
    raise ConfigError(f"{json.dumps(row)} in the file names no topic, partition and offset; the form is {FORM}")
