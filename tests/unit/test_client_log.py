"""Log lines that clients cause are limited, and clients' texts in them are cut."""

from __future__ import annotations

import logging

import pytest

from kafkastore.client_log import LINES_A_SECOND, SHOWN_CHARACTERS, Limit, shown


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def limited(clock: Clock, caplog: pytest.LogCaptureFixture) -> logging.Logger:
    logger = logging.Logger("limited")
    logger.addHandler(caplog.handler)
    logger.addFilter(Limit(clock))
    return logger


def test_lines_beyond_the_limit_are_counted_in_one_line(
    limited: logging.Logger, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(1000):
        limited.warning("refused %d", number)
    assert [record.args for record in caplog.records] == [(number,) for number in range(LINES_A_SECOND)]
    caplog.clear()
    clock.now_s += 1
    limited.warning("refused again")
    assert [record.getMessage() for record in caplog.records] == [
        f"{1000 - LINES_A_SECOND} more lines about requests of clients were left out",
        "refused again",
    ]


def test_lines_below_the_limit_all_come(
    limited: logging.Logger, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(100):
        limited.warning("refused")
        clock.now_s += 0.1
    assert len(caplog.records) == 100


def test_text_of_a_client_is_cut_in_its_line(limited: logging.Logger, caplog: pytest.LogCaptureFixture) -> None:
    limited.warning("Closing the connection of %s: %s", "c" * 32_000, ValueError("why " + "n" * 32_000))
    assert len(caplog.records[0].getMessage()) < 600
    assert "(32000 characters)" in caplog.records[0].getMessage()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain-é", "plain-é"),
        ("a\nb\x1b[31m", "a\\nb\\x1b[31m"),
        ("x" * 101, "x" * SHOWN_CHARACTERS + "... (101 characters)"),
        ("\u202e", "\\u202e"),
    ],
)
def test_text_is_shown_without_what_a_terminal_obeys(text: str, expected: str) -> None:
    assert shown(text) == expected
