"""What a broker says when it is ready: where it is reached, and that nobody is asked who he is."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from peer.broker_process import free_port, wait_until

if TYPE_CHECKING:
    from peer.broker_factory import BrokerFactory
    from peer.broker_process import BrokerProcess


@pytest.fixture(autouse=True)
def _ours(broker_factory: BrokerFactory) -> None:
    if broker_factory.kind != "kafkastore":
        pytest.skip("Apache Kafka says something else")


def ready_line(broker: BrokerProcess) -> str:
    wait_until(lambda: " is ready: " in broker.output(), 10, "the ready line")
    return next(line for line in broker.output().splitlines() if " is ready: " in line)


def test_broker_that_other_hosts_reach_says_so_when_ready(broker_factory: BrokerFactory) -> None:
    broker = broker_factory(start=False)
    broker.host = "0.0.0.0"
    broker.overrides["advertised.listeners"] = f"PLAINTEXT://localhost:{broker.port}"
    broker.start()
    assert f"NO AUTHENTICATION: whoever reaches PLAINTEXT://0.0.0.0:{broker.port} may do everything" in ready_line(
        broker
    )


def test_broker_that_only_this_host_reaches_says_nothing_of_it(broker_factory: BrokerFactory) -> None:
    assert "NO AUTHENTICATION" not in ready_line(broker_factory())


def test_each_of_several_listeners_is_named_with_its_protocol(broker_factory: BrokerFactory) -> None:
    broker = broker_factory(start=False)
    other = free_port()
    broker.overrides |= {
        "listeners": f"PLAINTEXT://127.0.0.1:{broker.port},OWN://[::1]:{other}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,OWN:PLAINTEXT",
        "inter.broker.listener.name": "OWN",
    }
    broker.start()
    told = f"bootstrap.servers=127.0.0.1:{broker.port} (PLAINTEXT) or [::1]:{other} (OWN, PLAINTEXT) (node"
    assert told in ready_line(broker)


def test_localhost_is_opened_at_every_address_that_it_has(broker_factory: BrokerFactory) -> None:
    broker = broker_factory(start=False)
    broker.host = "localhost"
    broker.start()
    for family, _, _, _, address in socket.getaddrinfo("localhost", broker.port, type=socket.SOCK_STREAM):
        with socket.socket(family) as client:
            client.connect(address)


def test_broker_without_a_secret_does_not_load_openssl(broker_factory: BrokerFactory) -> None:
    broker = broker_factory()
    with open(f"/proc/{broker.pid}/maps") as file:
        libraries = file.read()
    assert "libsqlite3" in libraries or "_sqlite3" in libraries
    assert "libcrypto" not in libraries, "5 MB that it has no use for"
