"""The options that commands share which read segment files: how far may be read, and what of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kafkastore.cli.option_types import COLUMNS, OFFSET_OR_TIME
from kafkastore.scanning.bounds import COLUMNS as ALL_COLUMNS
from kafkastore.scanning.bounds import ISOLATION_LEVELS

if TYPE_CHECKING:
    from collections.abc import Callable

    Decorated = Callable[..., Any]


def bounds_options(function: Decorated) -> Decorated:
    """Adds ``--bootstrap-server`` and ``--command-config``: the broker that says how far may be read."""
    config = click.option(
        "--command-config",
        metavar="FILE",
        type=click.Path(),
        help="For that broker: a client.properties with security.protocol, sasl.* and ssl.*.",
    )
    server = click.option(
        "-b",
        "--bootstrap-server",
        metavar="HOST:PORT",
        help="Ask this broker how far may be read; without, the checkpoints beside the segments say it.",
    )
    return server(config(function))


def damage_option(function: Decorated) -> Decorated:
    """Adds ``--ignore-corrupt-batches``."""
    return click.option(
        "--ignore-corrupt-batches",
        "ignores_corrupt_batches",
        is_flag=True,
        help="Go on behind batches that cannot be read, and name them.",
    )(function)


def isolation_option(function: Decorated) -> Decorated:
    """Adds ``--isolation-level``."""
    levels = click.Choice(ISOLATION_LEVELS)
    return click.option("--isolation-level", type=levels, default=ISOLATION_LEVELS[0], show_default=True)(function)


def span_options(function: Decorated) -> Decorated:
    """Adds ``--columns``, and the bound ``--to``."""
    columns = click.option(
        "--columns",
        metavar="A,B,...",
        type=COLUMNS,
        default=",".join(ALL_COLUMNS),
        help=f"Of {', '.join(ALL_COLUMNS)}.  [default: all]",
    )
    end = click.option("--to", "end", metavar="OFFSET|TIME", type=OFFSET_OR_TIME, help="Only records before it.")
    return end(columns(function))
