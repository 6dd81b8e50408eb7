"""``kafkastore check``: verifies the files of log directories.

Faults go to stdout, one line each; the progress bar and refusals to stderr. Never writes a file and takes no lock.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import TYPE_CHECKING

import click

from kafkastore.cli.outcome import FailedError
from kafkastore.cli.output import printable
from kafkastore.cli.progress import Bar, Reading, progress_option
from kafkastore.system import processors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkastore._core import Check, CheckFinding, CheckProgress, CheckReport
    from kafkastore.spark.pipeline.replicas import Finding
    from kafkastore.spark.pipeline.verify import VerifyReport

_POLL_S = 0.1


@click.command("check")
@click.argument("paths", metavar="DIR...", nargs=-1, type=click.Path())
@click.option("--topic", metavar="NAME", help="Only this topic.")
@click.option("--deep-iteration", "is_deep", is_flag=True, help="Also inflate and decode every record.")
@click.option(
    "--threads",
    metavar="N",
    type=click.IntRange(1, 1024),
    help="Segments checked at a time.  [default: one for each core]",
)
@click.option(
    "--json", "is_json", is_flag=True, help="One JSON object a line: faults, warnings and notes, then the summary."
)
@progress_option
def command(
    paths: tuple[str, ...],
    topic: str | None,
    is_deep: bool,
    threads: int | None,
    is_json: bool,
    shows_progress: bool,
) -> int:
    """Verify every file of log directories; a broker may run meanwhile.

    DIR is an entry of log.dirs, a partition's directory or a .log file. Looked at are every batch's length, magic, CRC
    and offsets, every entry of offset, time and transaction indexes, producer snapshots, checkpoints and names. Reads
    only and takes no lock: what a broker writes meanwhile is not judged.

    Exit status: 0 no fault, 1 faults were found, 2 wrong usage or a path that cannot be checked.
    """
    if not paths:
        raise click.UsageError(
            "no directory is given; name an entry of log.dirs, a partition's directory or a .log file"
        )
    from kafkastore._core import Check

    check = Check(list(paths), topic=topic, threads=threads or processors(), deep=is_deep)
    began = time.monotonic()
    try:
        report = run_check(check, shows_progress)
    except ValueError as error:
        raise FailedError(error, status=2) from None
    seconds = time.monotonic() - began
    for finding in report.findings:
        sys.stdout.write(json_of(finding) if is_json else line_of(finding))
    sys.stdout.write(summary_of(report, seconds, is_json))
    return 1 if report.faults else 0


def run_check(check: Check, shows_progress: bool) -> CheckReport:
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
        with Bar(is_shown=shows_progress) as bar:
            while thread.is_alive():
                thread.join(_POLL_S)
                bar.show(_reading(check.progress()))
    except KeyboardInterrupt:
        check.cancel()
        thread.join()
        raise
    if failure:
        raise failure[0]
    return outcome[0]


def _reading(progress: CheckProgress) -> Reading:
    done, total = progress.bytes_walked, progress.bytes_in_all
    segments = f"{progress.segments_done} of {progress.segments_in_all} segments"
    return Reading(done, total, f"{done / 1e9:.2f} of {total / 1e9:.2f} GB, {segments}")


def line_of(finding: CheckFinding | Finding) -> str:
    """A finding as a line of text."""
    place = finding.path if finding.position is None else f"{finding.path} at {finding.position}"
    return f"{finding.severity}: {printable(place)}: {printable(finding.message)}\n"


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
