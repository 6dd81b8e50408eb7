"""The finalized features: kept in the store, the same on every broker, published to clients (KIP-584, KIP-778)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from member_world import other_store, running_member, until
from world import run

from kafkastore.dynamic_config.features import (
    SAFE_DOWNGRADE,
    UPGRADE,
    FeatureUpdate,
    FeatureUpdateFailedError,
    InvalidUpdateError,
)
from kafkastore.metadata.features import FEATURE, decode_features, encode_features
from kafkastore.metadata.node_content import InvalidNodeError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from kafkastore.metadata.sqlite import SqliteStore
    from kafkastore.server.broker import Broker

NAME = "transaction.version"


def check(folder: Path, test: Callable[[Broker, SqliteStore], Awaitable[None]], *, node: bytes | None = None) -> None:
    """Runs the test on a member, with the store of another broker; ``node`` is in the store before it starts."""

    async def body() -> None:
        async with other_store(folder) as store:
            if node is not None:
                await store.create(FEATURE, node)
            async with running_member(folder, lambda _: None) as broker:
                await test(broker, store)

    run(body)


def published(broker: Broker) -> tuple[int, dict[str, int]]:
    engine: Any = broker.services.engine
    epoch, rows = engine.of("publish_features")[-1]
    levels = dict(rows)
    assert levels["metadata.version"] == 30, "the one level of it"
    return epoch, {name: level for name, level in levels.items() if name != "metadata.version"}


async def change(broker: Broker, level: int, kind: int = SAFE_DOWNGRADE, *, is_validated_only: bool = False) -> None:
    asked = [FeatureUpdate(NAME, level, kind)]
    await broker.services.features.update(asked, is_validated_only=is_validated_only)


def test_cluster_without_the_node_has_the_newest_transactions_and_epoch_0(tmp_path: Path) -> None:
    async def test(broker: Broker, store: SqliteStore) -> None:
        assert published(broker) == (0, {NAME: 2})
        assert await store.exists(FEATURE) is None

    check(tmp_path, test)


def test_levels_of_the_store_are_published_before_clients_connect(tmp_path: Path) -> None:
    async def test(broker: Broker, _: SqliteStore) -> None:
        assert published(broker) == (1, {NAME: 1})

    check(tmp_path, test, node=encode_features({NAME: 1}))


def test_change_is_in_the_store_and_published_when_it_is_answered(tmp_path: Path) -> None:
    async def test(broker: Broker, store: SqliteStore) -> None:
        await change(broker, 1)
        assert published(broker) == (1, {NAME: 1})
        assert decode_features((await store.get(FEATURE)).data) == {NAME: 1}
        await change(broker, 0)
        assert published(broker) == (2, {NAME: 0})
        await change(broker, 2, UPGRADE)
        assert published(broker) == (3, {NAME: 2})

    check(tmp_path, test)


def test_change_by_another_broker_is_published_here(tmp_path: Path) -> None:
    async def test(broker: Broker, store: SqliteStore) -> None:
        await store.create(FEATURE, encode_features({NAME: 1}))
        await until(lambda: published(broker) == (1, {NAME: 1}))
        await store.set(FEATURE, encode_features({}))
        await until(lambda: published(broker) == (2, {NAME: 0}))

    check(tmp_path, test)


def test_nothing_is_written_by_a_check_or_by_the_levels_that_hold(tmp_path: Path) -> None:
    async def test(broker: Broker, store: SqliteStore) -> None:
        await change(broker, 1, is_validated_only=True)
        await change(broker, 2, UPGRADE)
        assert await store.exists(FEATURE) is None

    check(tmp_path, test)


def test_feature_of_one_level_takes_that_one_and_is_not_stored(tmp_path: Path) -> None:
    async def test(broker: Broker, store: SqliteStore) -> None:
        update = broker.services.features.update
        same, other = (FeatureUpdate("metadata.version", level, UPGRADE) for level in (30, 31))
        await update([same, FeatureUpdate(NAME, 1, SAFE_DOWNGRADE)], is_validated_only=False)
        assert decode_features((await store.get(FEATURE)).data) == {NAME: 1}
        with pytest.raises(InvalidUpdateError, match="only supports versions 30-30"):
            await update([other], is_validated_only=False)

    check(tmp_path, test)


def test_refused_update_changes_none_of_its_request(tmp_path: Path) -> None:
    async def test(broker: Broker, store: SqliteStore) -> None:
        asked = [FeatureUpdate(NAME, 1, SAFE_DOWNGRADE), FeatureUpdate("nothing", 1, UPGRADE)]
        with pytest.raises(InvalidUpdateError, match="nothing"):
            await broker.services.features.update(asked, is_validated_only=False)
        assert await store.exists(FEATURE) is None

    check(tmp_path, test)


def test_invalid_node_leaves_the_features_as_they_are_and_is_not_replaced(tmp_path: Path) -> None:
    async def test(broker: Broker, store: SqliteStore) -> None:
        await change(broker, 1)
        await store.set(FEATURE, b"{")
        with pytest.raises(FeatureUpdateFailedError, match="is not JSON"):
            await change(broker, 2, UPGRADE)
        assert published(broker) == (1, {NAME: 1})
        await store.set(FEATURE, encode_features({NAME: 2}))
        await until(lambda: published(broker) == (3, {NAME: 2}))

    check(tmp_path, test)


# ---- the node
def test_node_of_either_version_is_read() -> None:
    first = {"min_version_level": 1, "max_version_level": 1}
    for version, content in ((1, first), (2, {"max_version_level": 1})):
        node = {"version": version, "status": 1, "features": {NAME: content}}
        assert decode_features(json.dumps(node).encode()) == {NAME: 1}


def test_node_without_features_switched_on_has_none() -> None:
    assert decode_features(b'{"version":2,"status":0,"features":{"a":{"max_version_level":1}}}') == {}


@pytest.mark.parametrize(
    "node",
    [
        b"",
        b"[]",
        b'{"version":3,"status":1,"features":{}}',
        b'{"version":2,"status":2,"features":{}}',
        b'{"version":2,"features":{}}',
        b'{"version":2,"status":1}',
        b'{"version":2,"status":1,"features":[]}',
        b'{"version":2,"status":1,"features":{"a":1}}',
        b'{"version":2,"status":1,"features":{"a":{"max_version_level":"1"}}}',
        b'{"version":2,"status":1,"features":{"a":{"max_version_level":32768}}}',
    ],
)
def test_other_content_is_invalid(node: bytes) -> None:
    with pytest.raises(InvalidNodeError):
        decode_features(node)
