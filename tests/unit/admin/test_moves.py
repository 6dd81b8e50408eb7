"""``kafkastore cluster`` while brokers come and go: which throttles it sets, when it reports a move as done
(KIP-73)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from kafkastore.admin import cluster_client, mover
from kafkastore.admin.admin_client import AdminError, ClusterBroker
from kafkastore.admin.cluster_client import ClusterClient, ClusterPartition, ClusterView
from kafkastore.admin.throttles import RATES
from kafkastore.cli import cluster_moves, cluster_status
from kafkastore.cli.cluster_options import ClusterSettings
from kafkastore.errors import ErrorCode
from kafkastore.messages import OutgoingRequest, request_versions

T0 = ("t", 0)
MOVES = ClusterPartition(1, (2, 1), (1,), (2,), (1,))
DONE = ClusterPartition(2, (2,), (2,))
OPTIONS = cluster_moves.MoveOptions("localhost:1")


def view(one: ClusterPartition, *alive: int, held: Mapping[int, Mapping[Any, int]] | None = None) -> ClusterView:
    brokers = {node: ClusterBroker("h", 9092, None) for node in alive}
    known = held if held is not None else {node: {T0: 10} for node in alive}
    return ClusterView(brokers, 1, {T0: one}, {node: dict(found) for node, found in known.items()})


class Cluster(ClusterClient):
    """A cluster whose nth look returns the nth of ``views``, and then always the last."""

    def __init__(self, *views: ClusterView) -> None:
        super().__init__("localhost:1")
        self.views = list(views)
        self.seen = views[0]
        self.refused: dict[Any, str] = {}
        self.changed: list[tuple[str | int | None, dict[str, str | None]]] = []

    async def view(self) -> ClusterView:
        self.seen = self.views.pop(0) if len(self.views) > 1 else self.views[0]
        return self.seen

    async def reassign(self, targets: Mapping[Any, Sequence[int] | None]) -> dict[Any, str]:
        return {key: self.refused[key] for key in targets if key in self.refused}

    async def alter_configs(
        self, changes: Mapping[str, str | None], *, topic: str | None = None, broker: int | None = None
    ) -> None:
        if broker is not None and broker not in self.seen.brokers:
            raise AdminError(f"broker {broker} is not alive")
        self.changed.append((topic if broker is None else broker, dict(changes)))

    def rates(self, node: int) -> list[str | None]:
        return [changes[RATES[0]] for who, changes in self.changed if who == node]


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (mover, cluster_moves):
        monkeypatch.setattr(module, "POLL_S", 0)


def goes_on(cluster: Cluster, rate: int) -> None:
    """Runs a command whose plan is empty, so that it goes on with the moves under way."""
    asyncio.run(cluster_moves._move(cluster, OPTIONS, rate, lambda _: cluster_moves.Plan({}, 0, 0)))


def test_broker_that_comes_back_during_a_move_is_held_to_the_rate() -> None:  # KIP-73
    cluster = Cluster(view(MOVES, 1), view(MOVES, 1, 2), view(DONE, 1, 2))
    goes_on(cluster, 500)
    assert cluster.rates(1) == cluster.rates(2) == ["500", None]


def test_broker_that_dies_before_its_rate_is_taken_away_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    goes_on(Cluster(view(MOVES, 1, 2), view(MOVES, 1, 2), view(DONE, 2)), 500)
    assert (
        capsys.readouterr().err
        == "broker(s) 1 do not answer and keep their throttled rates, which hold back no topic now\n"
    )


def test_move_that_waits_for_a_broker_says_so_where_there_is_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    waiting = view(MOVES, 1)
    goes_on(Cluster(waiting, waiting, waiting, view(DONE, 1, 2)), 0)
    assert (
        capsys.readouterr().err == "waiting for broker(s) 2, which are not alive; start them, or end it with cancel\n"
    )


def test_move_that_cannot_be_cancelled_stays_held_to_its_rate() -> None:  # KIP-73
    cluster = Cluster(view(MOVES, 1, 2))
    cluster.refused = {T0: "too few are in sync"}
    with pytest.raises(AdminError, match="t-0 because: too few are in sync"):
        asyncio.run(cluster_moves._cancel(cluster))
    assert cluster.changed == []
    cluster.refused = {}
    asyncio.run(cluster_moves._cancel(cluster))
    assert cluster.rates(2) == [None]


def test_move_that_ends_before_it_is_cancelled_is_no_failure() -> None:
    cluster = Cluster(view(MOVES, 1, 2), view(DONE, 1, 2))
    cluster.refused = {T0: "no reassignment in progress"}
    asyncio.run(cluster_moves._cancel(cluster))
    assert cluster.rates(2) == [None]


def test_broker_whose_log_dirs_are_unknown_is_not_taken_for_empty() -> None:
    cluster = Cluster(view(DONE, 1, 2, held={2: {T0: 10}}), view(DONE, 1, 2, held={1: {}, 2: {T0: 10}}))
    asyncio.run(cluster_moves._wait_until_deleted(cluster, [1]))
    assert cluster.seen.held[1] == {}


def test_broker_that_is_gone_when_it_is_configured_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nobody(_: ClusterClient) -> Any:
        return SimpleNamespace(brokers=())

    monkeypatch.setattr(ClusterClient, "_metadata", nobody)
    with pytest.raises(AdminError, match=r"broker 3 does not take its configuration \(it is not alive any more\)"):
        asyncio.run(ClusterClient("localhost:1").alter_configs({RATES[0]: "1"}, broker=3))


def test_status_shows_what_brokers_know_when_there_is_no_controller(monkeypatch: pytest.MonkeyPatch) -> None:
    partition = SimpleNamespace(partition_index=0, leader_id=1, replica_nodes=(1, 2), isr_nodes=(1,))
    metadata = SimpleNamespace(
        brokers=(SimpleNamespace(node_id=1, host="h", port=9092, rack=None),),
        topics=(SimpleNamespace(name="t", partitions=(partition,)),),
        controller_id=-1,
        cluster_id="c",
    )

    async def known(_: ClusterClient) -> Any:
        return metadata

    async def held(_: ClusterClient, __: int) -> dict[Any, int]:
        return {T0: 7}

    async def minimum(_: ClusterClient, topics: Any, key: str) -> dict[str, str]:
        return {topic: "2" for topic in topics if key == "min.insync.replicas"}

    refusal = {"error_code": ErrorCode.REQUEST_TIMED_OUT}

    async def answered(_: ClusterClient, api: str, fields: Mapping[str, Any], **__: int) -> Any:
        if api == "Metadata":
            return metadata
        OutgoingRequest(api, request_versions(api)[1], fields).body()
        if api == "DescribeConfigs":
            return SimpleNamespace(results=())
        return SimpleNamespace(error_message="The request timed out.", **refusal)

    monkeypatch.setattr(ClusterClient, "ask_any", answered)
    monkeypatch.setattr(cluster_client, "LOOK_LIMIT_S", 0)
    monkeypatch.setattr(cluster_client, "CONTROLLER_LIMIT_S", 0)
    for name, found in (("_metadata", known), ("_held", held), ("topic_configs", minimum)):
        monkeypatch.setattr(ClusterClient, name, found)
    shown, is_partial = asyncio.run(cluster_status._status(ClusterSettings("localhost:1", {})))
    assert not is_partial
    assert "under-replicated: 1\n  t-0\nunder min.insync.replicas: 1\n" in shown
    assert "moving: not known. The controller does not do what it is asked (The request timed out.)" in shown
    refusal["error_code"] = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    with pytest.raises(AdminError, match="topics that it may not describe are not counted"):
        cluster_status.run(ClusterSettings("localhost:1", {}))
