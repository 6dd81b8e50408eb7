"""The outcomes of a scenario's trials as one row of a table in Markdown."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cluster.faults.trial import Outcome

HEAD = (
    "| scenario | store | runs | acknowledged | lost | duplicated | divergent | resumed after, median | at most | "
    "committed / aborted / unknown | torn | violations |\n|---|---|---|---|---|---|---|---|---|---|---|---|"
)


def row(scenario: str, store: str, outcomes: Sequence[Outcome]) -> str:
    times = [one.resumed_after_s for one in outcomes if one.resumed_after_s is not None]
    transactions = [one.transactions for one in outcomes if one.transactions is not None]
    cells = [
        scenario,
        store,
        str(len(outcomes)),
        f"{sum(one.acked for one in outcomes):,}",
        str(sum(one.lost for one in outcomes)),
        str(sum(one.duplicated for one in outcomes)),
        str(sum(one.divergent for one in outcomes)),
        f"{median(times):.1f} s" if times else "",
        f"{max(times):.1f} s" if times else "",
        " / ".join(f"{sum(counts):,}" for counts in zip(*transactions, strict=True)),
        str(sum(one.torn for one in outcomes)) if transactions else "",
        str(sum(bool(one.violations) for one in outcomes)),
    ]
    return f"| {' | '.join(cells)} |"
