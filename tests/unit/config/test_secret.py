"""The brokers' secret is one line in a file that no other user may read."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkastore.config import BrokerConfig
from kafkastore.config.secret import FILE_KEY, REQUIRED_KEY, new_secret
from kafkastore.errors import StartupError

GOOD = "0123456789abcdef"


def loaded(folder: Path, content: bytes, mode: int = 0o600, **more: str) -> BrokerConfig:
    path = folder / "secret"
    path.write_bytes(content)
    path.chmod(mode)
    config = BrokerConfig({FILE_KEY: str(path), "log.dirs": str(folder / "data"), **more})
    config.load_secret()
    return config


def test_secret_without_its_line_end_reaches_the_data_plane(tmp_path: Path) -> None:
    config = loaded(tmp_path, GOOD.encode() + b"\r\n")
    assert config.inter_broker_secret == (GOOD, True)
    assert config.engine_options()["kafkastore.inter.broker.secret"] == GOOD
    assert GOOD not in repr(config.inter_broker_secret)
    secret = loaded(tmp_path, new_secret().encode(), **{REQUIRED_KEY: "false"}).inter_broker_secret
    assert secret is not None
    assert secret[1] is False


def test_without_a_file_there_is_none(tmp_path: Path) -> None:
    config = BrokerConfig({"log.dirs": str(tmp_path)})
    config.load_secret()
    assert config.inter_broker_secret is None
    assert "kafkastore.inter.broker.secret" not in config.engine_options()


@pytest.mark.parametrize(
    ("content", "mode", "reason"),
    [
        (GOOD.encode(), 0o640, "may be read by others (mode 640); chmod 600 it"),
        (GOOD.encode(), 0o604, "may be read by others (mode 604)"),
        (b"", 0o600, "does not hold one line of at least 16"),
        (b"short", 0o600, "does not hold one line of at least 16"),
        (b"two lines of\nsecrets that are", 0o600, "does not hold one line"),
        (b"\xff" * 20, 0o600, "does not hold one line"),
        (b"a" * 5000, 0o600, "does not hold one line"),
    ],
)
def test_invalid_secret_refuses_the_start_and_is_not_printed(
    tmp_path: Path, content: bytes, mode: int, reason: str
) -> None:
    with pytest.raises(StartupError) as refusal:
        loaded(tmp_path, content, mode)
    said = str(refusal.value)
    assert said.startswith(f"{FILE_KEY}={tmp_path / 'secret'} ")
    assert reason in said
    assert not content or content.decode("latin-1").split("\n")[0] not in said


def test_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    config = BrokerConfig({FILE_KEY: str(tmp_path / "none"), "log.dirs": str(tmp_path)})
    with pytest.raises(StartupError, match="cannot be read: No such file or directory; copy it from another broker"):
        config.load_secret()
