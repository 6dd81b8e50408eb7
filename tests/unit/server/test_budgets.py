"""No request holds the loop longer than its budget, whatever it asks for.

The test sends every API of the control plane, except the groups' APIs, in its most expensive forms, over the
stepped engine. The bound is CPU time, and generous for slow machines; ``python -m control`` under ``benches`` shows the
real figures.
"""

from __future__ import annotations

import asyncio
import gc
import time
from asyncio import events
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import expensive
import pytest
from stepped import Request
from world import run, running_broker

from kafkastore.cli.broker_process import collect_seldom
from kafkastore.server.broker import Broker
from kafkastore.topic.new_topic import NewTopic

ROWS = 8_000
TOPICS = 100
MAX_HELD_S = 0.25
"""Five times the budget. Before the work was cut into slices each of these requests took seconds."""

APIS = (
    "AlterConfigs",
    "AlterPartitionReassignments",
    "AlterReplicaLogDirs",
    "CreatePartitions",
    "CreateTopics",
    "DeleteTopics",
    "DescribeCluster",
    "DescribeConfigs",
    "DescribeLogDirs",
    "DescribeProducers",
    "DescribeTopicPartitions",
    "DescribeTransactions",
    "ElectLeaders",
    "FindCoordinator",
    "IncrementalAlterConfigs",
    "InitProducerId",
    "ListConfigResources",
    "ListPartitionReassignments",
    "ListTransactions",
    "OffsetForLeaderEpoch",
)


class Longest:
    """The longest callback of the loop, in CPU seconds."""

    def __init__(self) -> None:
        self.held_s = 0.0
        self.what = ""


@pytest.fixture
def longest(monkeypatch: pytest.MonkeyPatch) -> Iterator[Longest]:
    found, call = Longest(), events.Handle._run

    def timed(handle: Any) -> None:
        begun = time.thread_time()
        call(handle)
        held_s = time.thread_time() - begun
        if held_s > found.held_s:
            found.held_s, found.what = held_s, repr(handle)

    monkeypatch.setattr(events.Handle, "_run", timed)
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()  # garbage of earlier tests is not measured
    collect_seldom()
    yield found
    gc.set_threshold(*before)
    gc.unfreeze()


@pytest.mark.parametrize("api", APIS)
def test_no_form_of_a_request_holds_the_loop(tmp_path: Path, longest: Longest, api: str) -> None:
    requests = list(expensive.requests(ROWS, TOPICS, frozenset([api])))

    async def answered(broker: Broker, one: expensive.Expensive) -> None:
        engine: Any = broker.services.engine
        engine.answers.clear()
        engine.submit(Request(one.api.key, one.version, one.body, 1))
        async with asyncio.timeout(50):
            while 1 not in engine.answers:  # noqa: ASYNC110
                await asyncio.sleep(0.001)  # the engine has no event for it

    async def body() -> None:
        async with running_broker(tmp_path, num__partitions="1", default__replication__factor="1") as broker:
            await broker.services.topics.create_all([NewTopic(f"t{number}") for number in range(TOPICS)])
            small = expensive.requests(1, 1, frozenset([api]))
            await answered(broker, next(small))  # imports what the API needs
            for one in requests:
                longest.held_s = 0.0
                await answered(broker, one)
                assert longest.held_s < MAX_HELD_S, (one.form, longest.what)

    run(body)


def test_generator_has_the_forms_that_grow() -> None:
    forms = {(one.api.name, one.form) for one in expensive.requests(100, 10)}
    for api in ("DescribeConfigs", "IncrementalAlterConfigs", "DescribeProducers", "ElectLeaders", "DescribeGroups"):
        assert {form for name, form in forms if name == api} >= {"repeats", "existing", "unknown", "long names"}
    assert ("DescribeProducers", "deep") in forms
