"""``kafkastore cluster`` as a user runs it."""

from __future__ import annotations

import subprocess

from peer.kafkastore_broker import executable

LIMIT_S = 90


def launch(*args: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [executable(), "cluster", *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def run(*args: str) -> str:
    """Runs the command, which must succeed; returns its stdout."""
    process = launch(*args)
    try:
        out, err = process.communicate(timeout=LIMIT_S)
    finally:
        process.kill()
    assert process.returncode == 0, (args, out, err)
    return out


def refused(*args: str) -> str:
    """Runs the command, which must fail; returns the one sentence that it prints to stderr."""
    process = launch(*args)
    try:
        out, err = process.communicate(timeout=LIMIT_S)
    finally:
        process.kill()
    assert process.returncode == 1, (args, out, err)
    assert not out
    assert err.startswith(f"kafkastore cluster {args[0]}: ")
    assert err.count("\n") == 1, err
    return err
