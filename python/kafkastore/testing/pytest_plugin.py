"""Fixtures of pytest: ``kafka_broker`` and ``kafka_cluster``, one for each session (and so for each worker of xdist),
and ``kafka_topic``, a topic for one test. Nothing is imported or started before a test asks for one.

A project says what they are in its ini file (``kafka_security_protocol``, ``kafka_config`` and so on), or overrides the
fixtures ``kafka_settings`` and ``kafka_cluster_settings``, which return the arguments of ``Broker`` and ``Cluster``.
``@pytest.mark.kafka_topic(partitions=3, config={...})`` says how a test's topic is made.
"""

from __future__ import annotations

import re
import uuid
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkastore.testing import Broker, Cluster

MARKER: Final = "kafka_topic"
MAX_NAME: Final = 200
"""Of the test's part in a topic's name, which has at most 249 characters."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("kafka_config", "keys of the brokers, key=value, one a line", type="linelist")
    parser.addini("kafka_security_protocol", "PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL", default="PLAINTEXT")
    parser.addini("kafka_sasl_mechanism", "PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512", default="PLAIN")
    parser.addini("kafka_users", "users with SASL, name=password, one a line", type="linelist")
    parser.addini("kafka_brokers", "how many brokers a cluster has", default="3")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", f"{MARKER}(partitions=1, config=None): how the topic of the fixture kafka_topic is made"
    )


@pytest.fixture(scope="session")
def kafka_settings(pytestconfig: pytest.Config) -> dict[str, Any]:
    """The arguments of the session's ``Broker``, from the ini file."""
    return {
        "config": _pairs(pytestconfig, "kafka_config"),
        "security_protocol": pytestconfig.getini("kafka_security_protocol"),
        "sasl_mechanism": pytestconfig.getini("kafka_sasl_mechanism"),
        "users": _pairs(pytestconfig, "kafka_users"),
    }


@pytest.fixture(scope="session")
def kafka_cluster_settings(pytestconfig: pytest.Config, kafka_settings: dict[str, Any]) -> dict[str, Any]:
    """The arguments of the session's ``Cluster``, from the ini file."""
    count = pytestconfig.getini("kafka_brokers")
    if not count.isdecimal():
        raise pytest.UsageError(f"kafka_brokers={count} is no number of brokers; give one, as in 3")
    return kafka_settings | {"brokers": int(count)}


@pytest.fixture(scope="session")
def kafka_broker(kafka_settings: dict[str, Any]) -> Iterator[Broker]:
    """A running ``kafkastore.testing.Broker``, one for the session: ``kafka_broker.bootstrap_servers``."""
    from kafkastore.testing.broker import Broker

    with Broker(**kafka_settings) as broker:
        yield broker


@pytest.fixture(scope="session")
def kafka_cluster(kafka_cluster_settings: dict[str, Any]) -> Iterator[Cluster]:
    """A running ``kafkastore.testing.Cluster`` of three brokers, or ``kafka_brokers``, one for the session."""
    from kafkastore.testing.cluster import Cluster

    with Cluster(**kafka_cluster_settings) as cluster:
        yield cluster


@pytest.fixture
def kafka_topic(request: pytest.FixtureRequest, kafka_broker: Broker) -> Iterator[str]:
    """The name of a new topic of ``kafka_broker``, which is deleted behind the test. A broker that an earlier test has
    stopped or killed is started."""
    marker = request.node.get_closest_marker(MARKER)
    name = f"{re.sub(r'[^A-Za-z0-9._-]+', '-', request.node.name)[:MAX_NAME]}-{uuid.uuid4().hex[:8]}"
    kafka_broker.start()
    kafka_broker.create_topic(
        name, *(() if marker is None else marker.args), **({} if marker is None else marker.kwargs)
    )
    yield name
    if kafka_broker.is_running and name in kafka_broker.server.image.topics:
        kafka_broker.delete_topic(name)


def _pairs(config: pytest.Config, key: str) -> dict[str, str]:
    found = {}
    for line in config.getini(key):
        name, sign, value = line.partition("=")
        if not sign or not name.strip():
            raise pytest.UsageError(f"{key}: {line} is not name=value")
        found[name.strip()] = value.strip()
    return found
