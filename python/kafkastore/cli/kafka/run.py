"""Runs one of Kafka's tools by its name, and ends it as Kafka's does: exit status 0, or 1 with a sentence on stderr.

Each tool is a module with ``FLAGS`` (a :class:`Flags`, or an argparse parser) and ``main(arguments)``, which returns
the exit status.
"""

from __future__ import annotations

import os
import sys
from datetime import datetime
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from kafkastore.cli.kafka.flags import FlagsError, VersionAskedError
from kafkastore.cli.main import NO_UTF8
from kafkastore.errors import KafkastoreError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kafkastore.admin.admin_client import AdminClient

T = TypeVar("T")

KAFKA_VERSION: Final = "4.4.0"
"""What the tools print for ``--version``: scripts ask for it."""
PREFIX: Final = "kafka-"
SUFFIX: Final = ".sh"


def run(tool: str, arguments: list[str]) -> int:
    """The exit status of a tool, whose name may end in ``.sh``. When nobody reads what it prints (``| head``) it ends
    as if somebody did: so do Kafka's, and scripts with ``pipefail`` count on it."""
    status = 0
    try:
        status = _run(tool, arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        drop_stdout()
    return status


def _run(tool: str, arguments: list[str]) -> int:
    name = module_of(tool)
    path = f"{__package__}.{name}"
    module = import_module(path) if name.isidentifier() and find_spec(path) else None
    if module is None or not hasattr(module, "main"):
        sys.stderr.write(f"kafkastore: No such command {tool!r}{_meant(name)} see kafkastore --help\n")
        return 2
    try:
        status: int = module.main(arguments)
    except VersionAskedError:
        sys.stdout.write(f"{KAFKA_VERSION}\n")
        return 0
    except FlagsError as error:
        module.FLAGS.print_usage_and_why(str(error))
        return 1
    except KafkastoreError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except UnicodeEncodeError:
        sys.stderr.write(f"{NO_UTF8}\n")
        return 1
    return status


def drop_stdout() -> None:
    """What is still to be written goes nowhere: that nobody reads it is no failure of a tool."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


def _meant(name: str) -> str:
    from difflib import get_close_matches
    from pkgutil import iter_modules

    near = get_close_matches(name, [one.name for one in iter_modules([str(Path(__file__).parent)])], 5, 0.8)
    tools = [one for one in near if hasattr(import_module(f"{__package__}.{one}"), "main")]
    return f". Did you mean '{PREFIX}{tools[0].replace('_', '-')}'?" if tools else ";"


def module_of(tool: str) -> str:
    """``kafka-console-consumer.sh`` is ``console_consumer``."""
    return tool.removeprefix(PREFIX).removesuffix(SUFFIX).replace("-", "_")


def ask(
    bootstrap_server: str | None,
    command_config: str | None,
    work: Callable[[AdminClient], Awaitable[T]],
    *,
    bootstrap_controller: str | None = None,
    limit_s: float | None = None,
) -> T:
    """What ``work`` returns, which gets a client of the cluster, whose requests are sent again for ``limit_s``. Raises
    KafkastoreError."""
    import asyncio

    from kafkastore.admin.admin_client import LIMIT_S, AdminClient
    from kafkastore.admin.controllers import ControllerClient
    from kafkastore.cli.profiles import read_client_properties

    properties = {} if command_config is None else read_client_properties("--command-config", command_config)

    async def asked() -> T:
        made = AdminClient if bootstrap_controller is None else ControllerClient
        servers = bootstrap_controller or bootstrap_server or ""
        async with made(servers, properties, limit_s=limit_s or LIMIT_S).within() as client:
            return await work(client)

    return asyncio.run(asked())


def log_error(text: str, logger: str, level: str = "ERROR") -> None:
    """A line on stderr as Kafka's tools log it."""
    moment = datetime.now().astimezone()
    sys.stderr.write(f"[{moment:%Y-%m-%d %H:%M:%S},{moment.microsecond // 1000:03d}] {level} {text} ({logger})\n")


def log_warning(text: str, logger: str) -> None:
    log_error(text, logger, "WARN")


def java_text(error: KafkastoreError) -> str:
    """An error as Java prints an exception."""
    java_class = getattr(error, "java_class", None)
    return f"org.apache.kafka.common.errors.{java_class}: {error}" if java_class else str(error)


def say(text: str) -> None:
    """A line on stdout."""
    sys.stdout.write(f"{text}\n")
