"""Consumer groups that grow and shrink, members being processes (member.py), of each client library."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clients.conftest import samples
from clients.test_librdkafka import produce
from peer.broker_process import BrokerProcess, wait_until
from peer.topics import admin_client
from proof.scope import played

MEMBER = Path(__file__).with_name("member.py")
PARTITIONS = 6
SETTLED_LIMIT_S = 30
LIBRARIES = ["librdkafka", "librdkafka-cooperative", "kafka-python", "aiokafka"]


class Member:
    """A member process, and what it last said that it owns."""

    def __init__(self, library: str, bootstrap: str, group: str, topic: str, instance_id: str | None = None) -> None:
        command = [
            sys.executable,
            str(MEMBER),
            library,
            bootstrap,
            group,
            topic,
            *([instance_id] if instance_id else []),
        ]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.owned: list[int] = []
        self.changes = 0
        self.consumed = 0
        self.fenced = False
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            news = json.loads(line)
            if "owned" in news:
                self.owned = news["owned"]
                self.changes += 1
            self.consumed = news.get("consumed", self.consumed)
            self.fenced = self.fenced or "fenced" in news

    def end(self, kill: bool = False) -> int:
        if kill:
            self.process.kill()
        else:
            self.process.terminate()
        code = self.process.wait(SETTLED_LIMIT_S)
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


Starter = Callable[..., Member]


@pytest.fixture
def topic(new_topic: Callable[..., str]) -> str:
    return new_topic(partitions=PARTITIONS)


@pytest.fixture
def start(broker: BrokerProcess, topic: str, name: str) -> Iterator[Starter]:
    """start(library, instance_id=None): a member of the test's group; what still runs at the end is killed."""
    members: list[Member] = []

    def make(library: str, instance_id: str | None = None) -> Member:
        members.append(Member(library, broker.bootstrap, name, topic, instance_id))
        return members[-1]

    yield make
    for member in members:
        member.end(kill=True)


def is_settled(members: list[Member]) -> bool:
    """Every partition has one owner, and every member owns a fair share."""
    owned = [partition for member in members for partition in member.owned]
    return sorted(owned) == list(range(PARTITIONS)) and all(
        len(member.owned) == PARTITIONS // len(members) for member in members
    )


def wait_until_settled(members: list[Member]) -> None:
    wait_until(lambda: is_settled(members), SETTLED_LIMIT_S, f"{len(members)} members own {PARTITIONS} partitions")


@pytest.mark.parametrize("library", LIBRARIES)
def test_partitions_follow_members_that_join_leave_and_die(
    broker: BrokerProcess, topic: str, start: Starter, library: str
) -> None:
    first, second = start(library), start(library)
    wait_until_settled([first, second])
    third = start(library)
    wait_until_settled([first, second, third])
    for partition in range(PARTITIONS):
        produce(broker, topic, samples(10), partition=partition)
    wait_until(
        lambda: first.consumed + second.consumed + third.consumed == 10 * PARTITIONS,
        SETTLED_LIMIT_S,
        "every record read once",
    )
    assert first.end() == 0
    wait_until_settled([second, third])
    second.end(kill=True)
    wait_until_settled([third])  # after its session expired
    assert third.end() == 0


# kafka-python shows below that it sends its instance id
@pytest.mark.parametrize("library", played(["librdkafka", "aiokafka"], LIBRARIES))
def test_static_member_that_comes_back_keeps_its_partitions(start: Starter, library: str) -> None:
    stays, returns = start(library, "one"), start(library, "two")
    wait_until_settled([stays, returns])
    owned, changes = returns.owned, stays.changes
    returns.end(kill=True)
    again = start(library, "two")  # well within its session
    wait_until(lambda: again.owned == owned, SETTLED_LIMIT_S, "the same partitions as before")
    assert stays.changes == changes, "the other member was rebalanced"


@pytest.mark.parametrize("library", ["librdkafka", "kafka-python"])
def test_second_member_with_an_instance_id_fences_the_first(start: Starter, library: str) -> None:
    first = start(library, "one")
    wait_until_settled([first])
    second = start(library, "one")
    wait_until(
        lambda: first.fenced and len(second.owned) == PARTITIONS,
        SETTLED_LIMIT_S,
        "the newer member owns all, the older is fenced",
    )


def test_members_of_different_libraries_share_one_group(broker: BrokerProcess, start: Starter, name: str) -> None:
    members = [start("librdkafka"), start("kafka-python")]
    wait_until_settled(members)
    admin = admin_client(broker.bootstrap)  # kept: a collected client never completes its futures
    described = admin.describe_consumer_groups([name])[name].result(20)
    assert (described.state.name, len(described.members), described.partition_assignor) == ("STABLE", 2, "range")
