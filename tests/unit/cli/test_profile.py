"""``kafkastore profile``: the files, what they hide, and which profile is meant."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafkastore.cli import main as cli
from kafkastore.cli.cluster_options import settings_of
from kafkastore.config.properties import escaped, parse_properties, properties_text


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("KAFKASTORE_PROFILE", raising=False)
    return tmp_path / "kafkastore"


def ask(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = cli.main(["profile", *arguments])
    said = capsys.readouterr()
    return status, said.out, said.err


def test_profile_is_made_used_changed_and_deleted(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = ask(capsys, "create", "a", "-b", "h:1", "-X", "sasl.username=me", "-X", "sasl.password=hush")
    assert made == (0, "a: made; kafkastore profile use a makes it the one that is meant\n", "")
    assert ask(capsys, "create", "b", "-b", "i:2")[0] == 0
    assert ask(capsys, "use", "a") == (0, "a: in use, h:1\n", "")
    assert ask(capsys, "set", "sasl.mechanism=PLAIN", "sasl.username=you") == (
        0,
        "a: sasl.mechanism, sasl.username set\n",
        "",
    )
    path = home / "profiles" / "a.properties"
    text = "bootstrap.servers=h:1\nsasl.username=you\nsasl.password=hush\nsasl.mechanism=PLAIN\n"
    assert path.read_text() == text
    modes = [one.stat().st_mode & 0o777 for one in (path, home / "profile", home / "profiles")]
    assert modes == [0o600, 0o600, 0o700]
    assert ask(capsys, "path") == (0, f"{path}\n", "")
    assert sorted(one.name for one in home.rglob("*")) == ["a.properties", "b.properties", "profile", "profiles"]
    assert [tuple(one.values()) for one in json.loads(ask(capsys, "list", "--json")[1])] == [
        ("a", "h:1", True),
        ("b", "i:2", False),
    ]
    assert settings_of(None, None, None).bootstrap_servers == "h:1"
    assert settings_of(None, None, "b").bootstrap_servers == "i:2"
    assert ask(capsys, "delete", "b", "a") == (0, "b: deleted\na: deleted, and no profile is in use\n", "")
    assert [one.name for one in home.rglob("*")] == ["profiles"]


def test_secrets_are_hidden_unless_they_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    secret = ("sasl.jaas.config", "sasl.password", "ssl.key.pem", "ssl.keystore.key", "ssl.keystore.password")
    secret += ("sasl.oauthbearer.client.credentials.client.secret", "sasl.oauthbearer.client.secret")
    ask(capsys, "create", "a", "-b", "h:1", "-X", "ssl.ca.pem=c", *(f"-X{key}=hush" for key in secret))
    assert "hush" not in "".join(map(str, ask(capsys, "show", "a")))
    found = {one["key"]: one["value"] for one in json.loads(ask(capsys, "show", "a", "--json")[1])}
    assert found == {"bootstrap.servers": "h:1", "ssl.ca.pem": "c", **dict.fromkeys(secret, "[hidden]")}
    assert ask(capsys, "show", "a", "--secrets")[1].count("hush") == len(secret)


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (("show",), 1, "kafkastore profile show: no profile is in use; name one, or see kafkastore profile use --help"),
        (("show", "x"), 1, "kafkastore profile show: there is no profile x; see kafkastore profile list"),
        (("use", "x"), 1, "kafkastore profile use: there is no profile x; see kafkastore profile list"),
        (("delete", "a", "x"), 1, "kafkastore profile delete: there is no profile x; see kafkastore profile list"),
        (("create", "a", "-b", "h:1"), 1, "kafkastore profile create: there is a profile a already; change it with"),
        (("create", "../x", "-b", "h:1"), 1, "kafkastore profile create: --profile: '../x' can be no profile's name;"),
        (
            ("create", "x" * 300, "-b", "h:1"),
            1,
            f"kafkastore profile create: --profile: '{'x' * 300}' can be no profile",
        ),
        (("create", "x"), 2, "kafkastore profile create: Missing option '-b' / '--bootstrap-server'; see"),
        (("create", "x", "-b", "h:1", "-X", "y"), 2, "kafkastore profile create: -X y is no key=value; write it as -X"),
        (("set", "--profile", "a", "a b=c"), 2, "kafkastore profile set: 'a b' can be no client's key; keys are"),
        (("set", "--profile", "a"), 2, "kafkastore profile set: Missing argument 'KEY=VALUE...'; see"),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, tuple) else "",
)
def test_mistake_is_one_sentence_and_changes_nothing(
    arguments: tuple[str, ...], status: int, sentence: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ask(capsys, "create", "a", "-b", "h:1")
    before = {path: path.read_text() for path in home.rglob("*.*")}
    code, out, err = ask(capsys, *arguments)
    assert (code, out, err.count("\n")) == (status, "", 1)
    assert err.startswith(sentence)
    assert {path: path.read_text() for path in home.rglob("*.*")} == before


def test_file_that_cannot_be_written_keeps_the_old_profile(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ask(capsys, "create", "a", "-b", "h:1")
    (home / "profile").mkdir()
    status, _, err = ask(capsys, "use", "a")
    assert (status, err) == (1, f"kafkastore profile use: {home / 'profile'} cannot be written: Is a directory\n")
    assert [one.name for one in home.iterdir() if one.name.startswith(".")] == []


def test_what_is_no_profile_is_passed_over(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ask(capsys, "create", "a", "-b", "h:1")
    (home / "profile").write_bytes(b"\xff")
    (home / "profiles" / "b.properties").mkdir()
    assert [one["name"] for one in json.loads(ask(capsys, "list", "--json")[1])] == ["a"]
    assert ask(capsys, "use", "a")[0] == 0


def test_text_of_a_file_is_read_as_it_was_given(capsys: pytest.CaptureFixture[str]) -> None:
    values = ["", " a ", "a\\b", "-----BEGIN\nMII=\n", "#!:= \t", "\N{SNOWMAN} \N{GRINNING FACE}", "\udcff"]
    pairs = {f"key.{number}": value for number, value in enumerate(values)}
    text = properties_text(pairs)
    assert text.isascii()
    assert parse_properties(text) == pairs
    assert escaped("p=w#d!:/ x") == "p=w#d!:/ x"
    said = ask(capsys, "create", "a", "-b", "h:1", "-X", "sasl.password=a\\b")[2]
    assert said == "sasl.password is written with Java's escapes, which kcat -F does not know: give it to kcat as -X\n"
