"""DescribeCluster: the brokers' addresses for the asker's listener, every version, wrong endpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafkastore.metadata.image import BrokerImage

if TYPE_CHECKING:
    from .one_broker import OneBroker

MISMATCHED_ENDPOINT_TYPE, UNSUPPORTED_ENDPOINT_TYPE = 114, 115


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


@pytest.mark.parametrize(("is_asked", "operations"), [(False, -(2**31)), (True, 0b1_1111_1010_0000)])
def test_authorized_operations_are_answered_when_requested(broker: OneBroker, is_asked: bool, operations: int) -> None:
    answer = broker.ask("describe_cluster", 1, {"include_cluster_authorized_operations": is_asked})
    assert answer.cluster_authorized_operations == operations


@pytest.mark.parametrize(("kind", "code"), [(2, MISMATCHED_ENDPOINT_TYPE), (9, UNSUPPORTED_ENDPOINT_TYPE)])
def test_another_endpoint_is_refused(broker: OneBroker, kind: int, code: int) -> None:
    answer = broker.ask("describe_cluster", 2, {"endpoint_type": kind})
    assert (int(answer.error_code), len(answer.brokers), answer.controller_id) == (code, 0, -1)


def test_broker_that_answers_names_itself_as_the_controller(broker: OneBroker) -> None:
    image = broker.services.image
    image.brokers[2] = BrokerImage(2, None, (("PLAINTEXT", "two.example", 9092),))
    image.controller_id = 2
    assert broker.ask("describe_cluster", 1, {}).controller_id == 1
    del image.brokers[1]  # the broker is no member of the cluster yet
    assert broker.ask("describe_cluster", 1, {}).controller_id == 2
    del image.brokers[2]
    assert broker.ask("describe_cluster", 1, {}).controller_id == -1
