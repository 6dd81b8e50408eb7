"""Plays seeds: ``cd tests && python -m simulator --seeds 1000``; ``--help`` and docs/internals/simulator.md say more.

The last line is for machines: a JSON object with the number of seeds, of failures, and the first seed that failed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from functools import partial
from multiprocessing import get_context
from typing import TYPE_CHECKING

import simulator.core  # noqa: F401 - before anything that imports the data plane
from simulator.planted import BUGS
from simulator.playing import Played, begin, play
from simulator.scripts import SCRIPTS

if TYPE_CHECKING:
    from collections.abc import Iterator

SHOWN_LINES = 60
"""Of the trace of a seed that failed; --trace shows all."""


def _all(seeds: range, arguments: argparse.Namespace) -> Iterator[Played]:
    """In the order of the seeds."""
    jobs, planted = arguments.jobs, arguments.planted
    one = partial(play, arguments.script, arguments.trace)
    if jobs == 1:
        begin(planted)
        yield from map(one, seeds)
        return
    with get_context("fork").Pool(jobs, begin, (planted,)) as pool:
        yield from pool.imap(one, seeds, chunksize=2)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="simulator", description="Plays a cluster once for each seed.")
    parser.add_argument("--seeds", type=int, default=1000, help="how many")
    parser.add_argument("--from", type=int, default=1, dest="first", help="the first one")
    parser.add_argument(
        "--limit", type=float, default=0.0, help="seconds after which no other seed is begun; 0 for none"
    )
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes")
    parser.add_argument("--planted", choices=sorted(BUGS), help="a bug to plant; ends at the first seed that fails")
    parser.add_argument("--script", choices=sorted(SCRIPTS), help="faults in an order of its own (scripts.py)")
    parser.add_argument("--trace", action="store_true", help="prints all that happened")
    parser.add_argument("--digests", action="store_true", help="prints a digest of what happened")
    return parser.parse_args()


def _show(played: Played, arguments: argparse.Namespace) -> None:
    if arguments.digests:
        print(f"seed {played.seed}: {played.digest}")
    if arguments.trace:
        print("\n".join(played.trace))
    if played.violations:
        print(f"seed {played.seed} fails:")
        for line in played.violations[:10]:
            print(f"  {line}")
        if not arguments.trace:
            print("\n".join(f"    {line}" for line in played.trace[-SHOWN_LINES:]))


def main() -> int:
    arguments = _arguments()
    began = time.monotonic()
    count = acknowledged = leaders = segments = 0
    failed: list[int] = []
    seeds = range(arguments.first, arguments.first + arguments.seeds)
    for played in _all(seeds, arguments):
        count += 1
        acknowledged += played.acknowledged
        leaders += played.leaders
        segments += played.segments
        _show(played, arguments)
        if played.violations:
            failed.append(played.seed)
            if arguments.planted:
                break
        if arguments.limit and time.monotonic() - began > arguments.limit:
            break
    took = time.monotonic() - began
    rate = f"{count} seeds in {took:.1f} s: {count / took:.1f} a second"
    print(f"{rate}, {acknowledged} records, {leaders} leaders; {len(failed)} failed")
    told = {"seeds": count, "failed": failed, "seconds": round(took, 1), "planted": arguments.planted}
    print(json.dumps(told | {"leaders": leaders, "acknowledged": acknowledged, "segments": segments}))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
