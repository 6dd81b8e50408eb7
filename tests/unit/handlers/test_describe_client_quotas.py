"""DescribeClientQuotas: which entities a filter matches."""

from __future__ import annotations

import pytest

from kafkastore.dynamic_config.quota_entities import DEFAULT as DEFAULT_NAME
from kafkastore.dynamic_config.quota_entities import Entity

from .describing_quotas import ANY, DEFAULT, EXACT, described
from .one_broker import OneBroker

ENTITIES = {
    "alice": Entity("alice"),
    "any user": Entity(DEFAULT_NAME),
    "alice's app": Entity("alice", "app"),
    "any app of alice": Entity("alice", DEFAULT_NAME),
    "app": Entity(client_id="app"),
    "any app": Entity(client_id=DEFAULT_NAME),
    "host": Entity(ip="10.0.0.1"),
    "any host": Entity(ip=DEFAULT_NAME),
}


@pytest.mark.parametrize(
    ("components", "strict", "expected"),
    [
        ((), False, set(ENTITIES)),
        ((), True, set()),
        ((("user", EXACT, "alice"),), False, {"alice", "alice's app", "any app of alice"}),
        ((("user", EXACT, "alice"),), True, {"alice"}),
        ((("user", DEFAULT, None),), False, {"any user"}),
        ((("user", ANY, None),), True, {"alice", "any user"}),
        ((("user", ANY, None),), False, {"alice", "any user", "alice's app", "any app of alice"}),
        ((("client-id", EXACT, "app"),), False, {"alice's app", "app"}),
        ((("client-id", EXACT, "app"), ("user", ANY, None)), False, {"alice's app"}),
        ((("client-id", DEFAULT, None), ("user", EXACT, "alice")), True, {"any app of alice"}),
        ((("client-id", ANY, None), ("user", ANY, None)), False, {"alice's app", "any app of alice"}),
        ((("ip", ANY, None),), True, {"host", "any host"}),
        ((("ip", EXACT, "10.0.0.1"),), False, {"host"}),
        ((("ip", DEFAULT, None),), False, {"any host"}),
        ((("user", EXACT, "bob"),), False, set()),
        ((("user", EXACT, ""),), False, set()),
    ],
)
def test_filter_matches_the_entities_that_kafka_s_filter_matches(
    broker: OneBroker, components: tuple[tuple[str, int, str | None], ...], strict: bool, expected: set[str]
) -> None:
    for entity in ENTITIES.values():
        broker.services.quotas.entities[entity] = {"request_percentage": 1.0}
    found = described(broker, *components, strict=strict)
    assert set(found) == {tuple(ENTITIES[name].parts()) for name in expected}
