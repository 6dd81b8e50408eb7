"""What every client's tests share: a topic of one's own, and records with every shape a record can have."""

from __future__ import annotations

import itertools
import re
import time
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from peer.topics import create_topic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from clients.java_versions import JavaVersions
    from peer.broker_process import BrokerProcess

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
START_TIME_MS = (
    int(time.time()) - 3600
) * 1000  # an hour ago: retention keeps it, and it is not the time of the append
_numbers = itertools.count()


@pytest.fixture(scope="session")
def java_versions() -> Iterator[JavaVersions]:
    """A JVM for each older version of Java's client that a test asks for."""
    from clients.java_versions import JavaVersions  # imports kafka-python, which warns before pytest is configured

    with closing(JavaVersions()) as versions:
        yield versions


@dataclass(frozen=True)
class Sample:
    """A record to send and to find again."""

    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: tuple[tuple[str, bytes | None], ...] = ()


def samples(count: int, value_bytes: int = 100) -> list[Sample]:
    """`count` records a millisecond apart, some with null keys, null or empty values, headers (null, a name twice)."""
    made = []
    for i in range(count):
        key = (
            None if i % 5 == 3 and i % 11 != 7 else b"key-%d" % (i % 7)
        )  # never without both: aiokafka and kafka-python refuse that
        value = None if i % 11 == 7 else b"" if i % 11 == 8 else (b"value-%d " % i).ljust(value_bytes, b".")
        headers = (("trace", b"%d" % i), ("trace", b""), ("none", None)) if i % 3 == 0 else ()
        made.append(Sample(key, value, START_TIME_MS + i, headers))
    return made


def unique_name(request: pytest.FixtureRequest) -> str:
    return re.sub(r"[^a-zA-Z0-9._-]+", "-", request.node.name)[:80].strip("-") + f"-{next(_numbers)}"


@pytest.fixture
def topic(broker: BrokerProcess, request: pytest.FixtureRequest) -> str:
    """A new topic of one partition, named after the test."""
    return create_topic(broker.bootstrap, unique_name(request))


@pytest.fixture
def new_topic(broker: BrokerProcess, request: pytest.FixtureRequest) -> Callable[..., str]:
    """Makes topics: new_topic(partitions=3, config={...})."""

    def make(partitions: int = 1, config: dict[str, str] | None = None) -> str:
        return create_topic(broker.bootstrap, unique_name(request), partitions, config)

    return make


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A name nobody else uses, for a topic or a group not made yet."""
    return unique_name(request)
