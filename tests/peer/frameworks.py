"""A folder of FastStream, Faust and Quix Streams, made once into the cache folder from what ``frameworks.txt`` pins.

It goes on the path of a process before the tests' environment, whose click and confluent-kafka are newer than they ask.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from peer.cache import digest, filled

PINS: Final = Path(__file__).with_name("frameworks.txt")


def frameworks() -> Path:
    install = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", sys.executable, "--no-deps"]
    return filled(f"frameworks-{digest(PINS)}", [*install, "--target", "{}", "-r", str(PINS)])


if __name__ == "__main__":
    frameworks()  # fills the cache
