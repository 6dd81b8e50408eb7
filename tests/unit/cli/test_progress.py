"""The bar of long commands: on a terminal as wide as it is, and nothing elsewhere."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from kafkastore.cli import main as cli
from kafkastore.cli.progress import Bar, progress_option

WORK = """
import sys, time
from kafkastore.cli.progress import Reading, polled
with polled(lambda: Reading(1, 4, "1 of [b] parts"), is_shown=sys.stderr.isatty()):
    time.sleep(0.5)
print("done", "rich" in sys.modules)
"""


def ended(stderr: int) -> str:
    environment = {**os.environ, "PYTHONPATH": str(Path(cli.__file__).parents[2]), "TERM": "xterm", "COLUMNS": "70"}
    ran = subprocess.run(
        [sys.executable, "-c", WORK], stdout=subprocess.PIPE, stderr=stderr, text=True, check=True, env=environment
    )
    return ran.stdout


def test_bar_is_on_stderr_of_a_terminal_alone_and_goes_away() -> None:
    ours, theirs = pty.openpty()
    assert ended(theirs) == "done True\n"
    os.close(theirs)
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert " 25% 1 of [b] parts" in re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert shown.endswith("\x1b[2K"), "its line is cleared"
    reader, writer = os.pipe()
    assert ended(writer) == "done False\n"
    os.close(writer)
    assert os.read(reader, 1) == b""
    os.close(reader)


def test_sigterm_shows_the_cursor_again(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pty.openpty()

    @progress_option
    def work(*, shows_progress: bool) -> None:
        with Bar(is_shown=shows_progress):
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setenv("TERM", "xterm")
    with open(theirs, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        with pytest.raises(SystemExit) as ended:
            work(no_progress=False)
    assert ended.value.code == 128 + signal.SIGTERM
    shown = b""
    with suppress(OSError):  # everything is read of a terminal that nobody has open
        while piece := os.read(ours, 1 << 16):
            shown += piece
    os.close(ours)
    assert shown.count(b"\x1b[?25l") == shown.count(b"\x1b[?25h") == 1
