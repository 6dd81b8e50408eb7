"""The states of a classic group, as one table.

::

    Empty ──▶ PreparingRebalance ──▶ CompletingRebalance ──▶ Stable
      ▲          │   ▲    ▲                 │                 │
      └──────────┘   │    └─────────────────┘                 │
                     └────────────────────────────────────────┘
    any ──▶ Dead (removed, or its partition moved to another broker)

Place: ``Group.transition_to`` is the only reader. Never: does I/O or looks at members.
"""

from __future__ import annotations

from typing import Final

EMPTY: Final = "Empty"
PREPARING_REBALANCE: Final = "PreparingRebalance"
COMPLETING_REBALANCE: Final = "CompletingRebalance"
STABLE: Final = "Stable"
DEAD: Final = "Dead"

STATES: Final = (EMPTY, PREPARING_REBALANCE, COMPLETING_REBALANCE, STABLE, DEAD)

# state -> the states it may be entered from
VALID_PREVIOUS_STATES: Final[dict[str, frozenset[str]]] = {
    EMPTY: frozenset({PREPARING_REBALANCE}),
    PREPARING_REBALANCE: frozenset({EMPTY, COMPLETING_REBALANCE, STABLE}),
    COMPLETING_REBALANCE: frozenset({PREPARING_REBALANCE}),
    STABLE: frozenset({COMPLETING_REBALANCE}),
    DEAD: frozenset(STATES),
}
