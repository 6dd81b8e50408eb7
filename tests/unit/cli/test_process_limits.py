"""The process's limit of descriptors: the soft limit is raised to the hard limit, and a shortage is one sentence."""

from __future__ import annotations

import errno
import re
import resource
from collections.abc import Callable

import pytest

from kafkastore.cli import process_limits
from kafkastore.cli.process_limits import raise_descriptor_limit, shortage_of
from kafkastore.errors import StartupError

INFINITE = resource.RLIM_INFINITY


class Limits:
    """Stands for the system's limits; refuses a soft limit above `granted`."""

    def __init__(self, soft: int, hard: int, granted: int) -> None:
        self.now = (soft, hard)
        self.granted = granted

    def get(self, _: int) -> tuple[int, int]:
        return self.now

    def set(self, _: int, wanted: tuple[int, int]) -> None:
        if wanted[0] > self.granted or wanted[0] == INFINITE:
            raise ValueError("not allowed to raise maximum limit")
        self.now = wanted


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, int, int], Limits]:
    def install(soft: int, hard: int, granted: int) -> Limits:
        made = Limits(soft, hard, granted)
        monkeypatch.setattr(process_limits.resource, "getrlimit", made.get)
        monkeypatch.setattr(process_limits.resource, "setrlimit", made.set)
        return made

    return install


@pytest.mark.parametrize(
    ("soft", "hard", "granted", "after"),
    [
        (1024, 20000, 20000, 20000),
        (20000, 20000, 20000, 20000),
        (256, INFINITE, 1 << 20, 1 << 20),
        (256, INFINITE, 10240, 10240),  # macOS
        (1024, 4096, 2000, 1024),  # a sandbox that grants nothing
    ],
)
def test_soft_limit_is_raised_as_far_as_the_system_grants(
    limits: Callable[[int, int, int], Limits], soft: int, hard: int, granted: int, after: int
) -> None:
    made = limits(soft, hard, granted)
    raise_descriptor_limit()
    assert made.now == (after, hard)


def test_limit_below_what_a_broker_needs_refuses_the_start(limits: Callable[[int, int, int], Limits]) -> None:
    limits(20, 63, 63)
    with pytest.raises(StartupError, match=r"the limit of open files is 63, a broker needs at least 64; raise it"):
        raise_descriptor_limit()


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (OSError(errno.EMFILE, "Too many open files"), "ulimit -n"),
        (OSError(errno.ENFILE, "Too many open files in system"), r"fs\.file-max"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "memory"),
        (MemoryError(), "memory"),
        (RuntimeError("can't start new thread"), "ulimit -u"),
    ],
)
def test_shortage_is_named_with_the_limit_to_raise(error: BaseException, says: str) -> None:
    text = shortage_of(error)
    assert text is not None
    assert re.search(says, text)


@pytest.mark.parametrize(
    "error", [OSError(errno.EIO, "I/O"), OSError("no number"), RuntimeError("another"), KeyError()]
)
def test_other_error_is_no_shortage(error: BaseException) -> None:
    assert shortage_of(error) is None
