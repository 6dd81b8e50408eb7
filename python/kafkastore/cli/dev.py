"""``kafkastore dev``: a broker for the tests of a program in any language. What it does is in ``testing/dev.py``."""

from __future__ import annotations

import re
from typing import Final

import click

from kafkastore.cli.cluster_options import key_values

PARTITIONS: Final = re.compile(r"0*[1-9]\d{0,8}", re.ASCII)


@click.command("dev")
@click.option(
    "-f", "--file", type=click.Path(), help="Topics, users, ACLs and keys, in TOML or .json: docs/testing.md."
)
@click.option("--brokers", type=click.IntRange(1, 9), help="How many; more than one are a cluster.  [default: 1]")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where it listens.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Of a single broker.  [default: a free one]")
@click.option("--directory", type=click.Path(), help="Keeps the data here.  [default: in memory, and removed]")
@click.option("-t", "--topic", "topics", metavar="NAME[:PARTITIONS]", multiple=True, help="May be given again.")
@click.option("-c", "--config", "configs", metavar="KEY=VALUE", multiple=True, help="A key of the brokers.")
@click.option("--outlives-parent", is_flag=True, help="Does not end with the program that started it.")
def command(
    file: str | None,
    brokers: int | None,
    host: str,
    port: int,
    directory: str | None,
    topics: tuple[str, ...],
    configs: tuple[str, ...],
    outlives_parent: bool,
) -> int:
    """Run a broker for the tests of a program: free port, ends with its parent.

    When everything is there it prints one line of JSON: bootstrap.servers, pid, cluster.id, and the properties of
    clients by Java's and by librdkafka's names. It ends with the program that started it, when its stdin is a pipe
    that is closed, or by a signal.
    """
    from kafkastore.testing import dev

    return dev.run(
        file=file,
        brokers=brokers,
        host=host,
        port=port,
        directory=directory,
        config=key_values("-c", configs),
        topics=dict(map(_topic, topics)),
        ends_with_parent=not outlives_parent,
    )


def _topic(text: str) -> tuple[str, int]:
    name, colon, count = text.partition(":")
    if colon and PARTITIONS.fullmatch(count) is None:
        raise click.UsageError(f"-t {text} has no number of partitions; write it as -t orders:3")
    return name, int(count) if colon else 1
