"""A leader's AlterPartition: no record is lost when an answer is (KIP-497, KIP-903; H21).

Until the data plane gets the new state, it counts the larger of the two in-sync sets; so a change may be withdrawn only
when it is known that the controller has not written it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from world import until

from kafkastore._core import response_encoder
from kafkastore.errors import ErrorCode, KafkastoreError, error_name
from kafkastore.messages import OutgoingRequest
from kafkastore.metadata.image import PartitionState
from kafkastore.replica import isr_changes
from kafkastore.replica.isr_changes import IsrChanges

from .replica_world import BROKER_EPOCH, ME, NEW_ID, OTHER, T_ID, THIRD, Replicas, on_replicas, state, told

Fields = dict[str, Any]


class Asked:
    """The controller's side: the requests, and the test's answers in turn, of which the last is repeated."""

    def __init__(self, replicas: Replicas) -> None:
        self.replicas = replicas
        self.requests: list[Any] = []
        self.answers: list[Callable[[Any], Fields]] = []
        self.stored: PartitionState | Exception | None = None
        self.reads = 0
        self.changes = IsrChanges(
            ME,
            replicas.held,
            replicas.engine,  # type: ignore[arg-type]
            replicas.manager,
            self._ask,
            self._read_state,
        )
        self.changes.broker_epoch = BROKER_EPOCH

    async def _ask(self, request: OutgoingRequest, timeout_ms: int) -> Any:
        assert timeout_ms == isr_changes.TIMEOUT_MS
        asked = request.decoded()
        self.requests.append(asked)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        body = response_encoder(request.api_key, request.version).row(answer(asked))
        return request.response(body)

    async def _read_state(self, name: str, number: int) -> PartitionState | None:
        self.reads += 1
        if isinstance(self.stored, Exception):
            raise self.stored
        return self.stored

    def propose(
        self, *members: tuple[int, int], leader_epoch: int = 3, partition_epoch: int = 5, number: int = 0
    ) -> None:
        change: Any = SimpleNamespace(
            topic="t",
            partition=number,
            leader_epoch=leader_epoch,
            partition_epoch=partition_epoch,
            in_sync_replicas=list(members),
        )
        self.changes.propose(change)

    async def asked(self, count: int) -> None:
        await until(lambda: len(self.requests) >= count)

    async def settled(self) -> None:
        await until(lambda: self.changes._task is None)

    def proposals(self) -> list[tuple[int, list[tuple[int, int]]]]:
        """The partition epoch and the in-sync set that each request proposes."""
        return [
            (one.partition_epoch, [(member.broker_id, member.broker_epoch) for member in one.new_isr_with_epochs])
            for request in self.requests
            for topic in request.topics
            for one in topic.partitions
        ]


def lost(_: Any) -> Fields:
    raise KafkastoreError("no answer")


def refused(code: int) -> Callable[[Any], Fields]:
    return lambda _: {"error_code": code, "topics": ()}


def decided(code: int = 0, found: PartitionState | None = None, topic_id: bytes = T_ID) -> Callable[[Any], Fields]:
    """Makes an answer for every partition of a request."""

    def answer(request: Any) -> Fields:
        said = found or state(0, 0, 0, isr=())
        partitions = [
            {
                "partition_index": one.partition_index,
                "error_code": code,
                "leader_id": said.leader,
                "leader_epoch": said.leader_epoch,
                "isr": said.isr,
                "partition_epoch": said.partition_epoch,
            }
            for topic in request.topics
            for one in topic.partitions
        ]
        return {"error_code": ErrorCode.NONE, "topics": [{"topic_id": topic_id, "partitions": partitions}]}

    return answer


GROWN = state(ME, 3, 6, isr=(ME, OTHER))


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RETRY_S", "LAST_RETRY_S"):
        monkeypatch.setattr(isr_changes, name, 0.001)


def check(folder: Path, test: Callable[[Asked], Awaitable[None]]) -> None:
    """Runs the test on the leader of ``t-0``, in leader epoch 3 and partition epoch 5; only this broker is in sync."""

    async def body(replicas: Replicas) -> None:
        await replicas.become(told(state(ME, 3, 5, isr=(ME,)), state(ME, 3, 5, isr=(ME,))))
        replicas.engine.made.clear()
        asked = Asked(replicas)
        try:
            await test(asked)
        finally:
            await asked.changes.stop()

    on_replicas(folder, body)


def test_decision_becomes_the_lease(tmp_path: Path) -> None:
    async def test(asked: Asked) -> None:
        asked.answers = [decided(found=GROWN)]
        asked.propose((ME, -1), (OTHER, 77))
        await asked.settled()
        (request,) = asked.requests
        assert (request.broker_id, request.broker_epoch) == (ME, BROKER_EPOCH)
        assert asked.proposals() == [(5, [(ME, BROKER_EPOCH), (OTHER, 77)])]  # each with its fetches' epoch (KIP-903)
        assert asked.replicas.held.partition("t", 0) == GROWN
        assert asked.replicas.engine.history == [("t", 0, ME, 3, 6)]
        assert asked.replicas.engine.of("withdraw_isr_change") == []

    check(tmp_path, test)


def test_proposals_that_wait_are_sent_in_one_request(tmp_path: Path) -> None:
    async def test(asked: Asked) -> None:
        asked.answers = [decided(found=GROWN)]
        asked.propose((ME, -1), (OTHER, 77))
        asked.propose((ME, -1), (OTHER, 77), number=1)
        await asked.settled()
        assert len(asked.requests) == 1
        assert [one.partition_index for one in asked.requests[0].topics[0].partitions] == [0, 1]
        assert asked.replicas.lease(partition=1) == (ME, 3, 6)

    check(tmp_path, test)


@pytest.mark.parametrize(
    "fault",
    [
        lost,
        refused(ErrorCode.NOT_CONTROLLER),
        refused(ErrorCode.STALE_BROKER_EPOCH),
        decided(ErrorCode.NOT_CONTROLLER),
        decided(ErrorCode.REQUEST_TIMED_OUT),
        decided(ErrorCode.NONE, GROWN, topic_id=NEW_ID),  # the answer for another topic counts as none
    ],
)
def test_proposal_without_an_answer_is_repeated_unchanged(tmp_path: Path, fault: Callable[[Any], Fields]) -> None:
    """The controller may have written the change: the leader never proposes another or a smaller set, and does not
    withdraw the change (KIP-497)."""

    async def test(asked: Asked) -> None:
        asked.answers = [fault, fault, fault, decided(found=GROWN)]
        asked.propose((ME, -1), (OTHER, 77))
        await asked.settled()
        assert asked.proposals() == [(5, [(ME, BROKER_EPOCH), (OTHER, 77)])] * 4
        assert asked.replicas.engine.of("withdraw_isr_change") == []
        assert asked.replicas.lease() == (ME, 3, 6)

    check(tmp_path, test)


def test_repeated_proposal_has_the_current_broker_epoch(tmp_path: Path) -> None:
    async def test(asked: Asked) -> None:
        asked.answers = [refused(ErrorCode.STALE_BROKER_EPOCH)]
        asked.propose((ME, -1), (OTHER, 77))
        await asked.asked(1)
        asked.changes.broker_epoch = BROKER_EPOCH + 1
        asked.answers = [decided(found=GROWN)]
        await asked.settled()
        assert asked.requests[-1].broker_epoch == BROKER_EPOCH + 1
        assert asked.proposals()[-1] == (5, [(ME, BROKER_EPOCH + 1), (OTHER, 77)])

    check(tmp_path, test)


def test_bug_in_asking_does_not_end_asking(tmp_path: Path) -> None:
    async def test(asked: Asked) -> None:
        def bug(_: Any) -> Fields:
            raise RuntimeError("our bug")

        asked.answers = [bug, decided(found=GROWN)]
        asked.propose((ME, -1), (OTHER, 77))
        await asked.settled()
        assert asked.replicas.lease() == (ME, 3, 6)

    check(tmp_path, test)


# ---- B: the partition has another epoch
def test_newer_state_is_read_from_the_store(tmp_path: Path) -> None:  # H21
    async def test(asked: Asked) -> None:
        asked.stored = state(ME, 3, 9, isr=(ME, THIRD))
        asked.answers = [decided(ErrorCode.INVALID_UPDATE_VERSION)]
        asked.propose((ME, -1), (OTHER, 77))
        await asked.settled()
        assert asked.replicas.held.partition("t", 0) == asked.stored
        assert (asked.replicas.lease(), len(asked.requests)) == ((ME, 3, 9), 1)

    check(tmp_path, test)


@pytest.mark.parametrize("found", [KafkastoreError("away"), state(ME, 3, 5, isr=(ME,))])
def test_change_stays_under_way_until_the_newer_state_is_known(tmp_path: Path, found: Any) -> None:
    """A change that is refused for its version may be in force, with another change on top of it, while the store is
    away, or behind (ZooKeeper's reads may be). If the change were withdrawn now, the high watermark would pass the new
    member's log end."""

    async def test(asked: Asked) -> None:
        asked.stored = found
        asked.answers = [decided(ErrorCode.INVALID_UPDATE_VERSION)]
        asked.propose((ME, -1), (OTHER, 77))
        await asked.asked(4)
        assert asked.replicas.engine.of("withdraw_isr_change") == []
        asked.stored = state(ME, 3, 7, isr=(ME, OTHER, THIRD))
        await asked.settled()
        assert asked.replicas.lease() == (ME, 3, 7)

    check(tmp_path, test)


@pytest.mark.parametrize("found", [state(OTHER, 4, 7), state(ME, 4, 7), None])
def test_deposed_leader_does_not_take_its_lease_from_the_store(tmp_path: Path, found: Any) -> None:
    """The store has another leader, another epoch or no topic: the controller will send that state; until then both
    in-sync sets count."""

    async def test(asked: Asked) -> None:
        asked.stored = found
        asked.answers = [decided(ErrorCode.INVALID_UPDATE_VERSION)]
        asked.propose((ME, -1), (OTHER, 77))
        await asked.settled()
        await asyncio.sleep(0.01)
        assert (asked.replicas.engine.history, asked.replicas.engine.of("withdraw_isr_change")) == ([], [])
        assert (asked.reads, len(asked.requests)) == (1, 1)

    check(tmp_path, test)


# ---- C and D
@pytest.mark.parametrize("code", [ErrorCode.INELIGIBLE_REPLICA, ErrorCode.INVALID_REQUEST])
def test_refused_change_is_withdrawn_once(tmp_path: Path, code: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")

    async def test(asked: Asked) -> None:
        asked.answers = [decided(code)]
        asked.propose((ME, -1), (OTHER, 77))
        await asked.settled()
        engine = asked.replicas.engine
        assert engine.of("withdraw_isr_change") == [("t", 0, 5)]
        assert (len(asked.requests), engine.history) == (1, [])
        assert f"of t-0 is refused: {error_name(code)}" in caplog.text

    check(tmp_path, test)


@pytest.mark.parametrize(
    "code", [ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
)
def test_deposed_leader_forgets_its_change(tmp_path: Path, code: int) -> None:
    async def test(asked: Asked) -> None:
        asked.answers = [decided(code)]
        asked.propose((ME, -1), (OTHER, 77))
        await asked.settled()
        await asyncio.sleep(0.01)
        assert (asked.replicas.engine.of("withdraw_isr_change"), asked.replicas.engine.history) == ([], [])
        assert len(asked.requests) == 1

    check(tmp_path, test)


@pytest.mark.parametrize("changed", [state(OTHER, 4, 6), state(ME, 4, 6), state(ME, 3, 6)])
def test_lease_that_changed_meanwhile_drops_the_change(tmp_path: Path, changed: PartitionState) -> None:
    async def test(asked: Asked) -> None:
        asked.answers = [lost]
        asked.propose((ME, -1), (OTHER, 77))
        await asked.asked(1)
        await asked.replicas.become(told(changed))
        count = len(asked.requests)
        await asked.settled()
        assert len(asked.requests) == count
        assert asked.replicas.engine.of("withdraw_isr_change") == []

    check(tmp_path, test)


def test_late_decision_does_not_replace_a_newer_lease(tmp_path: Path) -> None:
    async def test(asked: Asked) -> None:
        newer = state(ME, 3, 8, isr=(ME, THIRD))

        def late(request: Any) -> Fields:
            asked.replicas.held.merge("t", T_ID, {0: newer})
            return decided(found=GROWN)(request)

        asked.answers = [late]
        asked.propose((ME, -1), (OTHER, 77))
        await asked.settled()
        assert asked.replicas.held.partition("t", 0) == newer
        assert GROWN.partition_epoch not in [entry[4] for entry in asked.replicas.engine.history]

    check(tmp_path, test)


def test_newer_proposal_replaces_a_repeated_one(tmp_path: Path) -> None:
    async def test(asked: Asked) -> None:
        def superseded(_: Any) -> Fields:
            asked.replicas.held.merge("t", T_ID, {0: GROWN})
            asked.propose((ME, -1), partition_epoch=6)
            raise KafkastoreError("no answer")

        asked.answers = [superseded, decided(found=state(ME, 3, 7, isr=(ME,)))]
        asked.propose((ME, -1), (OTHER, 77))
        await asked.settled()
        assert [epoch for epoch, _ in asked.proposals()] == [5, 6]

    check(tmp_path, test)


def test_nothing_is_asked_after_the_stop(tmp_path: Path) -> None:
    async def test(asked: Asked) -> None:
        await asked.changes.stop()
        asked.propose((ME, -1), (OTHER, 77))
        await asyncio.sleep(0.01)
        assert asked.requests == []

    check(tmp_path, test)
