"""Reassignment files: each fault is one sentence that names the item."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kafkastore.admin.admin_client import AdminError, ClusterBroker
from kafkastore.admin.cluster_client import ClusterPartition, ClusterView
from kafkastore.admin.plan_file import check_plan, plan_text, read_plan

NAME = "plan.json"


def entry(**changed: Any) -> dict[str, Any]:
    return {"topic": "t", "partition": 0, "replicas": [1, 2], **changed}


def text(*entries: Any, **changed: Any) -> str:
    return json.dumps({"version": 1, "partitions": list(entries), **changed})


def test_file_of_kafkas_tool_is_read_and_written() -> None:
    plan = read_plan(NAME, text(entry(log_dirs=["any", "any"]), entry(partition=1, replicas=[3])))
    assert plan == {("t", 0): (1, 2), ("t", 1): (3,)}
    assert read_plan(NAME, plan_text(plan)) == plan


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("", "plan.json is not JSON"),
        ("{", "plan.json is not JSON"),
        ("[" * 100_000, "it nests too deeply"),
        ("[]", "[] is no object"),
        (text(entry(), version=2), "version is 2; only version 1 is known"),
        (text(entry(), version=True), "version is true"),
        (json.dumps({"partitions": [entry()]}), "version is null"),
        (text(), "partitions is []; give a list of at least one partition"),
        (json.dumps({"version": 1}), "partitions is null"),
        (json.dumps({"version": 1, "partitions": {"t": [1]}}), 'partitions is {"t": [1]}; give a list'),
        (text(entry(), entry()), "partition t-0 stands there twice; leave one out"),
        (text(entry(replicas=[1, 2, 1])), "partition t-0 has replica 1 twice; name each broker once"),
        (text(entry(replicas=[])), "partition t-0 has replicas []; give a list"),
        (text(entry(replicas=["1"])), 'partition t-0 has replicas ["1"]; give a list'),
        (text(entry(replicas=[-1])), "has replicas [-1]"),
        (text(entry(replicas=[True])), "has replicas [true]"),
        (text(entry(topic=7)), "names no topic and partition"),
        (text("x" * 100), f'plan.json: "{"x" * 79}… names no topic and partition'),
        (text(entry(log_dirs=["any"])), 'has 2 replicas and log_dirs ["any"]; give one for each'),
        (text(entry(log_dirs=["any", "/x"])), 'log_dirs ["any", "/x"]; only "any" is possible here'),
        (text(entry(partition="0")), "names no topic and partition"),
        (text(entry(topic="")), "names no topic and partition"),
        (text(7), "7 names no topic and partition"),
    ],
)
def test_fault_is_named(given: str, sentence: str) -> None:
    with pytest.raises(AdminError) as raised:
        read_plan(NAME, given)
    assert sentence in raised.value.client_message
    assert "\n" not in raised.value.client_message


def test_plan_with_an_unknown_topic_partition_or_broker_is_refused_by_name() -> None:
    view = ClusterView(
        {1: ClusterBroker("h", 1, None), 3: ClusterBroker("h", 2, None)},
        1,
        {("t", 0): ClusterPartition(1, (1,), (1,))},
        {},
    )
    check_plan(NAME, {("t", 0): (3, 1)}, view)
    for plan, sentence in (
        ({("u", 0): (1,)}, "partition u-0 does not exist: there is no topic u"),
        ({("t", 1): (1,)}, "partition t-1 does not exist: topic t has no such partition"),
        ({("t", 0): (1, 2)}, "partition t-0 is to go to broker 2, which is not alive; alive are 1, 3"),
    ):
        with pytest.raises(AdminError) as raised:
            check_plan(NAME, plan, view)
        assert sentence in raised.value.client_message


def test_plan_is_written_in_order() -> None:
    written = json.loads(plan_text({("u", 0): (1,), ("t", 10): (2,), ("t", 9): (3,)}))["partitions"]
    assert [(one["topic"], one["partition"]) for one in written] == [("t", 9), ("t", 10), ("u", 0)]


def test_move_under_way_to_elsewhere_is_not_replaced() -> None:
    brokers = {node: ClusterBroker("h", 1, None) for node in (1, 2, 3)}
    moving = ClusterPartition(1, (2, 1), (1,), adding=(2,), removing=(1,))
    view = ClusterView(brokers, 1, {("t", 0): moving}, {})
    check_plan(NAME, {("t", 0): (2,)}, view)
    with pytest.raises(AdminError, match=r"partition t-0 moves already, to \[2\]"):
        check_plan(NAME, {("t", 0): (3,)}, view)
