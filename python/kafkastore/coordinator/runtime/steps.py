"""Long work in steps: walks over a coordinator's state (groups, members, offsets), written without a loop.

Place: the parts of a coordinator yield; ``running`` runs their steps on the loop, tests by hand.
A generator yields ``None`` where it may stop, at least after every ``ITEMS`` items, and ``Appends`` where it needs
records written. The time between two yields is one step, and nothing else runs within it. Invariant: the appends that a
step asks for are begun before anything else runs, so a condition that the step checked still holds when its records
take their place in the log. Rule: after a yield, state may have changed, moved to another broker or been removed. A
caller that relied on a condition checks it again; the function that yields says which.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

if TYPE_CHECKING:
    from kafkastore.coordinator.runtime.internal_log import AppendDone

T = TypeVar("T")

ITEMS: Final = 32
"""Items (rows, members, offsets, records) between two yields: some 0.1 ms."""

LONG_ID: Final = 1000
"""Letters of a long id; to find the partition of an id of 32,000 letters takes 2 ms."""


class BatchAppendResult(NamedTuple):
    error_code: int
    base_offset: int  # of the first record, or -1


Appends = Sequence[Callable[["AppendDone"], None]]  # each begins one append; all are under way at once
Steps = Generator[Appends | None, Sequence[BatchAppendResult] | None, T]


def appended(appends: Appends) -> Steps[Sequence[BatchAppendResult]]:
    """Returns the results of the appends, in order, when all of them have ended."""
    results = yield appends
    assert results is not None
    return results
