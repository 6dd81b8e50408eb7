"""What is meant by a word that this command has not: commands and options of rpk, kcat, kubectl and Kafka's scripts,
and their like here. Read when a command line is not understood, and never before. Runs nothing.
"""

from __future__ import annotations

from typing import Final

import click

COMMANDS: Final[dict[str, str]] = {
    "version": "--version",
    "info": "cluster status",
    "status": "cluster status",
    "health": "cluster status",
    "brokers": "cluster status",
    "server": "broker",
    "start": "broker",
    "run": "broker",
    "serve": "broker",
    "doctor": "security doctor",
    "bench": "kafka-producer-perf-test",
    "perf": "kafka-producer-perf-test",
    "context": "profile",
    "list": "topics list",
    "ls": "topics list",
    "get": "topics list",
    "partitions": "topics describe",
    "describe": "topics describe",
    "create": "topics create",
    "delete": "topics delete",
    "consumer-groups": "groups",
    "lag": "groups lag",
    "offsets": "records offsets",
    "read": "consume",
    "tail": "consume",
    "write": "produce",
    "txn": "transactions",
    "txns": "transactions",
    "delegation-tokens": "tokens",
    "import": "load",
    "mirror": "migrate run",
}
"""Words of others in the place of a first command."""

VERBS: Final[dict[str, tuple[str, ...]]] = {
    "ls": ("list", "status"),
    "get": ("list", "describe"),
    "describe": ("list", "show", "status"),
    "show": ("describe", "list", "status"),
    "print": ("show", "describe", "list"),
    "current": ("show",),
    "info": ("describe", "status", "list"),
    "health": ("status",),
    "verify": ("status", "check"),
    "members": ("describe",),
    "create": ("add", "set"),
    "add": ("create", "set"),
    "alter": ("set", "add-partitions"),
    "update": ("set",),
    "edit": ("set",),
    "delete": ("remove", "unset", "expire", "cancel"),
    "remove": ("delete", "unset", "expire"),
    "rm": ("delete", "remove", "unset"),
    "unset": ("remove",),
    "trim": ("delete",),
    "seek": ("reset",),
    "reset-offsets": ("reset",),
    "generate": ("plan",),
    "start": ("run", "execute"),
    "select": ("use",),
    "switch": ("use",),
}
"""Verbs of others, and what a noun may have in their place: the first that it has is meant."""

OPTIONS: Final[dict[str, dict[str, str]]] = {
    "": {
        "--brokers": "--bootstrap-server",
        "--broker-list": "--bootstrap-server",
        "--config-file": "--command-config",
        "--output": "--format",
        "-o": "--format",
        "-f": "--format",
        "-n": "--num",
        "-r": "--regex",
    },
    "broker": {
        "--port": "--override listeners=PLAINTEXT://localhost:9093",
        "-p": "--override listeners=PLAINTEXT://localhost:9093",
        "--listeners": "--override listeners=PLAINTEXT://localhost:9093",
        "--data-dir": "--override log.dirs=DIR",
        "--log-dirs": "--override log.dirs=DIR",
        "--directory": "--override log.dirs=DIR",
        "--dir": "--override log.dirs=DIR",
        "-d": "--override log.dirs=DIR",
    },
    "topics": {
        "--replicas": "--replication-factor",
        "--topic-config": "--config",
        "--num": "--partitions",
        "-n": "--partitions",
        "-d": "--detail",
    },
    "consume": {
        "--from-beginning": "--offset begin",
        "--max-messages": "--num",
        "-c": "--num",
        "--tail": "--offset -N",
        "--since": "--offset @1h",
        "--timestamp": "--offset @TIME",
        "--property": "--format-string '%k %v\\n'",
        "--print-key": "--format-string '%k %v\\n'",
        "--pretty-print": "--json",
        "--timeout-ms": "--exit",
    },
    "produce": {"--property": "--key-separator :", "-f": "--key-separator"},
    "groups": {
        "--to-earliest": "--to earliest",
        "--to-latest": "--to latest",
        "--to-current": "--to current",
        "--to-offset": "--to OFFSET",
        "--to-datetime": "--to-time",
        "--by-duration": "--to-time 1h",
        "--shift-by": "--by",
    },
    "acls": {
        "--allow-principal": "--principal",
        "--deny-principal": "--principal NAME --deny",
        "--allow-host": "--host",
        "--deny-host": "--host ADDRESS --deny",
        "--resource-pattern-type": "--prefix",
    },
    "quotas": {"--default-user": "--user-default", "--default-client-id": "--client-id-default"},
    "records": {"--to-offset": "--before", "--offset": "--before", "--time": "--at", "--timestamp": "--at"},
    "profile": {"-b": "bootstrap.servers=HOST:PORT"},
    "migrate": {"--source": "--from-bootstrap-server", "--from": "--from-bootstrap-server"},
    "dump": {"--json": "--format json", "--num": "--max-records", "-n": "--max-records", "-p": "--partition"},
    "export": {"--dir": "--output", "--out": "--output"},
}
"""Options of others, by the first command, and those of all: what they are called here."""

ARGUMENTS: Final = {"entity-type": "kind", "entity-name": "name", "group-id": "group"}
"""Options of others that are arguments here; those of the argument's own name need no row."""


def sentence_of(error: click.UsageError) -> str:
    """The sentence of a mistake, with what may be meant."""
    said = error.format_message().strip().removesuffix(".")
    meant = None
    if isinstance(error, click.NoSuchOption):
        meant = _option(error)
    elif said.startswith("No such command "):
        meant = _command(error, said.removeprefix("No such command ").partition("'")[2].partition("'")[0])
    if meant is None:
        return " ".join(said.split())
    return f"{said.partition('. ')[0]}. {meant}"


def _command(error: click.UsageError, word: str) -> str | None:
    from difflib import get_close_matches

    ctx = error.ctx
    if ctx is None or not isinstance(ctx.command, click.Group):
        return None
    there = ctx.command.list_commands(ctx)
    near = get_close_matches(word, there, cutoff=0.7)
    if ctx.parent is None:
        meant = [COMMANDS[word]] if word in COMMANDS else near[:1]
    else:
        meant = [one for one in VERBS.get(word, ()) if one in there][:1] or near[:1]
    return f"Did you mean '{meant[0]}'?" if meant else None


def _option(error: click.NoSuchOption) -> str | None:
    ctx, name = error.ctx, error.option_name
    if ctx is None:
        return None
    verbs = ctx.command_path.split()[1:2]
    own = [one for parameter in ctx.command.params for one in parameter.opts]
    for table in (*verbs, ""):
        meant = OPTIONS.get(table, {}).get(name)
        if meant is not None and (not meant.startswith("-") or meant.split()[0] in own):
            return f"Did you mean '{meant}'?"
    word = name.removeprefix("--").removesuffix("s")
    for parameter in ctx.command.params:
        metavar = parameter.make_metavar(ctx).strip("[].")
        if isinstance(parameter, click.Argument) and metavar.lower() == ARGUMENTS.get(word, word):
            return f"Did you mean {metavar} without an option?"
    return None
