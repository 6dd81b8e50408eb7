"""The audit log, under Kafka's name for it: refusals, which the data plane writes
(``rust/broker/requests/authorization.rs``), changes of ACLs (``acls.py``), and other administrative acts
(``requests/administrative_acts.py``).

At most :data:`LINES` lines a second of each writer; the next line says how many were left out. A line is printable and
of :data:`CHARACTERS` characters at most, whatever names clients give. Times are passed in.
"""

from __future__ import annotations

import logging
from typing import Final

from kafkastore.client_log import shown

audit = logging.getLogger("kafka.authorizer.logger")

LINES: Final = 20
"""Lines of one writer in a second, as in the data plane."""

CHARACTERS: Final = 1000


class AuditLog:
    """One writer."""

    __slots__ = ("_asked", "_since_s")

    def __init__(self) -> None:
        self._since_s = float("-inf")
        self._asked = 0  # lines since then, with those that were left out

    def is_full(self, now_s: float) -> bool:
        """Whether the next line would be left out. It then counts as left out."""
        if now_s - self._since_s < 1.0 and self._asked >= LINES:
            self._asked += 1
            return True
        return False

    def write(self, line: str, now_s: float) -> None:
        if self.is_full(now_s):
            return
        left_out = 0
        if now_s - self._since_s >= 1.0:
            left_out = max(self._asked - LINES, 0)
            self._since_s, self._asked = now_s, 0
        self._asked += 1
        after = f" ({left_out} more lines before it are left out)" if left_out else ""
        audit.info("%s%s", shown(line, CHARACTERS), after)
