"""The tests of ``test_transactions.py`` for the Java clients, against three brokers with three replicas of each topic.

KIP-98, KIP-447, KIP-890; H14
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from clients import test_transactions as on_one_broker
from clients.conftest import unique_name
from clients.java_versions import JavaVersions
from clients.transactional import Client, Java
from cluster.cluster import Cluster
from proof.scope import played

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

JAVA_CLIENTS = ["java", "java-3.9", "java-2.8", "java-0.11"]

test_reader = on_one_broker.test_reader_of_committed_records_sees_no_aborted_transaction
test_next_instance = on_one_broker.test_next_instance_aborts_the_open_transaction_of_a_producer_that_died
test_new_instance = on_one_broker.test_new_instance_fences_the_older_one_in_the_middle_of_its_transaction
test_over_time = on_one_broker.test_transaction_that_is_over_time_is_aborted_and_its_producer_refused
test_copies = on_one_broker.test_offsets_of_an_aborted_copy_are_dropped_and_of_a_committed_copy_kept


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with closing(Cluster(tmp_path_factory.mktemp("cluster"), overrides=on_one_broker.QUICK_ABORT)) as cluster:
        yield cluster.start()


@pytest.fixture
def broker_factory(broker: Cluster) -> Callable[..., Cluster]:
    """The one cluster, which aborts what is over time as soon as the test asks for."""
    return lambda _: broker


@pytest.fixture
def new_topic(broker: Cluster, request: pytest.FixtureRequest) -> Callable[..., str]:
    def make(partitions: int = 1) -> str:
        name = unique_name(request)
        broker.create(name, partitions)
        return name

    return make


@pytest.fixture
def topic(new_topic: Callable[..., str]) -> str:
    return new_topic()


@pytest.fixture(autouse=True)
def _replicate_topics(monkeypatch: pytest.MonkeyPatch, new_topic: Callable[..., str]) -> None:
    """Topics that a test makes itself have three replicas, and a name of their own."""
    monkeypatch.setattr(on_one_broker, "create_topic", lambda *_: new_topic())


@pytest.fixture(params=played([JAVA_CLIENTS[0], JAVA_CLIENTS[-1]], JAVA_CLIENTS))  # the newest, and the oldest
def client(request: pytest.FixtureRequest, java_versions: JavaVersions) -> Client:
    if request.param == "java":
        return Java(request.getfixturevalue("java"))
    return java_versions(request.param.removeprefix("java-"))
