"""``controller_mutation_rate``: who shares a bucket, strict and older requests, the time to wait (KIP-599)."""

from __future__ import annotations

import asyncio

import pytest

from kafkastore.config import BrokerConfig
from kafkastore.dynamic_config.mutation_quotas import MAX_BUCKETS, MutationQuotas, ThrottlingQuotaExceededError
from kafkastore.dynamic_config.quota_entities import DEFAULT, Entity

ALICE = "User:alice"


class World:
    def __init__(self, *entities: Entity, rate: float = 2.0) -> None:
        self.now_s = 1000.0
        self.quotas = MutationQuotas(BrokerConfig({"controller.quota.window.num": "5"}), lambda: self.now_s)
        self.quotas.set_limits(dict.fromkeys(entities, rate), is_whole=True)

    def take(
        self, partitions: int, principal: str = ALICE, client_id: str | None = "app", *, is_strict: bool = True
    ) -> int:
        """The throttle time of a request with one topic; raises what the topic is refused with."""
        quota = self.quotas.of(principal, client_id, is_strict=is_strict)
        quota.take(partitions)
        return quota.throttle_time_ms

    def figures(self, max_rows: int) -> tuple[list[tuple[str, str, float, float, float]], int]:
        return asyncio.run(self.quotas.figures(max_rows))


def test_strict_request_may_exceed_the_bucket_once_and_is_refused_until_it_has_refilled() -> None:
    world = World(Entity("alice"))
    assert world.take(10) == 0, "a new bucket holds 5 s of 2 a second"
    assert world.take(4) == 0, "it is not below zero"
    quota = world.quotas.of(ALICE, "app", is_strict=True)
    with pytest.raises(ThrottlingQuotaExceededError, match="The throttling quota has been exceeded"):
        quota.take(1)
    assert quota.throttle_time_ms == 2000
    world.now_s += 0.5
    assert quota.throttle_time_ms == 1500, "the request may have waited"
    world.now_s += 1.5
    assert world.take(1) == 0


def test_older_request_is_never_refused_and_told_to_wait() -> None:
    world = World(Entity("alice"))
    assert world.take(14, is_strict=False) == 2000
    assert world.take(2, is_strict=False) == 3000


def test_bucket_refills_only_with_the_time_since_it_last_refilled() -> None:
    world = World(Entity("alice"))
    assert world.take(14, is_strict=False) == 2000
    world.now_s += 1
    assert world.take(0, is_strict=False) == 1000
    world.now_s += 0.5
    assert world.take(0, is_strict=False) == 500


def test_topics_of_one_request_are_refused_each_for_itself() -> None:
    quota = World(Entity("alice")).quotas.of(ALICE, "app", is_strict=True)
    quota.take(11)
    for _ in range(2):
        with pytest.raises(ThrottlingQuotaExceededError):
            quota.take(1)
    assert quota.throttle_time_ms == 500


@pytest.mark.parametrize(
    ("entity", "shares_user", "shares_client_id"),
    [
        (Entity("alice", "app"), False, False),
        (Entity("alice", DEFAULT), False, False),
        (Entity("alice"), True, False),
        (Entity(DEFAULT, "app"), False, False),
        (Entity(DEFAULT, DEFAULT), False, False),
        (Entity(DEFAULT), True, False),
        (Entity(client_id="app"), False, True),
        (Entity(client_id=DEFAULT), False, True),
    ],
)
def test_entity_of_the_limit_decides_who_shares_it(entity: Entity, shares_user: bool, shares_client_id: bool) -> None:
    def is_empty_for(principal: str, client_id: str) -> bool:
        world = World(entity)
        world.take(20)
        return world.take(0, principal, client_id, is_strict=False) > 0

    assert is_empty_for(ALICE, "app")
    assert is_empty_for(ALICE, "other") == shares_user
    assert is_empty_for("User:bob", "app") == shares_client_id


def test_more_exact_entity_decides() -> None:
    world = World(Entity(DEFAULT), rate=1000.0)
    world.quotas.set_limits({Entity("alice"): 1.0, Entity("eve"): None}, is_whole=False)
    assert world.take(15, is_strict=False) == 10_000
    assert world.take(15, "User:bob", is_strict=False) == 0
    world.quotas.set_limits({Entity("alice"): None}, is_whole=False)
    assert world.take(15, is_strict=False) == 25, "what was taken stays taken"


def test_requests_without_quota_client_id_or_principal_are_not_limited() -> None:
    assert World(Entity("bob")).take(10**6, is_strict=False) == 0
    assert World(Entity(client_id=DEFAULT)).take(10**6, client_id=None, is_strict=False) == 0
    assert World(Entity(DEFAULT)).take(10**6, principal="", is_strict=False) == 0


def test_endless_client_ids_share_a_bucket_in_the_end() -> None:
    world = World(Entity(client_id=DEFAULT))
    for number in range(MAX_BUCKETS):
        world.take(1, client_id=str(number))
    assert world.take(20, client_id="late", is_strict=False) > 0
    assert world.take(0, client_id="later", is_strict=False) > 0
    world.now_s += 6
    assert world.take(1, client_id="after") == 0, "the buckets that nobody used for a window are dropped"


def test_figures_are_of_the_clients_that_have_taken_most_lately_and_say_how_many_are_left_out() -> None:
    world = World(Entity("alice"), Entity(client_id=DEFAULT))
    for number in range(30):
        world.take(number, "User:bob", f"app-{number}")
    world.take(1, "User:bob", "x" * 251)
    world.take(12)
    world.take(2, is_strict=False)
    rows, left_out = world.figures(3)
    assert sorted(rows) == [
        ("", "app-27", 27 / 5, -17.0, 0.0),
        ("", "app-28", 28 / 5, -18.0, 0.0),
        ("", "app-29", 29 / 5, -19.0, 0.0),
    ]
    assert left_out == 28, "alice and 27 others; a client with a long name is not counted"
    world.now_s += 2
    ((_, _, rate, tokens, _),) = (row for row in world.figures(99)[0] if row[0] == "alice")
    assert (rate, tokens) == (14 / 5, 0.0)
    world.now_s += 6
    assert world.figures(3) == ([], 0)


def test_smallest_quota_has_the_longest_time() -> None:
    world = World(Entity("alice"), rate=5e-324)
    assert world.take(1, is_strict=False) == 2**31 - 1
