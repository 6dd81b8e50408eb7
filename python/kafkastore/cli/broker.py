"""``kafkastore broker``: its help and its mistakes. ``main.py`` starts a broker without this module, see
``broker_start.py``."""

from __future__ import annotations

import click

from kafkastore.cli.properties_options import properties_options


@click.command("broker")
@properties_options
@click.option(
    "--environment",
    "has_environment",
    is_flag=True,
    help="Keys are also variables of the environment, as in Apache Kafka's image: KAFKA_NUM_PARTITIONS.",
)
def command(properties_file: str | None, overrides: tuple[str, ...], has_environment: bool) -> int:
    """Run a broker in the foreground; without a file a single one that needs no set-up.

    It runs until SIGTERM, SIGINT or SIGHUP. Keys, types and defaults are Kafka's.

    Without a file: one broker, node.id=1, listeners=PLAINTEXT://localhost:9092 (this host alone reaches it), data in
    $XDG_DATA_HOME/kafkastore or ~/.local/share/kafkastore, no delay for the first member of a group.

    \b
      kafkastore broker --override listeners=PLAINTEXT://localhost:9093 --override log.dirs=data

    Exit status: 0 stopped cleanly, 1 could not start or failed.
    """
    from kafkastore.cli import broker_start

    of_environment = broker_start.environment_overrides() if has_environment else []
    return broker_start.run(properties_file, [*of_environment, *overrides])
