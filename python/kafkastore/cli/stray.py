"""``kafkastore stray``: lists, takes back or deletes logs that a start has set aside."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from kafkastore.cli.nouns import Noun
from kafkastore.cli.properties_options import broker_config

if TYPE_CHECKING:
    from kafkastore.config import BrokerConfig


@click.group("stray", cls=Noun)
def command() -> None:
    """Logs that a start has set aside: look at them, serve them again, delete them.

    They are directories that end in -stray: of topics that the metadata store did not know, or knows under another id.
    For the broker of this server.properties; without one, for the broker that needs none.

    Exit status: 0 done, 1 refused or failed, with a sentence on stderr and nothing changed, 2 wrong usage.
    """


@command.command("list")
@broker_config
def list_strays(config: BrokerConfig) -> None:
    """List each of them: topic, partition, topic id, records, offsets and bytes; the broker may run."""
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


@command.command()
@click.argument("topic")
@broker_config
def adopt(config: BrokerConfig, topic: str) -> None:
    """Make TOPIC of all its logs that are set aside here; the broker must not run.

    Its next start serves them again, as the one replica of each partition, with the topic's id and the configuration
    that is kept beside the logs; of a topic without one nothing is deleted until somebody configures it. Replicas on
    other brokers are added with kafka-reassign-partitions.sh. Records below a log start that DeleteRecords had moved
    may be back.
    """
    from kafkastore.log import strays

    taken = strays.adopt(topic, config.log_dirs)
    sys.stdout.write(
        f"The next start of broker {config.node_id} serves {topic} with {len(taken)} partitions, from this broker "
        "alone\n"
    )


@command.command()
@click.argument("path", metavar="DIRECTORY", type=click.Path())
@broker_config
def delete(config: BrokerConfig, path: str) -> None:
    """Delete one of them for good; the broker must not run."""
    from kafkastore.log import strays

    gone = strays.delete(path, config.log_dirs)
    sys.stdout.write(f"{gone.path} is deleted\n")
