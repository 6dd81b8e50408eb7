"""Values that a file takes from the environment, from files and folders (KIP-297, KIP-421)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kafkastore.config import BrokerConfig
from kafkastore.errors import ConfigError

CLASS = "org.apache.kafka.common.config.provider."
HERE = {"listeners": "PLAINTEXT://localhost:9092"}  # no host is told of that others cannot reach
PROVIDERS = {
    "config.providers": "env, file,dir",
    "config.providers.env.class": f"{CLASS}EnvVarConfigProvider",
    "config.providers.file.class": f"{CLASS}FileConfigProvider",
    "config.providers.dir.class": f"{CLASS}DirectoryConfigProvider",
}


def load(folder: Path, lines: dict[str, str]) -> BrokerConfig:
    file = folder / "server.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
    return BrokerConfig.load(str(file))


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PARTITIONS", "7")
    (tmp_path / "secrets.properties").write_text("delegation.key = se:cr}et\npartitions=8\n")
    (tmp_path / "partitions").write_text("9")
    return tmp_path


def test_values_come_from_where_the_file_says(elsewhere: Path, caplog: pytest.LogCaptureFixture) -> None:
    for reference, partitions in (
        ("${env:PARTITIONS}", 7),
        (f"${{file:{elsewhere}/secrets.properties:partitions}}", 8),
        (f"${{dir:{elsewhere}:partitions}}", 9),
        ("1${env:PARTITIONS}2", 172),
    ):
        secret = f"${{file:{elsewhere}/secrets.properties:delegation.key}}"
        lines = {**PROVIDERS, **HERE, "num.partitions": reference, "delegation.token.secret.key": secret}
        config = load(elsewhere, lines)
        assert config.get("num.partitions") == partitions
        assert config.get("delegation.token.secret.key") == "se:cr}et"
        assert config.unknown == []
    assert caplog.messages == []


def test_text_of_no_provider_stands_as_it_is(tmp_path: Path) -> None:
    lines = {**PROVIDERS, "delegation.token.secret.key": "${vault:a:b}$HOME{}${x}"}
    assert load(tmp_path, lines).get("delegation.token.secret.key") == "${vault:a:b}$HOME{}${x}"


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ({"num.partitions": "${env:NOT_SET_ANYWHERE}"}, "there is no such value, or it is not allowed"),
        ({"num.partitions": "${file:/none/at/all:x}"}, "it cannot be read: No such file or directory"),
        ({"num.partitions": "${file:FOLDER/secrets.properties:none}"}, "there is no such value"),
        ({"num.partitions": "${dir:FOLDER:../x}"}, "there is no such value"),
        (
            {"num.partitions": "${env:PARTITIONS}", "config.providers.env.param.allowlist.pattern": "KAFKA_.*"},
            "it is not allowed",
        ),
        (
            {"num.partitions": "${dir:FOLDER:partitions}", "config.providers.dir.param.allowed.paths": "/etc, /run"},
            "it is not allowed",
        ),
        ({"config.providers.env.param.allowlist.pattern": "*"}, "allowlist.pattern=* is no regular expression"),
        ({"config.providers.env.class": "com.example.Vault"}, "config.providers.env.class=com.example.Vault; give org"),
        ({"config.providers": "x"}, "config.providers=x has no config.providers.x.class; give org.apache"),
    ],
)
def test_what_has_no_value_refuses_the_start_in_one_sentence(
    elsewhere: Path, lines: dict[str, str], sentence: str
) -> None:
    given = {key: value.replace("FOLDER", str(elsewhere)) for key, value in {**PROVIDERS, **lines}.items()}
    with pytest.raises(ConfigError) as refused:
        load(elsewhere, given)
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def test_allowed_variables_and_folders_are_read(elsewhere: Path) -> None:
    allowed = {
        "config.providers.env.param.allowlist.pattern": "PART.*",
        "config.providers.dir.param.allowed.paths": f"/etc,{elsewhere.parent}",
    }
    config = load(elsewhere, {**PROVIDERS, **allowed, "num.partitions": "${env:PARTITIONS}"})
    assert config.get("num.partitions") == 7
    config = load(elsewhere, {**PROVIDERS, **allowed, "num.partitions": f"${{dir:{elsewhere}:partitions}}"})
    assert config.get("num.partitions") == 9


@pytest.mark.parametrize("secret", ["topsecret", "a", "\ud800topsecret"])
def test_messages_have_no_value_of_a_provider(tmp_path: Path, secret: str) -> None:
    (tmp_path / "pw.properties").write_text(f"pw={secret.encode('unicode_escape').decode()}\n")
    reference = f"${{file:{tmp_path}/pw.properties:pw}}"
    with pytest.raises(ConfigError) as refused:
        load(tmp_path, {**PROVIDERS, "num.partitions": reference})
    assert f"Invalid value {reference} for configuration num.partitions" in str(refused.value)
    assert "topsecret" not in str(refused.value)


def test_passwords_are_hidden_and_long_values_cut(tmp_path: Path) -> None:
    for value in ("ab\\ud800TOPSECRET", "\\u0000TOPSECRET"):
        with pytest.raises(ConfigError) as refused:
            load(tmp_path, {"delegation.token.secret.key": value})
        assert "TOPSECRET" not in str(refused.value)
        assert "[hidden]" in str(refused.value)
    with pytest.raises(ConfigError) as refused:
        load(tmp_path, {"num.partitions": "x" * 5000})
    assert len(str(refused.value)) < 500


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", ["fifo", "endless", "large"])
def test_what_has_no_end_is_not_read(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "value"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "large":
        with path.open("wb") as file:
            file.truncate(2 << 20)
    else:
        path.symlink_to("/dev/zero")
    for reference in (f"${{file:{path}:x}}", f"${{dir:{tmp_path}:value}}"):
        with pytest.raises(ConfigError) as refused:
            load(tmp_path, {**PROVIDERS, "num.partitions": reference})
        assert "it is no file of 1048576 bytes at the most" in str(refused.value) or "there is no such" in str(
            refused.value
        )
