"""No password, token or private key of a login is shown: in a plan, a page of Spark, its event log, the driver's log, a
checkpoint or an error.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer

from kafkastore.spark.jvm import HELD_BACK, REDACTION, configure
from peer.topics import create_topic
from proof.scope import played
from spark.driver import Driver
from spark.secured import GROUP, PREFIXED, READ, TOPIC, TRANSACTIONAL_ID, WRITE, Right, Secured, secured

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from spark.secured import Properties

pytestmark = pytest.mark.timeout(300)

SOURCE, TARGET = "source", "target"
WRONG = "another-secret-that-nobody-may-see"
NOTHING = "(?!)"
"""An expression by which Spark holds nothing back."""


@pytest.fixture
def ours(tmp_path: Path) -> Iterator[Secured]:
    for at in secured("kafkastore", tmp_path):
        for topic in (SOURCE, TARGET):
            create_topic(at.broker.bootstrap, topic)
        producer = Producer({"bootstrap.servers": at.broker.bootstrap, "log_level": 0})
        for number in range(10):
            producer.produce(SOURCE, b"%d" % number)
        assert producer.flush(30) == 0
        at.allow(
            Right(READ, TOPIC, SOURCE),
            Right(WRITE, TOPIC, TARGET),
            Right(WRITE, TRANSACTIONAL_ID, "etl", PREFIXED),
            Right(READ, GROUP, "etl", PREFIXED),
            Right(READ, TOPIC, "__transaction_state"),
        )
        yield at


def options(at: Secured, login: Properties) -> dict[str, str]:
    servers = {"kafka.bootstrap.servers": at.bootstrap_of(login)}
    return servers | {f"kafka.{key}": value for key, value in login.items()}


def in_place(at: Secured) -> Properties:
    """A certificate and its key as values, not as files."""
    login = at.by_certificate()
    text = Path(login.pop("ssl.keystore.location")).read_text()
    key, mark, chain = text.partition("-----BEGIN CERTIFICATE")
    at.secrets.append(key.splitlines()[1])
    return login | {"ssl.keystore.key": key, "ssl.keystore.certificate.chain": mark + chain}


def wrong(at: Secured) -> dict[str, Properties]:
    at.secrets.append(WRONG)
    bearer = at.by_bearer()
    return {
        "a wrong password": at.by_scram(password=WRONG),
        "a wrong secret": bearer | {"sasl.jaas.config": bearer["sasl.jaas.config"].replace("the secret of app", WRONG)},
        "a wrong token": at.by_token_file(WRONG),
        "a mistake": at.by_scram(password=WRONG) | {"sasl.mechanism": "SCRAM"},
        "no semicolon": at.by_scram() | {"sasl.jaas.config": f'a.Module required username="u" password="{WRONG}"'},
    }


def shown_by(at: Secured, folder: Path, given: Mapping[str, Any]) -> str:
    """Everything that a driver has shown, and kept."""
    folder.mkdir()
    asked = {"source": SOURCE, "target": TARGET, "path": str(at.broker.log_dir), "folder": str(folder), **given}
    log = folder / "driver.log"
    driver = Driver("spark.secrets_job", asked, log)
    try:
        driver.wait()
    finally:
        driver.kill()
    texts = [path.read_text(errors="replace") for path in sorted(folder.rglob("*")) if path.is_file()]
    assert len(texts) > 10, "plans, pages, events, checkpoints and the log"
    return "\n".join([*texts, at.broker.output()])


def where(text: str, secret: str) -> str:
    at = text.index(secret)
    return text[max(0, at - 500) : at].rpartition("=====")[2]


def test_no_secret_is_shown(ours: Secured, tmp_path: Path) -> None:
    logins = {
        "password": ours.by_scram(),
        "key": in_place(ours),
        "bearer": ours.by_bearer(),
        "token": ours.by_delegation_token(),
    }
    refused = wrong(ours)
    given = {
        "options": {name: options(ours, logins[name]) for name in played(("key", "bearer"), tuple(logins))},
        "refused": {name: options(ours, refused[name]) for name in played(("a wrong password",), tuple(refused))},
        "conf": {REDACTION: HELD_BACK},
    }
    text = shown_by(ours, tmp_path / "driver", given)
    assert ours.bootstrap in text, "options are shown"
    for secret in [*ours.secrets, "LoginModule"]:
        assert secret not in text, where(text, secret)


@pytest.mark.proof
def test_a_file_of_properties_is_not_shown_even_where_spark_holds_nothing_back(ours: Secured, tmp_path: Path) -> None:
    files = {}
    for name, login in {"password": ours.by_scram(), "key": in_place(ours)}.items():
        path = tmp_path / f"{name}.properties"
        path.write_text("".join(f"{key}={value.replace(chr(10), chr(92) + 'n')}\n" for key, value in login.items()))
        files[name] = {"kafka.bootstrap.servers": ours.bootstrap_of(login), "commandConfig": str(path)}
    conf = {"spark.redaction.regex": NOTHING, REDACTION: NOTHING}
    text = shown_by(ours, tmp_path / "driver", {"options": files, "refused": {}, "conf": conf})
    for secret in [*ours.secrets, "LoginModule"]:
        assert secret not in text, where(text, secret)


def test_sessions_hold_keys_back_unless_they_say_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    class Builder:
        def __init__(self, **given: str) -> None:
            self._options = given

        def config(self, name: str, value: str) -> Builder:
            self._options[name] = value
            return self

    monkeypatch.setattr("kafkastore.spark.jvm.jar", lambda: "kafkastore-spark.jar")
    assert configure(Builder())._options[REDACTION] == HELD_BACK
    assert configure(Builder(**{REDACTION: "own"}))._options[REDACTION] == "own"
