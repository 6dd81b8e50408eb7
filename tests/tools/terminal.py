"""Runs ``kafkastore`` on a terminal, and answers what it asks."""

from __future__ import annotations

import os
import select
import subprocess
import time
from typing import TYPE_CHECKING

from peer.kafkastore_broker import executable

if TYPE_CHECKING:
    from collections.abc import Sequence

LIMIT_S = 20.0


def asked(words: Sequence[str], *answers: str) -> tuple[int, str]:
    """The exit status, and what the terminal showed: questions, answers and output. An answer is typed when a question
    stands there; one for a password would be lost before."""
    ours, theirs = os.openpty()
    waiting, shown, deadline = list(answers), b"", time.monotonic() + LIMIT_S
    process = subprocess.Popen(
        [executable(), *words], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    try:
        while time.monotonic() < deadline:
            if not select.select([ours], [], [], 0.1)[0]:
                continue
            try:
                shown += os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            if waiting and shown.endswith(b": "):
                os.write(ours, f"{waiting.pop(0)}\n".encode())
        return process.wait(LIMIT_S), shown.decode()
    finally:
        process.kill()
        process.wait()
        os.close(ours)
