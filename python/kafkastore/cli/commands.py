"""The tree of commands, in the order of ``kafkastore --help``. A command's module is imported when it is asked for: a
start is not to wait for the others.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from collections.abc import Mapping

SECTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "Run": {
        "broker": "Run a broker in the foreground; without a file a single one that needs no set-up.",
        "dev": "Run a broker for the tests of a program: free port, ends with its parent.",
        "cluster": "Prepare a cluster, look at one, move its partitions when brokers come or go.",
        "security": "Make the files of a broker that lets in nobody unproven; what a configuration leaves open.",
        "migrate": "Come from Apache Kafka: check a directory, or mirror a cluster and cut over.",
    },
    "Work with a cluster of any maker": {
        "topics": "List, describe, create, grow and delete topics.",
        "produce": "Write records: lines, JSON, files, Avro.",
        "consume": "Read records, follow them, filter them.",
        "records": "Find and delete records by offset and time.",
        "groups": "Consumer groups: lag, members, offsets set anew.",
        "transactions": "Transactions: list, describe, find hanging ones, abort.",
        "configs": "Configuration of topics, brokers, groups and clients.",
        "acls": "Access control lists.",
        "users": "SCRAM credentials of users.",
        "quotas": "Quotas of users, clients and addresses.",
        "tokens": "Delegation tokens.",
        "log-dirs": "Log directories of brokers, and moves between them.",
        "reassign": "Move partitions between brokers.",
        "features": "Features and API versions of brokers.",
        "profile": "Name clusters, and say which one is meant.",
    },
    "Read and fill log directories without a broker": {
        "sql": "Answer a query over the topics in log directories.",
        "export": "Write a topic as Parquet files; the next call goes on where this one ended.",
        "load": "Append Parquet files to a topic as segments that are built here: for backfills.",
        "spark": "Topics to Parquet, a cluster's files checked, figures, a slice copied: with Spark's tasks.",
        "check": "Verify every file of log directories; a broker may run meanwhile.",
        "dump": "Print the records or batches of segment files as text, JSON or Parquet.",
        "metadata": "Keep a copy of the metadata, put it back, look whether it is whole.",
        "stray": "Logs that a start has set aside: look at them, serve them again, delete them.",
    },
    "This command": {
        "completion": "Print what makes bash, zsh or fish complete commands, options and names.",
    },
}
"""The first line of each command's help, by section and name; a test compares it with the command's own."""

MODULES: Final = {name: name.replace("-", "_") for commands in SECTIONS.values() for name in commands}
SETTINGS: Final[dict[str, Any]] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

EPILOG: Final = """\
Kafka's own tools are here under their names: kafkastore kafka-topics --list --bootstrap-server localhost:9092.
Exit status: 0 done, 1 refused or failed, 2 not understood, 130 Ctrl-C, 141 nobody reads what is printed.
"""


COMPLETE_VARIABLE: Final = "_KAFKASTORE_COMPLETE"
"""By it a shell's script asks for words, see ``completion.py``."""


class Commands(click.Group):
    """Finds commands without importing any."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        module = MODULES.get(cmd_name)
        if module is None:
            return None
        found: click.Command = import_module(f"kafkastore.cli.{module}").command
        return found

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Names of commands and options, without importing a command for its help."""
        said = (pair for commands in SECTIONS.values() for pair in commands.items())
        named = [CompletionItem(name, help=text) for name, text in said if name.startswith(incomplete)]
        return named + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as above
        for section, commands in SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl(list(commands.items()))


def _print_version(ctx: click.Context, _: click.Parameter, is_asked: bool) -> None:
    if not is_asked or ctx.resilient_parsing:
        return
    from kafkastore._core import __version__

    click.echo(f"kafkastore {__version__}")
    ctx.exit()


@click.group("kafkastore", cls=Commands, context_settings=SETTINGS, epilog=EPILOG)
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=_print_version, help="Show it.")
def root() -> None:
    """The Kafka that you pip install: a broker, and what is asked of brokers and their files."""


def path_of(given: list[str]) -> str:
    """The words of a command line that name the command: ``kafkastore topics list``."""
    found: click.Command | None = root
    named = ["kafkastore"]
    for word in given:
        found = found.get_command(click.Context(found), word) if isinstance(found, click.Group) else None
        if found is None:
            break
        named.append(word)
    return " ".join(named)
