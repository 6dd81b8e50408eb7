"""Counts the opcodes that Python executes: a measure of work that is the same on a busy machine as on an idle one.

It does not measure C code: a bound on opcodes finds a quadratic loop, and not one quadratic call into C.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def opcodes_of(work: Callable[[], object]) -> int:
    """How many opcodes ``work()`` executes in this thread, in all frames that it enters."""
    count = 0

    def each(_frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal count
        count += event == "opcode"
        return each

    def entered(frame: FrameType, _event: str, _argument: Any) -> Any:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return each

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        work()
    finally:
        sys.settrace(before)
    return count
