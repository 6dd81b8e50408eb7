"""``kafka-log-dirs``: the log directories of brokers and what is in them, as JSON."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, Final

from kafkastore.cli.kafka.flags import Flags
from kafkastore.cli.kafka.run import ask, java_text
from kafkastore.errors import KafkastoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkastore.admin.admin_client import AdminClient
    from kafkastore.admin.log_dirs import LogDir

PURPOSE: Final = "This tool helps to query log directory usage on the specified brokers."
FLAGS: Final = Flags("kafka-log-dirs", PURPOSE)
FLAGS.add("--bootstrap-server", "HOST:PORT,...", help="REQUIRED: brokers to begin with.")
FLAGS.add("--command-config", "FILE", help="A client.properties.")
FLAGS.add("--describe", is_switch=True, help="REQUIRED: describe log directories.")
FLAGS.add("--topic-list", "T,T,...", default="", help="These topics; all without.")
FLAGS.add("--broker-list", "ID,ID,...", default="", help="These brokers; all without.")


def main(arguments: Sequence[str]) -> int:
    given = FLAGS.asked(arguments)
    FLAGS.require(given, "bootstrap-server", "describe")
    topics = {name for name in given.topic_list.split(",") if name}
    try:
        wanted = {int(node) for node in given.broker_list.split(",") if node}
    except ValueError:
        raise KafkastoreError(f"--broker-list {given.broker_list} is no list of broker ids; give 1,2,3") from None

    async def described(client: AdminClient) -> dict[int, list[LogDir]]:
        from kafkastore.admin.log_dirs import describe_log_dirs

        alive = (await client.cluster()).brokers
        if unknown := sorted(wanted - alive.keys()):
            raise KafkastoreError(
                f"ERROR: The given brokers do not exist from --broker-list: {_listed(unknown)}. Current existent "
                f"brokers: {_listed(sorted(alive))}"
            )
        sys.stdout.write("Querying brokers for log directories information\n")
        return await describe_log_dirs(client, sorted(wanted or alive))

    found = ask(given.bootstrap_server, given.command_config, described)
    sys.stdout.write(f"Received log directory information from brokers {_listed(list(found))}\n")
    brokers = [{"broker": node, "logDirs": [_log_dir(one, topics) for one in dirs]} for node, dirs in found.items()]
    sys.stdout.write(f"{json.dumps({'brokers': brokers, 'version': 1}, separators=(',', ':'), ensure_ascii=False)}\n")
    return 0


def _log_dir(directory: LogDir, topics: set[str]) -> dict[str, Any]:
    partitions = [
        {
            "partition": f"{topic}-{number}",
            "size": one.size_bytes,
            "offsetLag": one.offset_lag,
            "isFuture": one.is_future,
        }
        for (topic, number), one in sorted(directory.replicas.items())
        if not topics or topic in topics
    ]
    error = None if directory.error is None else java_text(directory.error).partition(":")[0]
    return {"partitions": partitions, "error": error, "logDir": directory.path}


def _listed(nodes: Sequence[int]) -> str:
    return ",".join(map(str, nodes))
