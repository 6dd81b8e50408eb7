"""How a process plays seeds: prepared once, then a seed after another. Whoever imports this has imported
``simulator.core`` before."""

from __future__ import annotations

import gc
import resource
import sys
from typing import NamedTuple

from simulator.planted import BUGS
from simulator.scripts import SCRIPTS
from simulator.world import run


class Played(NamedTuple):
    """What became of a seed."""

    seed: int
    digest: str
    acknowledged: int
    leaders: int
    segments: int
    violations: list[str]
    trace: list[str]
    """Of a seed that fails, or of all with --trace."""


def begin(planted: str | None) -> None:
    """In each process that plays; what is planted stays as long as the process."""
    sys.unraisablehook = lambda _: None  # what is left of killed brokers is thrown away by the collector, not by a loop
    gc.disable()
    gc.collect()
    gc.freeze()  # what was imported is never looked at again
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # the files of all brokers, and of all their earlier lives
    if planted is not None:
        BUGS[planted]()


def play(script: str | None, is_traced: bool, seed: int) -> Played:
    outcome = run(seed, None if script is None else SCRIPTS[script])
    gc.collect()
    violations = [str(violation) for violation in outcome.violations]
    trace = outcome.trace if is_traced or violations else []
    return Played(seed, outcome.digest, outcome.acknowledged, outcome.leaders, outcome.segments, violations, trace)
