"""The argument and the option of commands for the broker of one server.properties: ``broker`` itself, and the verbs of
``metadata``, ``stray`` and ``security doctor``.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    Decorated = Callable[..., Any]


def properties_options(function: Decorated) -> Decorated:
    """Adds them; the command gets ``properties_file``, None without a file, and ``overrides``."""
    overrides = click.option(
        "--override",
        "overrides",
        metavar="KEY=VALUE",
        multiple=True,
        help="Set or replace a key; may be given again.",
    )
    file = click.argument("properties_file", metavar="[server.properties]", required=False, type=click.Path())
    return file(overrides(function))


def broker_config(function: Decorated) -> Decorated:
    """Adds them; the command's first argument becomes the BrokerConfig."""

    @properties_options
    @wraps(function)
    def with_config(*arguments: Any, properties_file: str | None, overrides: tuple[str, ...], **options: Any) -> Any:
        from kafkastore.config import BrokerConfig

        return function(BrokerConfig.load(properties_file, list(overrides), is_start=False), *arguments, **options)

    return with_config
