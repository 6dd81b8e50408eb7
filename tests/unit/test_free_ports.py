"""Ports for tests: workers of pytest, and runs beside one another, never give away the same one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
PROCESSES, EACH = 4, 200
DRAW = f"""
import sys
from peer.broker_process import free_port
print(*(free_port() for _ in range({EACH})), flush=True)
sys.stdin.read()
"""


def test_processes_that_draw_ports_at_the_same_time_get_different_ones() -> None:
    draw = [sys.executable, "-c", DRAW]
    processes = [
        subprocess.Popen(draw, cwd=TESTS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(PROCESSES)
    ]
    try:
        ports = [port for one in processes if one.stdout for port in one.stdout.readline().split()]
    finally:
        for one in processes:
            one.communicate("")
    assert len(ports) == len(set(ports)) == PROCESSES * EACH
