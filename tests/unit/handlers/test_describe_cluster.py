"""DescribeCluster: addresses for the listener that was asked, every version. Wrong endpoints: ``tests/parity``."""

from __future__ import annotations

import pytest

from kafkastore.metadata.image import BrokerImage

from .one_broker import OneBroker


@pytest.mark.parametrize("version", range(3))
def test_describes_the_cluster_at_every_version(broker: OneBroker, version: int) -> None:
    answer = broker.ask("describe_cluster", version, {})
    (found,) = answer.brokers
    assert (answer.error_code, answer.controller_id, answer.cluster_id) == (0, 1, broker.services.cluster_id)
    assert (found.broker_id, found.host, found.port, found.rack) == (1, "127.0.0.1", 9092, None)


def test_brokers_are_shown_by_the_listener_that_was_asked(broker: OneBroker) -> None:
    listeners = (("OTHER", "other.example", 1), ("PLAINTEXT", "plain.example", 2))
    broker.services.image.brokers[2] = BrokerImage(2, "r1", listeners)
    broker.services.image.brokers[3] = BrokerImage(3, None, (("OTHER", "hidden.example", 3),))
    answer = broker.ask("describe_cluster", 1, {})
    assert [(b.broker_id, b.host, b.port, b.rack) for b in answer.brokers][1:] == [(2, "plain.example", 2, "r1")]


def test_broker_that_answers_names_itself_as_the_controller(broker: OneBroker) -> None:
    image = broker.services.image
    image.brokers[2] = BrokerImage(2, None, (("PLAINTEXT", "two.example", 9092),))
    image.controller_id = 2
    assert broker.ask("describe_cluster", 1, {}).controller_id == 1
    del image.brokers[1]  # the broker is no member of the cluster yet
    assert broker.ask("describe_cluster", 1, {}).controller_id == 2
    del image.brokers[2]
    assert broker.ask("describe_cluster", 1, {}).controller_id == -1
