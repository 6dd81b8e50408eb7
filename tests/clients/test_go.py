"""franz-go, the client most Go programs use: the admin client, an idempotent producer, plain reads and a group of
two."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import pytest

from clients.conftest import CODECS, START_TIME_MS, Sample, samples
from peer.go_program import GoError, call

if TYPE_CHECKING:
    from collections.abc import Callable

    from peer.broker_process import BrokerProcess


def base64_of(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def as_json(sample: Sample, offset: int, partition: int = 0) -> dict[str, Any]:
    return {
        "partition": partition,
        "offset": offset,
        "timestamp": sample.timestamp,
        "key": base64_of(sample.key),
        "value": base64_of(sample.value),
        "headers": [{"name": name, "value": base64_of(value)} for name, value in sample.headers],
    }


def produced(broker: BrokerProcess, topic: str, count: int, codec: str = "none") -> list[dict[str, Any]]:
    """Sends `count` records to partition 0; returns them as they are to be read."""
    sent = [as_json(sample, offset) for offset, sample in enumerate(samples(count))]
    assert call("produce", broker.bootstrap, topic=topic, codec=codec, records=sent) == list(range(count))
    return sent


def test_admin_client_creates_a_topic_once(broker: BrokerProcess, name: str) -> None:
    assert call("createTopic", broker.bootstrap, topic=name, partitions=3) == 3
    with pytest.raises(GoError, match="TOPIC_ALREADY_EXISTS"):
        call("createTopic", broker.bootstrap, topic=name, partitions=3)


@pytest.mark.parametrize("codec", CODECS)
def test_records_of_an_idempotent_producer_are_read_back_as_sent(broker: BrokerProcess, topic: str, codec: str) -> None:
    sent = produced(broker, topic, 400, codec)
    assert call("consume", broker.bootstrap, topic=topic) == sent
    assert call("consume", broker.bootstrap, topic=topic, read_committed=True) == sent  # none is transactional


def test_consumer_starts_at_a_time(broker: BrokerProcess, topic: str) -> None:
    sent = produced(broker, topic, 300)
    assert call("consume", broker.bootstrap, topic=topic, timestamp=START_TIME_MS + 123) == sent[123:]


def test_group_resumes_at_its_committed_offset(broker: BrokerProcess, topic: str, name: str) -> None:
    sent = produced(broker, topic, 100)
    for first, last in ((0, 40), (40, 100)):
        found = call("consumeInGroup", broker.bootstrap, topic=topic, group=name, count=last - first)
        assert found == {"records": sent[first:last], "committed": {"0": last}}


def test_two_members_share_the_partitions_and_one_takes_over(
    broker: BrokerProcess, new_topic: Callable[..., str], name: str
) -> None:
    topic, partitions, per_partition = new_topic(partitions=4), 4, 25
    sent = [
        as_json(sample, offset, partition)
        for partition in range(partitions)
        for offset, sample in enumerate(samples(per_partition))
    ]
    call("produce", broker.bootstrap, topic=topic, codec="zstd", records=sent)
    shared = call("shareGroup", broker.bootstrap, topic=topic, group=name, partitions=partitions, count=len(sent))
    assert (shared["together"], shared["alone"]) == ([2, 2], [4])
    first, second = shared["records"]
    assert len(first) == len(second) == len(sent) // 2
    assert sorted(first + second, key=lambda record: (record["partition"], record["offset"])) == sent
