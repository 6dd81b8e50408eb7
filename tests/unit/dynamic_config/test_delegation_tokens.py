"""Delegation tokens in the store: Kafka's layout, changes, ends, nodes that are malformed (KIP-48)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from stepped import Engine

from kafkastore.config import BrokerConfig
from kafkastore.dynamic_config.delegation_tokens import (
    TOKENS,
    DelegationTokenExpiredError,
    DelegationTokenNotFoundError,
    DelegationTokenOwnerMismatchError,
    DelegationTokens,
    DelegationTokensDisabledError,
)
from kafkastore.metadata.nodes import CONFIG_CHANGES
from kafkastore.metadata.sqlite import SqliteStore

ALICE, BOB, CAROL = "User:alice", "User:bob", "User:carol"
DAY_MS = 86_400_000
SECRET = {"delegation.token.secret.key": "secret"}


class World:
    """The tokens of one broker; ``now`` is its clock."""

    def __init__(self, store: SqliteStore, properties: dict[str, str]) -> None:
        self.store = store
        self.now = 1000
        self.security: Any = Engine(1, "", [], {}).security()
        config = BrokerConfig({"listeners": "PLAINTEXT://:9092", **properties})
        self.tokens = DelegationTokens(config, store, self.security, lambda: self.now)

    def published(self) -> list[tuple[Any, ...]]:
        """(id, (user, password, end)) in effect."""
        found: list[tuple[Any, ...]] = self.security.in_effect("publish_delegation_tokens", 1)
        return found


def check(folder: Path, test: Callable[[World], Awaitable[None]], properties: dict[str, str] | None = None) -> None:
    async def run() -> None:
        store = SqliteStore(str(folder / "metadata.sqlite"))
        await store.connect()
        await store.ensure_path(CONFIG_CHANGES)
        await test(World(store, SECRET if properties is None else properties))
        await store.close()

    asyncio.run(run())


def test_a_token_is_stored_as_kafka_stores_it_and_published(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        token = await world.tokens.create(ALICE, ALICE, [BOB], 0)
        assert json.loads((await world.store.get(f"{TOKENS}/{token.token_id}")).data) == {
            "version": 3,
            "owner": ALICE,
            "tokenRequester": ALICE,
            "renewers": [BOB],
            "issueTimestamp": 1000,
            "maxTimestamp": 1000 + 7 * DAY_MS,
            "expiryTimestamp": 1000 + DAY_MS,
            "tokenId": token.token_id,
        }
        ((token_id, (owner, _, ends_ms)),) = world.published()
        assert (token_id, owner, ends_ms) == (token.token_id, "alice", 1000 + DAY_MS)

    check(tmp_path, test)


def test_owner_and_renewers_move_the_end_within_the_longest_lifetime(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        token = await world.tokens.create(ALICE, ALICE, [BOB], 5000)
        hmac = world.tokens.hmac(token.token_id)
        assert token.expires_ms == token.max_ms == 6000
        world.now = 2000
        assert await world.tokens.renew(hmac, BOB, -1) == 6000
        assert await world.tokens.expire(hmac, ALICE, 1000) == 3000
        assert await world.tokens.renew(hmac, BOB, 2500) == 4500
        with pytest.raises(DelegationTokenOwnerMismatchError):
            await world.tokens.renew(hmac, CAROL, 1000)
        world.now = 4501
        with pytest.raises(DelegationTokenExpiredError):
            await world.tokens.renew(hmac, ALICE, 1000)

    check(tmp_path, test)


def test_a_token_that_is_ended_at_once_is_gone_on_every_broker(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        token = await world.tokens.create(ALICE, ALICE, [], 0)
        hmac = world.tokens.hmac(token.token_id)
        other = World(world.store, SECRET)
        await other.tokens.reload_all()
        assert len(other.published()) == 1
        assert await world.tokens.expire(hmac, ALICE, -7) == world.now
        assert world.published() == []
        with pytest.raises(DelegationTokenNotFoundError):
            await other.tokens.renew(hmac, ALICE, 1000)
        other.tokens.take({token.token_id: None})
        assert other.published() == []

    check(tmp_path, test)


def test_ended_token_may_be_ended_and_not_prolonged(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        token = await world.tokens.create(ALICE, ALICE, [], 10)
        hmac = world.tokens.hmac(token.token_id)
        world.now += 11
        with pytest.raises(DelegationTokenExpiredError):
            await world.tokens.expire(hmac, ALICE, 5)
        assert await world.tokens.expire(hmac, ALICE, -1) == world.now
        with pytest.raises(DelegationTokenNotFoundError):
            await world.tokens.expire(hmac, ALICE, -1)

    check(tmp_path, test)


def test_ended_tokens_are_deleted_and_others_stay(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        short, long = [await world.tokens.create(ALICE, ALICE, [], lifetime) for lifetime in (10, 0)]
        world.tokens.begin()
        world.now = 2000
        for _ in range(500):
            if short.token_id not in {row[0] for row in world.published()}:
                break
            await asyncio.sleep(0.01)
        await world.tokens.stop()
        assert await world.store.get_children(TOKENS) == [long.token_id]
        assert {row[0] for row in world.published()} == {long.token_id}

    check(tmp_path, test, SECRET | {"delegation.token.expiry.check.interval.ms": "10"})


def test_ended_token_that_another_broker_has_just_renewed_stays(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        token = await world.tokens.create(ALICE, ALICE, [], 0)
        other = World(world.store, SECRET)
        await other.tokens.reload_all()
        other.now = token.expires_ms
        ends_ms = await other.tokens.renew(world.tokens.hmac(token.token_id), ALICE, 0)
        assert [one.expires_ms for one in world.tokens.known] == [token.expires_ms], "it has not heard of that yet"
        await world.tokens._delete_ended(token.token_id, token.expires_ms + 1)
        assert json.loads((await world.store.get(f"{TOKENS}/{token.token_id}")).data)["expiryTimestamp"] == ends_ms

    check(tmp_path, test)


def test_without_a_secret_no_token_is_made_or_taken(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        token = await World(world.store, SECRET).tokens.create(ALICE, ALICE, [], 0)
        await world.tokens.reload_all()
        assert world.published() == []
        for change in (world.tokens.renew, world.tokens.expire):
            with pytest.raises(DelegationTokensDisabledError):
                await change(token.token_id.encode(), ALICE, 1000)
        with pytest.raises(DelegationTokensDisabledError):
            await world.tokens.create(ALICE, ALICE, [], 0)

    check(tmp_path, test, {})


def test_malformed_nodes_are_logged_and_let_nobody_in(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    times = {"issueTimestamp": 1, "maxTimestamp": 2**63, "expiryTimestamp": 3}
    endless = json.dumps({"owner": "User:alice", "renewers": [], "tokenId": "5", **times}).encode()
    contents = [
        endless,
        b"",
        b"secret",
        b"[]",
        b'{"owner":"User:alice"}',
        b'{"owner":"User:alice","renewers":1,"tokenId":"4"}',
    ]

    async def test(world: World) -> None:
        token = await world.tokens.create(ALICE, ALICE, [], 0)
        for number, content in enumerate(contents):
            await world.store.create(f"{TOKENS}/{number}", content)
        named_otherwise = (await world.store.get(f"{TOKENS}/{token.token_id}")).data
        await world.store.create(f"{TOKENS}/other", named_otherwise)
        await world.tokens.reload_all()
        assert [row[0] for row in world.published()] == [token.token_id]
        assert len(caplog.messages) == len(contents)
        assert not any("secret" in message for message in caplog.messages)

    check(tmp_path, test)


def test_the_longest_lifetime_ends_with_the_last_time_that_there_is(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        token = await world.tokens.create(ALICE, ALICE, [], 0)
        assert token.max_ms == 2**63 - 1
        await world.tokens.reload_all()
        assert list(world.tokens.known) == [token]

    check(tmp_path, test, {**SECRET, "delegation.token.max.lifetime.ms": str(2**63 - 1)})


@pytest.mark.parametrize("content", [b"[" * 100_000, b'{"owner":"\\ud800"}', b'{"version":3}'])
def test_nodes_that_no_token_has_stop_no_start(tmp_path: Path, content: bytes) -> None:
    async def test(world: World) -> None:
        good = await world.tokens.create(ALICE, ALICE, [], 0)
        node = (await world.store.get(f"{TOKENS}/{good.token_id}")).data
        wrong = node.replace(b"User:alice", b"\\ud800") if b"owner" in content else content
        await world.store.create(f"{TOKENS}/wrong", wrong.replace(good.token_id.encode(), b"wrong"))
        await world.tokens.reload_all()
        assert [one[0] for one in world.published()] == [good.token_id]

    check(tmp_path, test)
