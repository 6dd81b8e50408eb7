"""Runs ``kafkastore`` with a mirror that kills itself with SIGKILL around a call of its producer.

    python -m tools.dying_mirror METHOD COUNT before|after WORD...

Its transactions are small.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from kafkastore._core import Producer
from kafkastore.cli.main import main
from kafkastore.migration import lane


class DyingProducer:
    """A producer that dies before or after the call of a method with this number."""

    method, left, moment = "", 0, ""

    def __init__(self, keys: dict[str, str]) -> None:
        self._producer = Producer(keys)

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._producer, name)
        return self._guarded(call) if name == self.method else call

    def _guarded(self, call: Any) -> Any:
        def dying(*given: Any) -> Any:
            DyingProducer.left -= 1
            if self.left == 0 and self.moment == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            result = call(*given)
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return dying


if __name__ == "__main__":
    DyingProducer.method, DyingProducer.left, DyingProducer.moment = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    lane.RECORDS_AT_ONCE, lane.MOST_RECORDS = 200, 500  # type: ignore[misc]
    lane.Producer = DyingProducer  # type: ignore[assignment,misc]
    sys.exit(main(sys.argv[4:]))
