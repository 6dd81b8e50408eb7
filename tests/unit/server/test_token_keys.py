"""When the keys that sign tokens are read again: by a clock of the test, from a file or a server that counts."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import pytest
from fake_engine import Security, StartError
from world import broker_config

from kafkastore.server import token_keys
from kafkastore.server.token_keys import UNKNOWN_REST_S, TokenKeys

if TYPE_CHECKING:
    from pathlib import Path

REFRESH_S, RETRY_S = 3600.0, 2.0


class KeysWorld(Security):
    """The data plane's side, and the server of the keys."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0
        self.unknown = 0
        self.fetches = 0
        self.is_failing = False

    def unknown_token_keys(self, _: str) -> int:
        return self.unknown

    def set_token_keys(self, _: str, __: str) -> int:
        return 1

    def fetch(self, _: str, __: str | None) -> str:
        self.fetches += 1
        if self.is_failing:
            raise OSError("no route")
        return "{}"

    def fetched_by(self, keys: TokenKeys, *, read: bool = False) -> int:
        """How often one look, or a read, fetches keys now."""

        async def body() -> None:
            asyncio.get_running_loop().time = lambda: self.now  # type: ignore[method-assign]
            await (keys.read() if read else keys.look())

        before = self.fetches
        asyncio.run(body())
        return self.fetches - before


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> KeysWorld:
    found = KeysWorld()
    monkeypatch.setattr(token_keys, "_fetch", found.fetch)
    return found


def _started(folder: Path, world: KeysWorld, url: str = "https://issuer.test/keys") -> TokenKeys:
    config = broker_config(
        folder,
        listeners="PLAINTEXT://127.0.0.1:9092,SASL_PLAINTEXT://127.0.0.1:9093",
        sasl__enabled__mechanisms="OAUTHBEARER",
        sasl__oauthbearer__jwks__endpoint__url=url,
        sasl__oauthbearer__jwks__endpoint__refresh__ms=str(int(REFRESH_S * 1000)),
        sasl__oauthbearer__jwks__endpoint__retry__backoff__ms=str(int(RETRY_S * 1000)),
        sasl__oauthbearer__expected__audience="kafka",
    )
    keys = TokenKeys(config, world)  # type: ignore[arg-type]
    assert world.fetched_by(keys, read=True) == 1
    return keys


def test_tokens_with_unknown_keys_have_the_keys_fetched_once_in_a_rest(tmp_path: Path, world: KeysWorld) -> None:
    """Anyone can make such tokens, at any rate."""
    keys = _started(tmp_path, world)
    for _ in range(3):
        began = world.now
        world.unknown += 1
        for part in (0.0, 0.5, 0.99):
            world.now = began + UNKNOWN_REST_S * part
            world.unknown += 1
            assert world.fetched_by(keys) == 0
        world.now = began + UNKNOWN_REST_S
        assert world.fetched_by(keys) == 1, "the tokens of the rest are not forgotten"
    world.now += UNKNOWN_REST_S
    assert world.fetched_by(keys) == 0, "without such tokens nothing is fetched"


def test_keys_are_fetched_again_after_the_refresh_and_after_the_backoff_of_a_failure(
    tmp_path: Path, world: KeysWorld, caplog: pytest.LogCaptureFixture
) -> None:
    keys = _started(tmp_path, world)
    world.now += REFRESH_S - 1
    assert world.fetched_by(keys) == 0
    world.now += 1
    world.is_failing = True
    assert world.fetched_by(keys) == 1
    assert "stay as they are" in caplog.text
    world.now += RETRY_S - 0.1
    assert world.fetched_by(keys) == 0
    world.now += 0.1
    world.is_failing = False
    assert world.fetched_by(keys) == 1
    world.now += REFRESH_S - 1
    assert world.fetched_by(keys) == 0


def test_keys_that_cannot_be_fetched_refuse_the_start(tmp_path: Path, world: KeysWorld) -> None:
    world.is_failing = True
    with pytest.raises(StartError, match="cannot be read: no route"):
        _started(tmp_path, world)


def test_file_of_keys_that_changed_in_place_is_read_again(tmp_path: Path, world: KeysWorld) -> None:
    path = tmp_path / "keys"
    path.write_text("old")
    keys = _started(tmp_path, world, f"file://{path}")
    assert world.fetched_by(keys) == 0
    before = os.stat(path)
    path.write_text("new")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert world.fetched_by(keys) == 1
    assert world.fetched_by(keys) == 0
