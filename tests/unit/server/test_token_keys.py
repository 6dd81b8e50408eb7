"""When the keys of tokens are read again: time is passed in, and nothing is fetched."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from kafkastore._core import StartError
from kafkastore.config import BrokerConfig
from kafkastore.server import token_keys
from kafkastore.server.token_keys import TokenKeys

SETTINGS = {
    "listeners": "SASL_PLAINTEXT://127.0.0.1:9092",
    "sasl.enabled.mechanisms": "OAUTHBEARER",
    "sasl.oauthbearer.expected.audience": "kafka",
    "sasl.oauthbearer.expected.issuer": "https://issuer",
    "sasl.oauthbearer.jwks.endpoint.url": "http://127.0.0.1:1/keys",
    "sasl.oauthbearer.jwks.endpoint.refresh.ms": "3600000",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms": "1000",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": "5000",
}


class World:
    """A broker's keys beside a data plane that counts tokens with unknown keys, and takes any set but a broken one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.unknown = 0
        self.is_broken = False
        monkeypatch.setattr(token_keys, "_fetch", lambda _url, _path: "{}")
        self.security: Any = self
        self.keys = TokenKeys(BrokerConfig(SETTINGS), self.security)
        (self.set,) = self.keys._sets
        self.keys._read(self.set, 0.0)

    def unknown_token_keys(self, _listener: str) -> int:
        return self.unknown

    def set_token_keys(self, _listener: str, _text: str) -> None:
        if self.is_broken:
            raise StartError("it is broken")

    def look_at(self, moments: Iterable[float]) -> list[float]:
        """The moments at which the set was read."""
        read = []
        for now in moments:
            if self.keys._is_due(self.set, now):
                self.keys._renew(self.set, now)
                read.append(now)
        return read


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch)


def test_set_without_unknown_keys_is_read_again_after_the_refresh_interval(world: World) -> None:
    assert world.look_at([1.0, 3599.0, 3600.0, 3601.0]) == [3600.0]


def test_tokens_with_unknown_keys_read_the_set_again_no_sooner_than_the_longest_backoff(world: World) -> None:
    read = []
    for moment in range(1, 21):
        world.unknown += 1
        read += world.look_at([float(moment)])
    assert read == [5.0, 10.0, 15.0, 20.0]
    assert world.look_at([40.0]) == [], "there was no further one"


def test_failed_readings_are_repeated_after_twice_the_time_up_to_the_longest_backoff(world: World) -> None:
    world.is_broken = True
    moments = [3600 + half / 2 for half in range(41)]
    assert world.look_at(moments) == [3600.0, 3601.0, 3603.0, 3607.0, 3612.0, 3617.0]
    world.is_broken = False
    assert world.look_at([3622.0, 3623.0]) == [3622.0]
    world.is_broken = True
    world.set.due_at = 4000.0
    assert world.look_at([4000.0, 4000.5, 4001.0]) == [4000.0, 4001.0], "the first failure since"


def test_file_of_keys_that_changed_in_place_is_read_again(world: World, tmp_path: Path) -> None:
    """A file of the same size has another time of change."""
    path = tmp_path / "keys"
    path.write_text("old")
    world.keys = TokenKeys(
        BrokerConfig({**SETTINGS, "sasl.oauthbearer.jwks.endpoint.url": f"file://{path}"}), world.security
    )
    (world.set,) = world.keys._sets
    world.keys._read(world.set, 0.0)
    assert world.look_at([1.0]) == []
    before = path.stat()
    path.write_text("new")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert world.look_at([2.0, 3.0]) == [2.0]
