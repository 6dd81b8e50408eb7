"""``kafkastore check``: verifies the files of log directories.

Faults go to stdout, one line each; the progress bar and refusals to stderr. Never writes a file and takes no lock.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kafkastore._core import Check, CheckFinding, CheckProgress, CheckReport
    from kafkastore.spark.pipeline.replicas import Finding
    from kafkastore.spark.pipeline.verify import VerifyReport

USAGE = """\
usage: kafkastore check DIR... [options]

Verifies log directories, partition directories or single .log files: every batch's length, magic, CRC and offsets,
every entry of offset, time and transaction indexes, producer snapshots, checkpoints and names. Reads only, takes no
lock, and may run beside a broker: what is written meanwhile is not judged.

options:
  --topic NAME       only this topic
  --deep-iteration   also inflate and decode every record
  --threads N        segments checked at a time (default: one for each core)
  --json             one JSON object a line: faults, warnings and notes, then the summary
  --no-progress      no progress bar (there is one only when stderr is a terminal)
  -h, --help         show this text

exit status: 0 no fault, 1 faults were found, 2 wrong usage or a path that cannot be checked
"""

_POLL_S = 0.1
_BAR_WIDTH = 30


class UsageError(Exception):
    """The command line cannot be understood."""


@dataclass
class Arguments:
    """The options of the command line."""

    paths: list[str] = field(default_factory=list)
    topic: str | None = None
    threads: int = 0
    deep: bool = False
    as_json: bool = False
    progress: bool = True
    help: bool = False


def main(arguments: list[str]) -> int:
    """Runs a check; returns the exit status, see USAGE."""
    try:
        parsed = parse_arguments(arguments)
    except UsageError as error:
        sys.stderr.write(f"kafkastore check: {error}\n")
        return 2
    if parsed.help:
        sys.stdout.write(USAGE)
        return 0
    from kafkastore._core import Check

    threads = parsed.threads or len(os.sched_getaffinity(0))
    check = Check(parsed.paths, topic=parsed.topic, threads=threads, deep=parsed.deep)
    began = time.monotonic()
    try:
        report = _run(check, parsed.progress and sys.stderr.isatty())
    except ValueError as error:
        sys.stderr.write(f"kafkastore check: {error}\n")
        return 2
    seconds = time.monotonic() - began
    for finding in report.findings:
        sys.stdout.write(json_of(finding) if parsed.as_json else line_of(finding))
    sys.stdout.write(summary_of(report, seconds, parsed.as_json))
    return 1 if report.faults else 0


def parse_arguments(arguments: list[str]) -> Arguments:
    """Parses the command line. Raises UsageError with one sentence."""
    parsed = Arguments()
    remaining = iter(arguments)
    for argument in remaining:
        name, equals, value = argument.partition("=")
        if name in ("--topic", "--threads"):
            _set(parsed, name, value if equals else _next(name, remaining))
        elif argument in ("-h", "--help"):
            parsed.help = True
        elif argument == "--deep-iteration":
            parsed.deep = True
        elif argument == "--json":
            parsed.as_json = True
        elif argument == "--no-progress":
            parsed.progress = False
        elif argument.startswith("-"):
            raise UsageError(f"unknown option {argument}; see kafkastore check --help")
        else:
            parsed.paths.append(argument)
    if not parsed.paths and not parsed.help:
        raise UsageError("no directory is given; name an entry of log.dirs, a partition's directory or a .log file")
    return parsed


def _next(name: str, remaining: Iterator[str]) -> str:
    value = next(remaining, None)
    if value is None:
        raise UsageError(f"{name} needs a value after it")
    return value


def _set(parsed: Arguments, name: str, value: str) -> None:
    if name == "--topic":
        parsed.topic = value
        return
    if not (value.isascii() and value.isdigit() and 1 <= int(value) <= 1024):
        raise UsageError(f"--threads {value} is not a number from 1 to 1024")
    parsed.threads = int(value)


def _run(check: Check, shows_progress: bool) -> CheckReport:
    """Runs the check in a thread of its own, so that the calling thread can show progress and be interrupted."""
    outcome: list[CheckReport] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(check.run())
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
            failure.append(error)

    thread = threading.Thread(target=run, name="check")
    thread.start()
    try:
        while thread.is_alive():
            thread.join(_POLL_S)
            if shows_progress:
                sys.stderr.write("\r" + _bar(check.progress()))
                sys.stderr.flush()
    except KeyboardInterrupt:
        check.cancel()
        thread.join()
        raise
    finally:
        if shows_progress:
            sys.stderr.write("\r\x1b[K")
    if failure:
        raise failure[0]
    return outcome[0]


def _bar(progress: CheckProgress) -> str:
    done, total = progress.bytes_walked, progress.bytes_in_all
    part = min(done / total, 1.0) if total else 0.0
    filled = round(part * _BAR_WIDTH)
    bar = "#" * filled + "-" * (_BAR_WIDTH - filled)
    segments = f"{progress.segments_done} of {progress.segments_in_all} segments"
    return f"[{bar}] {part:4.0%}  {done / 1e9:.2f} of {total / 1e9:.2f} GB, {segments}"


def line_of(finding: CheckFinding | Finding) -> str:
    """A finding as a line of text."""
    place = finding.path if finding.position is None else f"{finding.path} at {finding.position}"
    return f"{finding.severity}: {_printable(place)}: {_printable(finding.message)}\n"


def _printable(text: str) -> str:
    """The text with control characters escaped: a file's name or contents may hold any."""
    return text if text.isprintable() else "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


def json_of(finding: CheckFinding | Finding) -> str:
    """A finding as a line of JSON."""
    return json.dumps({key: getattr(finding, key) for key in ("severity", "path", "position", "message")}) + "\n"


def summary_of(
    report: CheckReport | VerifyReport, seconds: float, as_json: bool, more: Mapping[str, int] | None = None
) -> str:
    """The last line: the totals, and ``more`` of them."""
    totals = {name: getattr(report, name) for name in ("partitions", "segments", "batches", "records", "bytes")}
    totals |= more or {}
    faults = report.faults
    rate = report.bytes / max(seconds, 1e-9) / 1e9
    if as_json:
        rounded = {"seconds": round(seconds, 3), "gb_per_s": round(rate, 3)}
        return json.dumps({"severity": "summary", **totals, **rounded, "faults": faults}) + "\n"
    counted = ", ".join(f"{total} {name}" for name, total in totals.items())
    return f"{counted} in {seconds:.2f} s ({rate:.2f} GB/s): {faults} {'fault' if faults == 1 else 'faults'}\n"
