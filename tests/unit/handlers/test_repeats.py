"""A name that a request repeats is answered again only up to a bound."""

from __future__ import annotations

from kafkastore.handlers.repeats import REPEATED_BYTES

from .one_broker import OneBroker

INVALID_REQUEST = 42


def test_describe_configs_answers_a_repeated_broker_up_to_the_bound(broker: OneBroker) -> None:
    one = {"resource_type": 4, "resource_name": "1", "configuration_keys": None}
    results = broker.ask("describe_configs", 4, {"resources": [one] * 300}).results
    codes = [result.error_code for result in results]
    answered = codes.index(INVALID_REQUEST)
    assert 2 < answered < 300
    assert set(codes[:answered]) == {0}
    assert set(codes[answered:]) == {INVALID_REQUEST}
    assert all(result.configs == results[0].configs for result in results[:answered])


def test_describe_configs_answers_each_name_that_is_named_once(broker: OneBroker) -> None:
    for number in range(3):
        broker.create_topic(f"t{number}")
    one = {"resource_type": 4, "resource_name": "1", "configuration_keys": None}
    topics = [{"resource_type": 2, "resource_name": f"t{number}", "configuration_keys": None} for number in range(3)]
    results = broker.ask("describe_configs", 4, {"resources": [one] * 300 + topics}).results
    assert [result.error_code for result in results[-3:]] == [0, 0, 0]


def test_describe_producers_answers_a_repeated_partition_up_to_the_bound(broker: OneBroker) -> None:
    broker.create_topic("t")
    count = REPEATED_BYTES // 36 // 4
    broker.engine.describe_producers = lambda *_: bytes(36 * count)
    (topic,) = broker.ask("describe_producers", 0, {"topics": [{"name": "t", "partition_indexes": [0] * 20}]}).topics
    codes = [partition.error_code for partition in topic.partitions]
    assert codes == [0] * 6 + [INVALID_REQUEST] * 14
    assert [len(partition.active_producers) for partition in topic.partitions[:2]] == [count, count]
