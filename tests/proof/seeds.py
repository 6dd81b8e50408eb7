"""The seed that a run begins with.

`make test` takes it from the commit: a commit plays the same seeds everywhere, the next one others. `make proof` draws
it, so that each proof plays fresh seeds. The last lines of a run name it, and KAFKASTORE_SEED in the environment gives
it, which plays a run again.
"""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

from proof.scope import played

VARIABLE = "KAFKASTORE_SEED"
NO_COMMIT = 0
HEX_DIGITS = 8
"""Of the commit: more seeds apart than one run plays, for nearly all pairs of commits."""


def seed_of_commit(folder: Path = Path(__file__).parent) -> int:
    """The beginning of the id of HEAD; NO_COMMIT where there is no git or no commit."""
    try:
        done = subprocess.run(
            ["git", "rev-parse", "--verify", "HEAD"], cwd=folder, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return NO_COMMIT
    return int(done.stdout[:HEX_DIGITS], 16)


def drawn_seed() -> int:
    return random.SystemRandom().randrange(16**HEX_DIGITS)


def first_seed() -> int:
    """The same for all processes of a run: the first call sets the variable."""
    if VARIABLE not in os.environ:
        os.environ[VARIABLE] = str(played(seed_of_commit, drawn_seed)())
    given = os.environ[VARIABLE]
    if not given.isdecimal():
        raise ValueError(f"{VARIABLE}={given}: give a number")
    return int(given)
