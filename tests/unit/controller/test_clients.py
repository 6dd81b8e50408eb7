"""The connections to the brokers of a real cluster, and the content of a registration."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from kafkastore.config import BrokerConfig
from kafkastore.controller.clients import OtherBroker, client_opener
from kafkastore.controller.settings import settings_of
from kafkastore.errors import BrokerNotAvailableError
from kafkastore.interbroker.client import BrokerClient
from kafkastore.interbroker.orders import Answer, StopReplica
from kafkastore.metadata.broker_nodes import Endpoint, Registration, decode_registration, settle_registration

if TYPE_CHECKING:
    from kafkastore.interbroker.orders import Order

DATA = (
    b'{"version":5,"host":null,"port":-1,"endpoints":["IN://[::1]:9093","OUT://h:9092"],"rack":"r",'
    b'"listener_security_protocol_map":{"IN":"PLAINTEXT","OUT":"SSL"},"clean_shutdown":false}'
)


def test_registration_is_read_with_its_epoch_and_its_clean_shutdown() -> None:
    found = decode_registration(3, DATA, 77)
    endpoints = (Endpoint("IN", "::1", 9093, "PLAINTEXT"), Endpoint("OUT", "h", 9092, "SSL"))
    assert found == Registration(3, 77, endpoints, "r", False)
    assert decode_registration(3, settle_registration(DATA), 77) == found._replace(is_clean=True)
    assert decode_registration(3, DATA.replace(b',"clean_shutdown":false', b""), 77).is_clean
    assert found.may_lack("t", 0)  # the registration names no partitions, so this holds for all
    some = DATA.replace(b'"clean_shutdown":false', b'"clean_shutdown":false,"unclean":{"t":[1]}')
    named = decode_registration(3, some, 77)
    assert [named.may_lack("t", 0), named.may_lack("t", 1), named.may_lack("u", 1)] == [False, True, False]
    assert decode_registration(3, settle_registration(some), 77) == found._replace(is_clean=True)


def test_own_broker_is_called_and_others_have_a_connection_each() -> None:
    order = StopReplica(3, 1, 77, [])

    async def take(taken: Order) -> Answer:
        assert taken is order
        return Answer(7)

    async def body() -> None:
        open_client = client_opener(3, "OUT", take, BrokerClient)
        own = open_client(decode_registration(3, DATA, 77))
        assert await own.send(order, 1) == Answer(7)
        other = open_client(decode_registration(4, DATA, 78))
        assert isinstance(other, OtherBroker)
        assert (other.client.host, other.client.port, other.client.client_id) == ("h", 9092, "controller-3")
        deaf = client_opener(3, "NONE", take, BrokerClient)(decode_registration(4, DATA, 78))
        with pytest.raises(BrokerNotAvailableError, match="Broker 4 has no listener NONE"):
            await deaf.send(order, 1)
        for client in (own, other, deaf):
            await client.close()

    asyncio.run(body())


def test_settings_are_those_of_the_configuration() -> None:
    settings = settings_of(
        BrokerConfig({"node.id": "1", "min.insync.replicas": "2", "unclean.leader.election.enable": "true"})
    )
    assert (settings.min_insync_replicas, settings.is_unclean_election_allowed) == (2, True)
    assert (settings.is_auto_rebalance_enabled, settings.imbalance_check_interval_s) == (True, 300.0)
    assert settings.min_isr({}) == 2
    assert settings.min_isr({"min.insync.replicas": "1"}) == 1
    assert not settings.allows_unclean_election({"unclean.leader.election.enable": "false"})


def test_settings_are_those_of_the_file_and_flag_dynamic_changes() -> None:  # KIP-226
    config = BrokerConfig({"min.insync.replicas": "2"})
    assert not settings_of(config).has_changes
    config.set_dynamic(default={"min.insync.replicas": "1"})
    settings = settings_of(config)
    assert (settings.min_insync_replicas, settings.has_changes) == (2, True)
