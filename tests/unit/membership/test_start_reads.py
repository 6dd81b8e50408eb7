"""A start's reads of the store: a tree is read once, and again under the controller's epoch if it has changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from member_world import running_member
from stepped import Engine
from world import broker_config, run, running_broker

from kafkastore.membership.member import Member
from kafkastore.metadata.leadership import Leadership, encode_leadership
from kafkastore.metadata.opening import open_store
from kafkastore.metadata.sqlite import SqliteStore
from kafkastore.metadata.stored_topics import CONFIGS, TOPICS

T_ID = b"t".ljust(16, b"-")


def with_log(engine: Engine) -> None:
    engine.add_log("t", 0, T_ID)


@pytest.fixture
def trees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The topics' trees that starts read, in a folder where a broker that is alone was started once before."""

    async def body() -> None:
        async with running_broker(tmp_path, with_log):
            pass

    run(body)
    read: list[str] = []
    get_tree = SqliteStore.get_tree

    async def recording(self: SqliteStore, path: str) -> list[tuple[str, bytes, int]]:
        if path in (TOPICS, CONFIGS):
            read.append(path)
        return await get_tree(self, path)

    monkeypatch.setattr(SqliteStore, "get_tree", recording)
    return read


def test_broker_that_is_alone_reads_its_topics_once(tmp_path: Path, trees: list[str]) -> None:
    async def body() -> None:
        async with running_broker(tmp_path, with_log) as broker:
            assert broker.services.engine.leases["t", 0][0] == 1
            assert broker.services.image.controller_epoch > 1

    for _ in range(3):  # a later start does not look for the highest epoch either
        run(body)
    assert trees == [TOPICS, CONFIGS] * 3


def test_first_of_a_cluster_in_a_file_reads_its_topics_once(tmp_path: Path, trees: list[str]) -> None:
    async def body() -> None:
        async with running_member(tmp_path / "member"):
            pass

    (tmp_path / "member").mkdir()
    run(body)
    trees.clear()
    run(body)
    assert trees.count(TOPICS) == 1


def test_state_that_was_written_before_the_election_is_what_the_controller_goes_on_from(
    tmp_path: Path, trees: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:  # H21
    join = Member.join

    async def late(self: Member, *given: object) -> None:
        store = open_store(broker_config(tmp_path))
        await store.connect()
        await store.set(f"{TOPICS}/t/partitions/0/state", encode_leadership(Leadership(1, 41, (1,)), 1))
        await store.close()
        await join(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(Member, "join", late)

    async def body() -> None:
        async with running_broker(tmp_path, with_log) as broker:
            state = broker.services.image.partition("t", 0)
            assert state is not None
            assert (state.leader, state.leader_epoch) == (1, 41)
            assert broker.services.engine.leases["t", 0][:2] == (1, 41)

    run(body)
    assert trees.count(TOPICS) > 1
