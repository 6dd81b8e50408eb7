"""Logins that no broker takes, certificates that no client takes, listeners of another protocol: source, sink and scan
say so in one sentence, at once, and do not ask again and again.
"""

from __future__ import annotations

import datetime as dt
import time
from typing import TYPE_CHECKING

import pytest

import kafkastore
from kafkastore.spark.pipeline.session import sentence_of
from peer.certificates import Authority
from peer.topics import create_topic
from proof.scope import played
from spark.secured import READ, TOPIC, USER, WRITE, Right, Secured, scram, secured
from spark.shut_servers import ShutServer, closes, closes_when_asked, with_tls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from spark.secured import Properties

pytestmark = pytest.mark.timeout(300)

DAY = dt.timedelta(days=1)
NOW = dt.datetime.now(dt.UTC)
IS_LATE_S = 4.0
MAX_CONNECTIONS = 12
"""Of the sink, whose task asks some times, in case that the broker restarts; source and scan ask once."""
T = "t"
PATHS = ("scan", "source", "sink", "sink, exactly once")
Attempt = tuple[str, "Properties"]
"""Servers, and properties of a client."""


@pytest.fixture(scope="module", params=played(["kafkastore"], ["kafkastore", "kafka"]))
def brokers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    for at in secured(request.param, tmp_path_factory.mktemp(request.param)):
        create_topic(at.broker.bootstrap, T)
        at.allow(Right(READ, TOPIC, T), Right(WRITE, TOPIC, T))
        yield at


def told_by(spark: SparkSession, at: Secured, path: str, servers: str, login: Properties) -> str:
    """The sentence with which a path ends, within the time."""
    given = {"kafka.bootstrap.servers": servers, **{f"kafka.{key}": value for key, value in login.items()}}
    begun = time.monotonic()
    try:
        if path == "scan":
            kafkastore.scan(at.broker.log_dirs, T, bootstrap_servers=servers, command_config=login).count()
        elif path == "source":
            spark.read.format("kafkastore").options(**given, subscribe=T).load().count()
        else:
            rows = spark.range(0, 1, 1, 1).selectExpr("cast(id as string) as value")
            once = {"deliveryGuarantee": "exactly-once"} if "once" in path else {}
            rows.write.format("kafkastore").options(**given, **once, topic=T).save()
    except Exception as error:  # noqa: BLE001 - of Python, Spark or py4j
        said = sentence_of(error)
    else:
        raise AssertionError("it was let in")
    assert time.monotonic() - begun < IS_LATE_S, said
    assert len(said.splitlines()) == 1
    assert servers in said, said
    assert not any(secret in said for secret in at.secrets)
    return said


def client_ends(at: Secured) -> Properties:
    return at.by_certificate(begins=NOW - 9 * DAY, ends=NOW - DAY)


def with_key_of(at: Secured) -> Properties:
    return {key: value for key, value in at.by_certificate().items() if "keystore" in key}


