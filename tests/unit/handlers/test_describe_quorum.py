"""DescribeQuorum: the controller that this broker knows."""

from __future__ import annotations

import pytest

from kafkastore.handlers import describe_quorum
from kafkastore.metadata.image import BrokerImage

from .one_broker import OneBroker

QUORUM = {"topics": [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]}


@pytest.mark.parametrize("version", range(3))
def test_names_the_controller_at_every_version(broker: OneBroker, version: int) -> None:
    broker.services.image.brokers[2] = BrokerImage(2, None, (("PLAINTEXT", "two.example", 9092),))
    answer = broker.ask("describe_quorum", version, QUORUM)
    (partition,) = answer.topics[0].partitions
    assert (answer.error_code, answer.topics[0].topic_name, partition.error_code) == (0, "__cluster_metadata", 0)
    mark = broker.run(broker.store.mark()).generation
    assert (partition.leader_id, partition.leader_epoch, partition.high_watermark) == (1, 1, mark)
    assert [(one.replica_id, one.log_end_offset) for one in partition.current_voters] == [(1, mark), (2, mark)]
    if version >= 2:
        assert [(one.node_id, one.listeners[0].host) for one in answer.nodes] == [(1, "127.0.0.1"), (2, "two.example")]


def test_high_watermark_rises_with_changes_and_is_not_known_while_the_store_is_away(
    broker: OneBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def high_watermark() -> int:
        return int(broker.ask("describe_quorum", 1, QUORUM).topics[0].partitions[0].high_watermark)

    before = high_watermark()
    broker.create_topic("t")
    assert high_watermark() > before > 0
    monkeypatch.setattr(describe_quorum, "STORE_WAIT_S", 0.0)
    assert high_watermark() == -1


def test_controller_of_another_broker_is_named_by_the_store(broker: OneBroker) -> None:
    services = broker.services
    broker.run(services.controller.stop())
    for known, told, named in ((2, 3, 2), (-1, 3, 3), (-2, 3, 3), (-1, -1, -1)):
        services.controller.controller_id, services.image.controller_id = known, told
        assert broker.ask("describe_quorum", 0, QUORUM).topics[0].partitions[0].leader_id == named


@pytest.mark.parametrize(("topic", "number"), [("t", 0), ("__cluster_metadata", 1)])
def test_another_partition_is_unknown(broker: OneBroker, topic: str, number: int) -> None:
    asked = {"topics": [{"topic_name": topic, "partitions": [{"partition_index": number}]}]}
    (partition,) = broker.ask("describe_quorum", 1, asked).topics[0].partitions
    assert (partition.error_code, partition.leader_id, partition.current_voters) == (3, -1, ())


def test_topics_that_are_not_requested_are_not_described(broker: OneBroker) -> None:
    assert broker.ask("describe_quorum", 1, {"topics": []}).topics == ()
