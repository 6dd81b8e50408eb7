"""How much of a matrix a run plays: `make test` a covering part, `make proof` all of it.

A part is a covering array (each value of each parameter, and the pairs that have found something) or a number of
seeds. A test that only `make proof` runs has the marker ``proof``; the other run does not collect it.
"""

from __future__ import annotations

import os
from typing import TypeVar

T = TypeVar("T")

VARIABLE = "KAFKASTORE_TESTS"
IS_WHOLE = os.environ.get(VARIABLE) == "whole"
if os.environ.get(VARIABLE) not in (None, "", "whole"):
    raise ValueError(f"{VARIABLE}={os.environ[VARIABLE]}: give whole, or leave it out")


def played(part: T, whole: T) -> T:
    """``part`` in `make test`, ``whole`` in `make proof`. What the part names, the whole names alike: the ids of the
    tests in the part are among those of the whole."""
    return whole if IS_WHOLE else part
