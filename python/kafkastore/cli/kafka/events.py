"""The events of ``kafka-verifiable-producer`` and ``kafka-verifiable-consumer``: an object of JSON a line on stdout."""

from __future__ import annotations

import json
import sys
import time
from typing import Any


def print_event(name: str, **fields: Any) -> None:
    """With the time in milliseconds before all."""
    event = {"timestamp": time.time_ns() // 1_000_000, "name": name, **fields}
    sys.stdout.write(f"{json.dumps(event, ensure_ascii=False, separators=(',', ':'))}\n")
    sys.stdout.flush()
