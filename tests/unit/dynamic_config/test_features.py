"""The finalized features: kept in the store, the same on every broker, published to clients (KIP-584, KIP-778)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from member_world import other_store, running_member
from world import until

from kafkastore.dynamic_config.features import (
    SAFE_DOWNGRADE,
    UPGRADE,
    FeatureUpdate,
    FeatureUpdateFailedError,
    InvalidUpdateError,
)
from kafkastore.metadata.features import FEATURE, decode_features, encode_features
from kafkastore.metadata.node_content import InvalidNodeError
from kafkastore.metadata.sqlite import SqliteStore
from kafkastore.server.broker import Broker

NAME = "transaction.version"


@pytest.fixture
async def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SqliteStore]:
    """The store of another broker."""
    async with other_store(tmp_path) as store:
        yield store


@pytest.fixture
async def broker(tmp_path: Path, store: SqliteStore) -> AsyncIterator[Broker]:
    async with running_member(tmp_path, lambda _: None) as broker:
        yield broker


def published(broker: Broker) -> tuple[int, dict[str, int]]:
    engine: Any = broker.services.engine
    epoch, rows = engine.of("publish_features")[-1]
    levels = dict(rows)
    assert levels["metadata.version"] == 30, "the one level of it"
    return epoch, {name: level for name, level in levels.items() if name != "metadata.version"}


async def change(broker: Broker, level: int, kind: int = SAFE_DOWNGRADE, *, is_validated_only: bool = False) -> None:
    asked = [FeatureUpdate(NAME, level, kind)]
    await broker.services.features.update(asked, is_validated_only=is_validated_only)


async def test_cluster_without_the_node_has_the_newest_transactions_and_epoch_0(
    broker: Broker, store: SqliteStore
) -> None:
    assert published(broker) == (0, {NAME: 2})
    assert await store.exists(FEATURE) is None


async def test_levels_of_the_store_are_published_before_clients_connect(tmp_path: Path, store: SqliteStore) -> None:
    await store.create(FEATURE, encode_features({NAME: 1}))
    async with running_member(tmp_path, lambda _: None) as broker:
        assert published(broker) == (1, {NAME: 1})


async def test_change_is_in_the_store_and_published_when_it_is_answered(broker: Broker, store: SqliteStore) -> None:
    await change(broker, 1)
    assert published(broker) == (1, {NAME: 1})
    assert decode_features((await store.get(FEATURE)).data) == {NAME: 1}
    await change(broker, 0)
    assert published(broker) == (2, {NAME: 0})
    await change(broker, 2, UPGRADE)
    assert published(broker) == (3, {NAME: 2})


async def test_change_by_another_broker_is_published_here(broker: Broker, store: SqliteStore) -> None:
    await store.create(FEATURE, encode_features({NAME: 1}))
    await until(lambda: published(broker) == (1, {NAME: 1}))
    await store.set(FEATURE, encode_features({}))
    await until(lambda: published(broker) == (2, {NAME: 0}))


async def test_nothing_is_written_by_a_check_or_by_the_levels_that_hold(broker: Broker, store: SqliteStore) -> None:
    await change(broker, 1, is_validated_only=True)
    await change(broker, 2, UPGRADE)
    assert await store.exists(FEATURE) is None


async def test_feature_of_one_level_takes_that_one_and_is_not_stored(broker: Broker, store: SqliteStore) -> None:
    update = broker.services.features.update
    same, other = (FeatureUpdate("metadata.version", level, UPGRADE) for level in (30, 31))
    await update([same, FeatureUpdate(NAME, 1, SAFE_DOWNGRADE)], is_validated_only=False)
    assert decode_features((await store.get(FEATURE)).data) == {NAME: 1}
    with pytest.raises(InvalidUpdateError, match="only supports versions 30-30"):
        await update([other], is_validated_only=False)


async def test_refused_update_changes_none_of_its_request(broker: Broker, store: SqliteStore) -> None:
    asked = [FeatureUpdate(NAME, 1, SAFE_DOWNGRADE), FeatureUpdate("nothing", 1, UPGRADE)]
    with pytest.raises(InvalidUpdateError, match="nothing"):
        await broker.services.features.update(asked, is_validated_only=False)
    assert await store.exists(FEATURE) is None


async def test_invalid_node_leaves_the_features_as_they_are_and_is_not_replaced(
    broker: Broker, store: SqliteStore
) -> None:
    await change(broker, 1)
    await store.set(FEATURE, b"{")
    with pytest.raises(FeatureUpdateFailedError, match="is not JSON"):
        await change(broker, 2, UPGRADE)
    assert published(broker) == (1, {NAME: 1})
    await store.set(FEATURE, encode_features({NAME: 2}))
    await until(lambda: published(broker) == (3, {NAME: 2}))


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