BAD: dict[str, tuple[Callable[[Secured], Attempt], str]] = {
    "a wrong password": (lambda at: (at.bootstrap, at.by_scram(password="wrong")), "invalid credentials"),
    "an unknown user": (lambda at: (at.bootstrap, at.by_scram("nobody")), "invalid credentials"),
    "a user as a token": (
        lambda at: (at.bootstrap, at.trusting(scram(USER, "x", is_token=True))),
        "invalid credentials",
    ),
    "a token that has ended": (
        lambda at: (at.bootstrap, at.by_token_file(at.tokens.token(at.tokens.claims(exp=int(time.time()) - 100)))),
        "it refuses the token",
    ),
    "a token that is none": (lambda at: (at.bootstrap, at.by_token_file("garbage")), "it refuses the token"),
    "no file of a token": (
        lambda at: (
            at.bootstrap,
            at.by_token_file() | {"sasl.oauthbearer.token.endpoint.url": "file:///nowhere/token"},
        ),
        "the token in /nowhere/token cannot be read: No such file or directory",
    ),
    "a token endpoint that refuses": (
        lambda at: (
            at.bootstrap,
            at.by_bearer() | {"sasl.oauthbearer.client.credentials.client.secret": "wrong"},
        ),
        "gave no token: it answered 401",
    ),
    "a certificate that has ended": (
        lambda at: (f"localhost:{at.tls_port}", client_ends(at)),
        "the client's certificate",
    ),
    "no certificate": (
        lambda at: (f"localhost:{at.tls_port}", at.trusting({"security.protocol": "SSL"})),
        "certificate",
    ),
    "another authority": (
        lambda at: (
            at.bootstrap,
            at.by_scram() | {"ssl.truststore.location": str(Authority(at.authority.folder.parent / "other").ca)},
        ),
        "no authority of ssl.truststore has signed its certificate",
    ),
    "a mechanism that is not served": (
        lambda at: (at.bootstrap, at.by_scram() | {"sasl.mechanism": "SCRAM-SHA-256"}),
        "its listener does not serve sasl.mechanism=SCRAM-SHA-256",
    ),
    "PLAINTEXT to SASL_SSL": (lambda at: (at.bootstrap, {}), "it speaks TLS; set security.protocol"),
    "PLAINTEXT to SSL": (lambda at: (f"localhost:{at.tls_port}", {}), "it speaks TLS; set security.protocol"),
    "PLAINTEXT to SASL_PLAINTEXT": (
        lambda at: (f"localhost:{at.token_port}", {}),
        "does its listener ask for a login or TLS? See security.protocol",
    ),
    "SASL_PLAINTEXT to SASL_SSL": (
        lambda at: (at.bootstrap, at.by_scram() | {"security.protocol": "SASL_PLAINTEXT"}),
        "it speaks TLS; set security.protocol",
    ),
    "SASL_SSL to PLAINTEXT": (lambda at: (at.broker.bootstrap, at.by_scram()), "does its listener have TLS?"),
    "SASL_PLAINTEXT to PLAINTEXT": (
        lambda at: (at.broker.bootstrap, at.by_scram() | {"security.protocol": "SASL_PLAINTEXT"}),
        "its listener asks for no login",
    ),
    "SASL_SSL to SSL": (
        lambda at: (f"localhost:{at.tls_port}", at.by_scram() | with_key_of(at)),
        "its listener asks for no login",
    ),
    "SSL to SASL_SSL": (
        lambda at: (at.bootstrap, at.by_certificate()),
        "does its listener ask for a login or a certificate?",
    ),
}


@pytest.mark.parametrize("bad", BAD)
def test_what_is_refused_is_said_at_once(spark: SparkSession, brokers: Secured, bad: str) -> None:
    attempt, sentence = BAD[bad]
    for path in played(PATHS[list(BAD).index(bad) % 2 :: 2], PATHS):
        said = told_by(spark, brokers, path, *attempt(brokers))
        assert sentence in said, f"{path}: {said}"


def test_a_delegation_token_that_has_ended_is_refused(spark: SparkSession, brokers: Secured) -> None:
    ended = brokers.by_delegation_token(lifetime_ms=1)
    if brokers.kind == "kafka":
        return  # it takes a token until its next check finds that it has ended
    time.sleep(0.01)
    for path in PATHS:
        assert "invalid credentials" in told_by(spark, brokers, path, brokers.bootstrap, ended)


SERVERS = {
    "one that closes": (lambda _: closes, "it closed the connection"),
    "one that closes in the handshake": (lambda _: closes_when_asked, "in the handshake of TLS"),
    "one of another name": (
        lambda at: with_tls(at.authority.server("elsewhere.example", name="elsewhere").both),
        "its certificate has not this name",
    ),
    "one whose certificate has ended": (
        lambda at: with_tls(at.authority.server("localhost", name="ended", not_after=NOW - DAY).both),
        "its certificate has expired",
    ),
    "one that closes in the login": (
        lambda at: with_tls(at.authority.server("localhost", name="closes").both),
        "it closed the connection when it was asked for a login",
    ),
}


@pytest.mark.parametrize(
    ("server", "path"),
    [(server, path) for number, server in enumerate(SERVERS) for path in played(PATHS[number % 2 :: 2], PATHS)],
)
def test_a_server_that_lets_nobody_in_is_asked_few_times(
    spark: SparkSession, brokers: Secured, server: str, path: str
) -> None:
    serve, sentence = SERVERS[server]
    with ShutServer(serve(brokers)) as shut:
        said = told_by(spark, brokers, path, shut.address, brokers.by_scram())
        assert sentence in said
        most = MAX_CONNECTIONS if path.startswith("sink") else 1
        assert 1 <= shut.connections <= most, f"{shut.connections} connections"
