"""Plays seeds: ``cd tests && python -m simulator --seeds 1000``; ``--help`` and docs/internals/simulator.md say more.

The last line is for machines: a JSON object with the number of seeds, of failures, and the first seed that failed.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import resource
import sys
import time
from functools import partial
from multiprocessing import get_context
from typing import TYPE_CHECKING, NamedTuple

import simulator.core  # noqa: F401 - before anything that imports the data plane
from simulator.planted import BUGS
from simulator.scripts import SCRIPTS
from simulator.world import run

if TYPE_CHECKING:
    from collections.abc import Iterator

SHOWN_LINES = 60
"""Of the trace of a seed that failed; --trace shows all."""


class Played(NamedTuple):
    seed: int
    digest: str
    acknowledged: int
    leaders: int
    segments: int
    violations: list[str]
    trace: list[str]
    """Of a seed that fails, or of all with --trace."""


def _begin(planted: str | None) -> None:
    """In each process that plays."""
    sys.unraisablehook = lambda _: None  # what is left of killed brokers is thrown away by the collector, not by a loop
    gc.disable()
    gc.collect()
    gc.freeze()  # what was imported is never looked at again
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # the files of all brokers, and of all their earlier lives
    if planted is not None:
        BUGS[planted]()


def _play(script: str | None, is_traced: bool, seed: int) -> Played:
    outcome = run(seed, None if script is None else SCRIPTS[script])
    gc.collect()
    violations = [str(violation) for violation in outcome.violations]
    trace = outcome.trace if is_traced or violations else []
    return Played(seed, outcome.digest, outcome.acknowledged, outcome.leaders, outcome.segments, violations, trace)


def _all(seeds: range, arguments: argparse.Namespace) -> Iterator[Played]:
    """In the order of the seeds."""
    jobs, planted = arguments.jobs, arguments.planted
    play = partial(_play, arguments.script, arguments.trace)
    if jobs == 1:
        _begin(planted)
        yield from map(play, seeds)
        return
    with get_context("fork").Pool(jobs, _begin, (planted,)) as pool:
        yield from pool.imap(play, seeds, chunksize=2)


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
    begin = time.monotonic()
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
        if arguments.limit and time.monotonic() - begin > arguments.limit:
            break
    took = time.monotonic() - begin
    rate = f"{count} seeds in {took:.1f} s: {count / took:.1f} a second"
    print(f"{rate}, {acknowledged} records, {leaders} leaders; {len(failed)} failed")
    told = {"seeds": count, "failed": failed, "seconds": round(took, 1), "planted": arguments.planted}
    print(json.dumps(told | {"leaders": leaders, "acknowledged": acknowledged, "segments": segments}))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
