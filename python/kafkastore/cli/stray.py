"""``kafkastore stray``: lists, takes back or deletes logs that a start has set aside."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from kafkastore.cli.verbs import Verb, run_verb

if TYPE_CHECKING:
    from kafkastore.config import BrokerConfig

USAGE = """\
usage: kafkastore stray list [server.properties] [--override key=value ...]
       kafkastore stray adopt TOPIC [server.properties] [--override key=value ...]
       kafkastore stray delete DIRECTORY [server.properties] [--override key=value ...]

Logs that a start of this broker has set aside, as directories that end in -stray: of topics that the metadata store did
not know, or knows under another id. For the broker of this server.properties; without one, for the broker that needs
none.

list          each of them: topic, partition, topic id, records, offsets and bytes; the broker may run
adopt         makes TOPIC of all its logs that are set aside here; the broker must not run. Its next start serves them
              again, as the one replica of each partition, with the topic's id and the configuration that is kept beside
              the logs; of a topic without one nothing is deleted until somebody configures it. Replicas on other
              brokers are added with kafka-reassign-partitions.sh. Records below a log start that DeleteRecords had
              moved may be back
delete        deletes one of them for good; the broker must not run

options:
  --override key=value   set or replace a key; may be given again
  -h, --help             show this text

exit status: 0 done, 1 refused or failed, with a sentence on stderr and nothing changed, 2 wrong usage
"""


def main(arguments: list[str]) -> int:
    """Runs a command; returns the exit status, see USAGE."""
    return run_verb(_VERBS, arguments)


def _list(config: BrokerConfig, _: str) -> int:
    from kafkastore.log import strays
    from kafkastore.metadata.nodes import topic_id_text

    found = strays.find(config.log_dirs)
    for one in found:
        held = strays.content(one)
        topic_id = "none" if one.topic_id is None else topic_id_text(one.topic_id)
        offsets = "none" if held.first_offset < 0 else f"{held.first_offset} to {held.end_offset - 1}"
        fault = "" if held.fault is None else f", then {held.fault}"
        sys.stdout.write(
            f"{one.topic}-{one.partition}: topic id {topic_id}, {held.records} records, offsets {offsets},"
            f" {held.size_bytes} bytes{fault}, in {one.path}\n"
        )
    if not found:
        sys.stdout.write(f"Nothing is set aside in {', '.join(config.log_dirs)}\n")
    return 0


def _adopt(config: BrokerConfig, topic: str) -> int:
    from kafkastore.log import strays

    taken = strays.adopt(topic, config.log_dirs)
    sys.stdout.write(
        f"The next start of broker {config.node_id} serves {topic} with {len(taken)} partitions, from this broker "
        "alone\n"
    )
    return 0


def _delete(config: BrokerConfig, path: str) -> int:
    from kafkastore.log import strays

    gone = strays.delete(path, config.log_dirs)
    sys.stdout.write(f"{gone.path} is deleted\n")
    return 0


_VERBS = {"list": Verb(_list), "adopt": Verb(_adopt, "TOPIC"), "delete": Verb(_delete, "DIRECTORY")}
