"""Members of a group get from each other what Kafka's assignors give; keys go to the partitions where Kafka's go."""

from __future__ import annotations

import asyncio

import pytest

from kafkastore.admin import topics
from kafkastore.admin.admin_client import AdminClient, KafkaError
from kafkastore.consuming.assignors import ASSIGNORS, Subscription
from kafkastore.consuming.group_member import GroupMember, settings_of
from kafkastore.errors import ErrorCode
from kafkastore.producing.tracked_writer import murmur2
from peer.broker_process import BrokerProcess

GIVEN = [
    (
        "t0:6,t1:6,t2:4,t3:3",
        "m8//nosuch,m10/i70-10/t0+t3,m13/i97-13/t1,m6/i90-6/t3+t2+t0+t1",
        "m10=t0-0,t0-1,t0-2,t3-0,t3-1 m13=t1-3,t1-4,t1-5 m6=t0-3,t0-4,t0-5,t1-0,t1-1,t1-2,t2-0,t2-1,t2-2,t2-3,t3-2 m8=",
        "m10=t0-0,t0-2,t0-4,t3-0,t3-2 m13=t1-0,t1-2,t1-4 m6=t0-1,t0-3,t0-5,t1-1,t1-3,t1-5,t2-0,t2-1,t2-2,t2-3,t3-1 m8=",
    ),
    (
        "t0:1,t1:2",
        "m15/i19-15/t1,m6//t1+t0,m16//t1,m26/i50-26/t0+t1,m24//t1+nosuch,m3//t0",
        "m15=t1-0 m16= m24= m26=t0-0,t1-1 m3= m6=",
        "m15= m16=t1-0 m24=t1-1 m26=t0-0 m3= m6=",
    ),
    (
        "t0:1,t1:3,t2:4",
        "m18/i58-18/t1+t2+nosuch,m0//t2,m14//t2+t0",
        "m0=t2-2 m14=t0-0,t2-3 m18=t1-0,t1-1,t1-2,t2-0,t2-1",
        "m0=t2-0,t2-3 m14=t0-0,t2-1 m18=t1-0,t1-1,t1-2,t2-2",
    ),
]
"""Topics with their partitions; members with their own names and topics; what Kafka 4.4's RangeAssignor and
RoundRobinAssignor made of these."""


@pytest.mark.parametrize(("counts", "members", "by_range", "in_turn"), GIVEN)
def test_assignors_give_what_kafkas_give(counts: str, members: str, by_range: str, in_turn: str) -> None:
    partitions = {topic: int(count) for topic, count in (one.split(":") for one in counts.split(","))}
    parts = [one.split("/") for one in members.split(",")]
    wanted = [Subscription(name, tuple(of.split("+")), instance or None) for name, instance, of in parts]
    for name, expected in (("range", by_range), ("roundrobin", in_turn)):
        given = ASSIGNORS[name](wanted, partitions)
        rows = (f"{one}={','.join(sorted(f'{t}-{p}' for t, p in given[one]))}" for one in sorted(given))
        assert " ".join(rows) == expected


def test_keys_are_hashed_as_kafka_hashes_them() -> None:
    """Of org.apache.kafka.common.utils.Utils.murmur2, whose numbers have a sign."""
    known = {b"21": -973932308, b"foobar": -790332482, b"a-little-bit-long-string": -985981536, b"": 275646681}
    assert {key: murmur2(key) for key in known} == {key: value & 0xFFFFFFFF for key, value in known.items()}


async def test_group_is_shared_handed_over_and_left(broker: BrokerProcess) -> None:
    keys = {"group.id": "tc-g", "heartbeat.interval.ms": "50", "session.timeout.ms": "6000"}
    async with AdminClient(broker.bootstrap).within() as one, AdminClient(broker.bootstrap).within() as other:
        assert await topics.create_topics(one, [topics.NewTopic("tc", 5, 1)]) == {}
        first = GroupMember(one, settings_of(keys))
        second = GroupMember(other, settings_of(keys | {"group.instance.id": "static"}))
        assert await first.join(["tc"]) == [("tc", number) for number in range(5)]
        await first.commit({("tc", 0): 7})
        joining = asyncio.create_task(second.join(["tc"]))
        await _until_it_needs_to_join(first)
        assert await first.join(["tc"]) == [("tc", 3), ("tc", 4)]
        assert await joining == [("tc", 0), ("tc", 1), ("tc", 2)]
        assert await second.committed([("tc", 0), ("tc", 1)]) == {("tc", 0): 7}
        await first.close()
        with pytest.raises(KafkaError) as refused:
            await first.commit({("tc", 0): 9})
        assert refused.value.code == ErrorCode.UNKNOWN_MEMBER_ID
        await _until_it_needs_to_join(second)
        assert await second.join(["tc"]) == [("tc", number) for number in range(5)]
        await second.close()
        again = GroupMember(one, settings_of(keys | {"group.instance.id": "static"}))
        assert await again.join(["tc"]) == [("tc", number) for number in range(5)]
        await again.close()


async def _until_it_needs_to_join(member: GroupMember) -> None:
    async with asyncio.timeout(5):
        while not member.needs_join:  # noqa: ASYNC110 - a heartbeat says it
            await asyncio.sleep(0.02)
