"""``kafkastore check``: verifies the files of log directories.

Faults go to stdout, one line each; the progress bar and refusals to stderr. Never writes a file and takes no lock.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import TYPE_CHECKING

from kafkastore.cli.arguments import Parser, whole_number
from kafkastore.cli.usage import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

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


def main(arguments: list[str]) -> int:
    """Runs a check; returns the exit status, see USAGE. Raises UsageError."""
    parsed = parse_arguments(arguments)
    from kafkastore._core import Check

    check = Check(parsed.paths, topic=parsed.topic, threads=parsed.threads, deep=parsed.deep)
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


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    """Parses the command line. Raises UsageError with one sentence."""
    parser = Parser("check", "; see kafkastore check --help")
    parser.add_argument("paths", metavar="DIR", nargs="*")
    parser.add_argument("--topic")
    parser.add_argument("--threads", type=whole_number(1, 1024), default=len(os.sched_getaffinity(0)))
    parser.add_argument("--deep-iteration", dest="deep", action="store_true")
    parser.add_argument("--json", dest="as_json", action="store_true")
    parser.add_argument("--no-progress", dest="progress", action="store_false")
    parsed = parser.parse_intermixed_args(arguments)
    if not parsed.paths:
        raise UsageError("no directory is given; name an entry of log.dirs, a partition's directory or a .log file")
    return parsed


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
