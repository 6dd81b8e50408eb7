"""Many nodes below ``/config`` changed at once: batches, other writers, what is refused, notices."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from kafkastore.dynamic_config import config_nodes
from kafkastore.dynamic_config.config_nodes import edit_nodes
from kafkastore.errors import InvalidRequestError, KafkastoreError
from kafkastore.metadata.node_content import InvalidNodeError
from kafkastore.metadata.nodes import CONFIG_CHANGES, decode_config, decode_config_notice, encode_config
from kafkastore.metadata.sqlite import SqliteStore
from kafkastore.metadata.store import StoreUnavailableError

USERS = "/config/users"


class Watched:
    """A store whose ``multi`` calls are kept, and may be met by another writer or fail."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self.batch_bytes = store.batch_bytes
        self.multis: list[Sequence[Any]] = []
        self.before: Callable[[int], Awaitable[None]] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def multi(self, operations: Sequence[Any]) -> Any:
        self.multis.append(operations)
        if self.before is not None:
            await self.before(len(self.multis))
        return await self._store.multi(operations)

    async def configs(self) -> dict[str, dict[str, str]]:
        tree = await self._store.get_tree(USERS)
        return {path[len(USERS) + 1 :]: decode_config(data) for path, data, _ in tree if path != USERS}

    async def noticed(self) -> list[str]:
        names: list[str] = []
        for node in sorted(await self._store.get_children(CONFIG_CHANGES)):
            kind, some = decode_config_notice((await self._store.get(f"{CONFIG_CHANGES}/{node}")).data)
            assert kind == "users"
            names += some
        return names


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Any]:
    store = SqliteStore(str(tmp_path / "metadata.sqlite"))
    await store.connect()
    yield Watched(store)
    await store.close()


def put(value: str) -> Callable[[dict[str, str]], dict[str, str]]:
    return lambda found: found | {"key": value}


def refuse(_: dict[str, str]) -> dict[str, str]:
    raise InvalidRequestError("no")


@pytest.mark.parametrize("batch_bytes", [16 << 20, 3000])
async def test_many_nodes_are_changed_in_few_writes_and_all_are_noticed(store: Any, batch_bytes: int) -> None:
    store.batch_bytes = batch_bytes
    names = [f"u{at}" for at in range(config_nodes.TOGETHER + 20)] + ["u7/clients/app", "new/clients/app"]
    wanted = {name: {"key": name} for name in names}
    assert await edit_nodes(store, "users", {name: put(name) for name in names}) == wanted
    assert await store.configs() == wanted | {"u7/clients": {}, "new": {}, "new/clients": {}}
    assert sorted(await store.noticed()) == sorted(names)
    assert len(store.multis) == 2 or (batch_bytes == 3000 and len(store.multis) < len(names) / 5)


async def test_what_is_refused_malformed_or_unchanged_fails_nothing_else_and_is_not_written(store: Any) -> None:
    await store.ensure_path(USERS)
    for name, data in {"bad": b"{secret", "same": encode_config({"key": "1"}), "old": b""}.items():
        await store.create(f"{USERS}/{name}", data)
    edits = {"bad": put("1"), "same": put("1"), "old": put("1"), "new": put("1"), "refused": refuse}
    found = await edit_nodes(store, "users", edits)
    errors = {name: str(found.pop(name)) for name in ("bad", "refused")}
    malformed = "/config/users/bad in the metadata store is malformed; repair or delete it"
    assert errors == {"bad": malformed, "refused": "no"}
    assert found == {key: {"key": "1"} for key in ("same", "old", "new")}
    assert sorted(await store.noticed()) == ["new", "old"]
    assert (await store.get(f"{USERS}/bad")).data == b"{secret"
    assert await store.exists(f"{USERS}/refused") is None


async def test_what_another_writer_does_meanwhile_is_kept_and_no_change_is_made_twice(store: Any) -> None:
    store.batch_bytes = 2000
    names = [f"u{at}" for at in range(20)]

    def once(found: dict[str, str]) -> dict[str, str]:
        assert "key" not in found
        return found | {"key": "1"}

    async def meet(nth: int) -> None:
        if nth == 2:
            await store.create(f"{USERS}/u9", encode_config({"other": "2"}))

    store.before = meet
    found = await edit_nodes(store, "users", dict.fromkeys(names, once))
    assert found == {key: {"key": "1"} for key in names} | {"u9": {"other": "2", "key": "1"}}
    assert await store.configs() == found


async def test_what_was_written_before_the_store_failed_is_told_apart(store: Any) -> None:
    store.batch_bytes = 2000

    async def fail(nth: int) -> None:
        if nth == 2:
            raise StoreUnavailableError("/")

    store.before = fail
    found = await edit_nodes(store, "users", {f"u{at}": put("1") for at in range(20)})
    done = {name: one for name, one in found.items() if not isinstance(one, KafkastoreError)}
    assert 0 < len(done) < len(found) == 20
    assert await store.configs() == done
    assert {type(one) for name, one in found.items() if name not in done} == {StoreUnavailableError}
    assert len(store.multis) == 2, "nothing more was tried"


@pytest.mark.parametrize(
    "content",
    [
        {"entity_path": "users/"},
        {"entity_path": "users//x"},
        {"entity_path": "users", "names": ["a", ""]},
        {"entity_path": "users", "names": ["a/"]},
        {"entity_path": "users", "names": [1]},
        {"entity_path": "users", "names": ["a", "a/../b"]},
        {"entity_path": "users/."},
        {"entity_path": "users/a\0"},
        {"entity_path": "users"},
    ],
)
def test_notice_that_names_no_node_is_malformed(content: dict[str, Any]) -> None:
    with pytest.raises(InvalidNodeError, match="no names of nodes"):
        decode_config_notice(json.dumps({"version": 2, **content}).encode())


def test_half_of_a_surrogate_pair_is_malformed_and_a_pair_is_none() -> None:
    texts = ("\U0001f642\\ud800", "\ud800")
    whole, half = (json.dumps({"version": 1, "config": {"key": text}}).encode() for text in texts)
    assert decode_config(whole) == {"key": "\U0001f642\\ud800"}
    with pytest.raises(InvalidNodeError, match="half a surrogate pair"):
        decode_config(half)
