"""Addresses that a broker says in Metadata, or a user on a command line, and that can be none."""

from __future__ import annotations

import asyncio

import pytest

from kafkastore.interbroker.dialer import PLAIN


@pytest.mark.parametrize(
    ("host", "port", "reason"),
    [
        ("a..b", 9092, "its host can be no name of a host"),
        ("a" * 300, 9092, "its host can be no name of a host"),
        ("\ufffd", 9092, "its host can be no name of a host"),
        ("127.0.0.1", 0, "there is no port 0"),
        ("127.0.0.1", -1, "there is no port -1"),
        ("127.0.0.1", 1 << 16, "there is no port 65536"),
    ],
)
def test_address_that_can_be_none_is_an_error_of_the_connection(host: str, port: int, reason: str) -> None:
    with pytest.raises(OSError, match=reason):
        asyncio.run(PLAIN.open(host, port, "test"))
