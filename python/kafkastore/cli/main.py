"""The ``kafkastore`` command: finds the subcommand and runs it. Imports only the code of that subcommand.

click parses, helps and completes. Two kinds of command go past it: ``broker``, whose start is not to wait for it, and
Kafka's own tools (``kafkastore kafka-topics``), which have their own way with flags.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from contextlib import suppress
from typing import Final, TextIO

ENDED_BY_SIGNAL: Final = 128
"""What a shell adds to the number of a signal."""

FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Errors of a file or a disk that takes no more."""

NO_UTF8: Final = "what is given has a text that is not UTF-8; write it in UTF-8"
"""It is not shown: it may be a password."""

MISUSED: Final = 2
"""The exit status of a command line that is not understood."""


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line; returns the exit status: of every command 130 after Ctrl-C, 141 when nobody reads what it
    prints, 1 when that cannot be written.
    """
    _keep_standard_descriptors()
    given = sys.argv[1:] if arguments is None else arguments
    try:
        status = _run(given)
    except BrokenPipeError:  # the reader, `head` for instance, has seen enough
        status = ENDED_BY_SIGNAL + signal.SIGPIPE
    except KeyboardInterrupt:
        status = ENDED_BY_SIGNAL + signal.SIGINT
    except OSError as error:  # of stdout that is not buffered, or whose buffer was full
        if error.errno not in FULL or error.filename is not None:
            raise
        status = _unwritten(given, error)
    return _written(given, status)


def kafka_tool() -> int:
    """Runs one of Kafka's tools, whose name the process was started by."""
    return main([os.path.basename(sys.argv[0]), *sys.argv[1:]])


def _run(given: list[str]) -> int:
    if given[:1] == ["help"]:
        given = [*given[1:], "--help"]
    name = given[0] if given else ""
    if name == "broker":
        from kafkastore.cli import broker_start

        if (understood := broker_start.understood(given[1:])) is not None:
            return broker_start.run(*understood)
    if name.startswith("kafka-"):
        from importlib import import_module

        # by its name, as the commands: it is above this module
        status: int = import_module("kafkastore.cli.kafka.run").run(name, given[1:])
        return status
    return _clicked(given)


def _clicked(given: list[str]) -> int:
    """Runs a command that click parses; what it raises becomes one sentence on stderr and an exit status."""
    import click

    from kafkastore.cli.commands import COMPLETE_VARIABLE, path_of, root
    from kafkastore.cli.guesses import sentence_of
    from kafkastore.cli.outcome import FailedError, RefusedError
    from kafkastore.cli.scan_sentences import option_names
    from kafkastore.errors import KafkastoreError

    if COMPLETE_VARIABLE in os.environ:  # a shell asks for words
        root.main(given, prog_name="kafkastore", complete_var=COMPLETE_VARIABLE)
    try:
        # not root.main(): it has an exit status of its own for a reader that has gone away
        with root.make_context("kafkastore", list(given)) as context:
            status = root.invoke(context)
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return MISUSED
    except click.UsageError as error:
        path = path_of(given) if error.ctx is None else error.ctx.command_path
        sentence = sentence_of(error)
        _tell(path, f"{sentence}{'' if sentence.endswith('?') else ';'} see {path} --help")
        return MISUSED
    except click.Abort:  # Ctrl-C, or the end of the input, where a question was asked
        raise KeyboardInterrupt from None
    except RefusedError:
        return 1
    except FailedError as error:
        _tell(path_of(given), str(error))
        return error.status
    except KafkastoreError as error:
        _tell(path_of(given), option_names(error.client_message))
        return 1
    except UnicodeEncodeError:
        _tell(path_of(given), NO_UTF8)
        return MISUSED
    return status if isinstance(status, int) else 0


def _tell(path: str, sentence: str) -> None:
    from kafkastore.cli.output import printable

    with suppress(OSError):
        sys.stderr.write(f"{path}: {printable(sentence)}\n")


def _unwritten(given: list[str], error: OSError) -> int:
    program = " ".join(["kafkastore", *given[:1]])
    with suppress(OSError):
        sys.stderr.write(f"{program}: what it says cannot be written ({error.strerror or error})\n")
    return 1


def _written(given: list[str], status: int) -> int:
    """The exit status when all that was printed is written. What cannot be is dropped here: Python would tell of it
    when it ends, with a status of its own.
    """
    try:
        sys.stdout.flush()
    except OSError as error:
        _drop(sys.stdout)
        if isinstance(error, BrokenPipeError):
            status = ENDED_BY_SIGNAL + signal.SIGPIPE
        else:
            status = status or _unwritten(given, error)
    try:
        sys.stderr.flush()
    except OSError:
        _drop(sys.stderr)
    return status


def _drop(stream: TextIO) -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)


def _keep_standard_descriptors() -> None:
    """Opens closed standard descriptors, as a supervisor may leave them, on /dev/null. The next files to be opened, the
    metadata store's among them, would get their numbers otherwise, and output would be written into those files."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
    if sys.stdin is None:
        sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
