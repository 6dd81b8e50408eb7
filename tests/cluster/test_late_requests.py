"""Late requests of transactions (H11, H12): refused, or without effect, as Apache Kafka 4.3 answers them. The full
counts are ``python -m cluster.late_requests`` and ``python -m cluster.late_clients``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clients.transactional import Librdkafka
from cluster import late_clients, late_requests
from cluster.late_requests import Bench
from proof.scope import played

EACH = played(3, 20)
"""Of each kind at each moment: one that is committed, one that is aborted, and of some one that is left to its
timeout."""


@pytest.fixture(scope="module")
def bench(against: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A broker that its clients reach through the proxy."""
    made = Bench(against, tmp_path_factory.mktemp("late"))
    try:
        yield made.start()
    finally:
        made.close()


@pytest.mark.timeout(played(120, 900))
@pytest.mark.parametrize("version", [1, 2])
def test_late_request_changes_nothing_outside_of_an_open_transaction(bench: Bench, version: int) -> None:
    table = late_requests.run(bench, EACH, [version], late_requests.KINDS)
    assert late_requests.unexpected(table) == []


def test_late_request_whose_client_repeated_it_changes_nothing(bench: Bench) -> None:
    late_clients.fill(bench)
    table = late_clients.run(bench, 1, ["librdkafka"], {"librdkafka": Librdkafka()})
    assert late_clients.accepted(table) == []


def test_no_transaction_hangs_after_late_requests(bench: Bench) -> None:
    """Follows the other tests on their broker."""
    bench.assert_all_is_well()
