"""A scan with pushed filters belongs to one query; this module notices when Spark runs it for another query.

Spark 4.1 to 4.3 keep the plan with pushed filters in the loaded frame, and use it again for a later query over the same
frame that pushes no filters: that query would silently read too little. (Spark's master branch keeps the plan with the
query.) A reader cannot see the query, but a task knows the number of its execution: the first task of a plan on a host
writes the number into a file, and a task of another execution fails with a sentence that says what to do.

    <temporary folder>/kafkastore-spark-<user id>/<plan>     the execution's number

The check errs on the safe side: a filtered frame that is cached and then used by several actions is refused too. It
misses an execution whose tasks all run on other hosts than those of the first execution. Each task that makes a file
removes the files that are older than a day.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

MAX_AGE_S = 24 * 3600


class ReusedPlanError(RuntimeError):
    """A plan was run for a second query."""


def claim(plan: str, execution: str) -> None:
    """Claims the plan for this execution. Raises ReusedPlanError when another execution has claimed it."""
    folder = Path(tempfile.gettempdir()) / f"kafkastore-spark-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / plan
    own = folder / f"{plan}.{os.getpid()}"
    own.write_text(execution)
    try:
        first = _first_of(own, path)
    finally:
        own.unlink(missing_ok=True)
    if first is None:
        _sweep(folder)
    elif first != execution:
        raise ReusedPlanError(
            "pushFilters: this frame was planned with the filters of an earlier query, which Spark would use again "
            "for this one; load() the source anew for each query, or set pushFilters to false"
        )


def _first_of(own: Path, path: Path) -> str | None:
    """The execution that has claimed the plan; None when the file ``own`` claims it now."""
    while True:
        try:
            os.link(own, path)  # atomic: the file is never seen half written
        except FileExistsError:
            try:
                return path.read_text()
            except FileNotFoundError:  # another task has just removed the old claim
                continue
        return None


def _sweep(folder: Path) -> None:
    for path in folder.iterdir():
        try:
            if time.time() - path.stat().st_mtime > MAX_AGE_S:
                path.unlink()
        except FileNotFoundError:
            continue
