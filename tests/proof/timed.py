"""Runs a command and adds its CPU and wall seconds, with those of all processes that it waited for, as a line of JSON
to the file that ``KAFKASTORE_SECONDS`` names: ``python3 tests/proof/timed.py NAME COMMAND …``. Needs no package.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

VARIABLE = "KAFKASTORE_SECONDS"


def cpu_s_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main(name: str, *command: str) -> int:
    begin = time.monotonic()
    status = subprocess.run(command, check=False).returncode
    target = os.environ.get(VARIABLE)
    if target:
        with Path(target).open("a") as sink:
            sink.write(json.dumps([name, cpu_s_of_children(), time.monotonic() - begin, 0]) + "\n")
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
