"""Searches seeds for planted bugs: ``cd tests && python -m simulator.hunt truncate-to-hw late-produce:transactions``.

Of each bug, with a script behind a colon or without, the first seeds are played with the bug until one fails; then that
seed is played without the bug. One interpreter serves all: each search is in a process of its own that is forked from
it, since what is planted stays. One line of JSON is printed for each, in the order of the arguments:
``{"search": "truncate-to-hw", "seed": 7, "violations": [...], "without": [], "seconds": 3.1}``; ``seed`` is null when
no seed failed. The exit status is 1 when a bug was not found, or its seed fails without it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from functools import partial
from multiprocessing import get_context
from typing import Any

import simulator.core  # noqa: F401 - before anything that imports the data plane
from simulator.planted import BUGS
from simulator.playing import begin, play
from simulator.scripts import SCRIPTS


def _search(first: int, seeds: int, search: str) -> dict[str, Any]:
    bug, script = _parts(search)
    began = time.monotonic()
    begin(bug)
    found: dict[str, Any] = {"search": search, "seed": None, "violations": [], "without": []}
    for seed in range(first, first + seeds):
        played = play(script, False, seed)
        if played.violations:
            found |= {"seed": seed, "violations": played.violations}
            break
    return found | {"seconds": round(time.monotonic() - began, 1)}


def _without(found: dict[str, Any]) -> dict[str, Any]:
    begin(None)
    if found["seed"] is None:
        return found
    return found | {"without": play(_parts(found["search"])[1], False, found["seed"]).violations}


def _parts(search: str) -> tuple[str, str | None]:
    bug, _, script = search.partition(":")
    return bug, script or None


def _known(search: str) -> str:
    bug, script = _parts(search)
    if bug not in BUGS or script not in (None, *SCRIPTS):
        raise argparse.ArgumentTypeError(f"{search}: bugs are {', '.join(BUGS)}; scripts are {', '.join(SCRIPTS)}")
    return search


def main() -> int:
    parser = argparse.ArgumentParser(prog="simulator.hunt", description="Searches seeds for planted bugs.")
    parser.add_argument("searches", nargs="+", type=_known, metavar="BUG[:SCRIPT]")
    parser.add_argument("--from", type=int, default=1, dest="first", help="the first seed")
    parser.add_argument("--seeds", type=int, default=200, help="how many to search at the most")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes at once")
    given = parser.parse_args()
    is_well = True
    with get_context("fork").Pool(given.jobs, maxtasksperchild=1) as pool:
        searches = pool.imap(partial(_search, given.first, given.seeds), given.searches, chunksize=1)
        for found in pool.imap(_without, searches, chunksize=1):
            print(json.dumps(found), flush=True)
            is_well &= found["seed"] is not None and not found["without"]
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
