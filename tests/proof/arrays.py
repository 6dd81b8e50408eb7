"""Covering arrays: a few rows of a matrix in which all pairs of values are, of each two parameters.

A fault of a matrix nearly always needs one value, or two together (Kuhn, Wallace and Gallo, "Software Fault
Interactions and Implications for Software Testing", 2004); three and more are left to `make proof`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations, product
from typing import Any


def pairs_of(row: Sequence[Any]) -> set[tuple[int, int, Any, Any]]:
    """Each two values of a row, with their places."""
    return {(i, j, row[i], row[j]) for i, j in combinations(range(len(row)), 2)}


def pairwise(*values: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Rows of the product of ``values`` that have all pairs. Greedy, and the same each time: the next row is the first
    that has the most pairs which no row has yet. Of two parameters that is the whole product."""
    rows = list(product(*values))
    missing: set[tuple[int, int, Any, Any]] = set().union(*map(pairs_of, rows))
    chosen = []
    while missing:
        best = max(rows, key=lambda row: len(pairs_of(row) & missing))
        chosen.append(best)
        missing -= pairs_of(best)
    return chosen
