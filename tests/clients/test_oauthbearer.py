"""OAUTHBEARER with real clients: tokens that an authorization server signed are taken, all others are refused."""

from __future__ import annotations

import http.server
import json
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from aiokafka.abc import AbstractTokenProvider as AiokafkaTokens
from kafka.net.sasl.oauth import AbstractTokenProvider as KafkaPythonTokens

from clients import round_trips
from clients.test_sasl import authenticate, handshake, has_metadata
from peer.broker_factory import BrokerFactory
from peer.broker_process import BrokerProcess, free_port, wait_until
from peer.java_tools import JavaRecord, JavaTools
from peer.token_endpoint import CLIENT_ID, CLIENT_SECRET, TokenEndpoint
from peer.tokens import AuthorizationServer, encode
from peer.topics import create_topic
from peer.wire_socket import WireSocket

SASL_AUTHENTICATION_FAILED = 58
VALUES = [b"%d" % number for number in range(100)]
URL, NOWHERE = "sasl.oauthbearer.jwks.endpoint.url", "file:///nowhere/keys.json"
AUDIENCE, ISSUER = "sasl.oauthbearer.expected.audience", "sasl.oauthbearer.expected.issuer"
RULES = {
    AUDIENCE: "other,kafka",
    ISSUER: "https://issuer",
    "sasl.oauthbearer.clock.skew.seconds": "5",
}


@dataclass
class Guarded:
    """A broker with a listener for OAUTHBEARER beside one without a proof."""

    broker: BrokerProcess
    port: int
    server: AuthorizationServer

    @property
    def bootstrap(self) -> str:
        return f"localhost:{self.port}"

    def is_taken(self, token: str, identity: str = "") -> bool:
        """Whether a client with this token is served."""
        name = f"a={identity}" if identity else ""
        return self.takes(f"n,{name},\x01auth=Bearer {token}\x01\x01".encode())

    def takes(self, message: bytes) -> bool:
        with WireSocket(self.port, 20) as wire:
            assert handshake(wire, "OAUTHBEARER") == 0
            try:
                code, _, challenge, _ = authenticate(wire, message)
                if code == 0 and challenge:
                    assert json.loads(challenge) == {"status": "invalid_token"}
                    code, told, _, _ = authenticate(wire, b"\x01")
                    assert (code, told) == (SASL_AUTHENTICATION_FAILED, challenge.decode())
                return code == 0 and has_metadata(wire)
            except OSError:
                return False


@pytest.fixture
def start(broker_factory: BrokerFactory, tmp_path: Path) -> Callable[..., Guarded]:
    """Starts a broker with a listener for OAUTHBEARER: start({key: value})."""

    def run(settings: dict[str, str] | None = None) -> Guarded:
        server = AuthorizationServer(tmp_path / "keys")
        broker = broker_factory(start=False, kind="kafkastore")
        port = free_port()
        broker.overrides |= {
            "listeners": broker.properties()["listeners"] + f",SASL_PLAINTEXT://127.0.0.1:{port}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{broker.port},SASL_PLAINTEXT://localhost:{port}",
            "sasl.enabled.mechanisms": "OAUTHBEARER",
            "connection.failed.authentication.delay.ms": "10",
            URL: server.url,
            **RULES,
            **(settings or {}),
        }
        broker.start()
        return Guarded(broker, port, server)

    return run


# ---- clients


def librdkafka(guarded: Guarded, topic: str) -> list[bytes]:
    given: dict[str, Any] = {
        "bootstrap.servers": guarded.bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "oauth_cb": lambda _: (guarded.server.token(), time.time() + 600),
    }
    return round_trips.librdkafka(given, topic, VALUES)


def for_python(guarded: Guarded, provider: object) -> dict[str, Any]:
    return {
        "bootstrap_servers": guarded.bootstrap,
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "OAUTHBEARER",
        "sasl_oauth_token_provider": provider,
    }


def kafka_python(guarded: Guarded, topic: str) -> list[bytes]:
    class Tokens(KafkaPythonTokens):  # type: ignore[misc]
        def token(self) -> str:
            return guarded.server.token()

    return round_trips.kafka_python(for_python(guarded, Tokens()), topic, VALUES)


def aiokafka(guarded: Guarded, topic: str) -> list[bytes]:
    class Tokens(AiokafkaTokens):  # type: ignore[misc]
        async def token(self) -> str:
            return guarded.server.token(alg="ES256")

    return round_trips.aiokafka(for_python(guarded, Tokens()), topic, VALUES)


def as_json(guarded: Guarded) -> dict[str, str]:
    return {"mechanism": "OAUTHBEARER", "user": "", "password": guarded.server.token(alg="PS256"), "authority": ""}


def franz_go(guarded: Guarded, topic: str) -> list[bytes]:
    return round_trips.franz_go(guarded.bootstrap, as_json(guarded), topic, VALUES)


def kafkajs(guarded: Guarded, topic: str) -> list[bytes]:
    return round_trips.kafkajs(guarded.bootstrap, as_json(guarded), topic, VALUES)


def by_endpoint(guarded: Guarded, url: str) -> dict[str, str]:
    """Settings that Java's clients and librdkafka have in common."""
    return {
        "bootstrap.servers": guarded.bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": url,
    }


def newer_librdkafka(folder: Path) -> dict[str, str]:
    """An environment in which kcat runs with confluent-kafka's librdkafka: Debian's is built without libcurl, so it has
    no tokens but those that nobody signed."""
    package = Path(confluent_kafka.__file__).parent
    (library,) = package.with_name("confluent_kafka.libs").glob("librdkafka-*.so*")
    (folder / "librdkafka.so.1").symlink_to(library)
    return os.environ | {"LD_LIBRARY_PATH": f"{folder}:{library.parent}"}


def kcat(guarded: Guarded, topic: str, url: str, _: JavaTools) -> list[bytes]:
    environment = newer_librdkafka(guarded.server.jwks.parent)
    own = {"sasl.oauthbearer.method": "oidc", "sasl.oauthbearer.client.id": CLIENT_ID}
    own |= {"sasl.oauthbearer.client.secret": CLIENT_SECRET}
    given = [part for key, value in (by_endpoint(guarded, url) | own).items() for part in ("-X", f"{key}={value}")]
    run: Any = partial(subprocess.run, check=True, timeout=60, capture_output=True, env=environment)
    run(["kcat", "-P", "-t", topic, *given], input=b"\n".join(VALUES))
    read: bytes = run(["kcat", "-C", "-e", "-q", "-t", topic, "-o", "beginning", *given]).stdout
    return read.rstrip(b"\n").split(b"\n")


def java_clients(guarded: Guarded, topic: str, url: str, java: JavaTools) -> list[bytes]:
    package = "org.apache.kafka.common.security.oauthbearer"
    given = by_endpoint(guarded, url) | {
        "sasl.login.callback.handler.class": f"{package}.OAuthBearerLoginCallbackHandler",
        "sasl.jaas.config": f'{package}.OAuthBearerLoginModule required clientId="{CLIENT_ID}" '
        f'clientSecret="{CLIENT_SECRET}";',
    }
    java.call("setProperty", "", name="org.apache.kafka.sasl.oauthbearer.allowed.urls", value=url)
    records = [JavaRecord(0, None, None, value) for value in VALUES]
    java.produce(guarded.bootstrap, topic, records, **{key.replace(".", "_"): value for key, value in given.items()})
    config = given | {"auto.offset.reset": "earliest"}
    nodes = java.call("consume", guarded.bootstrap, topic=topic, config=config)
    return [record.value or b"" for record in map(JavaRecord.as_read, nodes)]


@pytest.mark.parametrize("client", [kcat, java_clients], ids=lambda one: one.__name__)
def test_records_come_back_with_tokens_of_an_endpoint(
    start: Callable[..., Guarded], java: JavaTools, client: Callable[[Guarded, str, str, JavaTools], list[bytes]]
) -> None:
    """The client logs in at a token endpoint by its id and secret (KIP-768)."""
    guarded = start()
    topic = create_topic(guarded.broker.bootstrap, "guarded")
    with closing(TokenEndpoint(guarded.server.token)) as endpoint:
        assert client(guarded, topic, endpoint.url, java) == VALUES
        assert len(endpoint.agents) >= 2, "the producer and the consumer"


@pytest.mark.parametrize(
    "client", [librdkafka, kafka_python, aiokafka, franz_go, kafkajs], ids=lambda one: one.__name__
)
def test_records_come_back_with_tokens(
    start: Callable[..., Guarded], client: Callable[[Guarded, str], list[bytes]]
) -> None:
    guarded = start()
    topic = create_topic(guarded.broker.bootstrap, "guarded")
    assert client(guarded, topic) == VALUES


# ---- which tokens count


def test_good_tokens_are_taken(start: Callable[..., Guarded]) -> None:
    guarded = start()
    server, now = guarded.server, int(time.time())
    good = {
        "RS256": server.token(),
        "PS256": server.token(alg="PS256"),
        "ES256": server.token(alg="ES256"),
        "without a key's name": server.token(kid=None),
        "of several audiences": server.token(server.claims(aud=["a", "kafka"])),
        "with other claims": server.token(server.claims(scope="a b", nonce=1)),
        "from now on": server.token(server.claims(nbf=now)),
        "a moment early": server.token(server.claims(nbf=now + 3, iat=now + 3)),
    }
    for name, token in good.items():
        assert guarded.is_taken(token), name
    assert guarded.is_taken(server.token(), "alice")
    late = server.token(server.claims(iat=now - 9, exp=now - 2))
    assert not guarded.is_taken(late), "the skew lets it in, and its session ends with it"


def forged(server: AuthorizationServer, other: AuthorizationServer) -> dict[str, str]:
    """Tokens that must not count, by what is wrong with them."""
    now, claims = int(time.time()), server.claims
    good = server.token()
    head, body, signature = good.split(".")

    def unsigned(header: bytes) -> str:
        return f"{encode(header)}.{body}."

    none = encode(b'{"alg":"none"}')
    mallory = encode(json.dumps(claims(sub="mallory")).encode())
    return {
        "no signature, alg none": f"{none}.{body}.",
        "alg none, with a signature": f"{none}.{body}.{signature}",
        "alg NONE": unsigned(b'{"alg":"NONE"}'),
        "alg nOnE": unsigned(b'{"alg":"nOnE"}'),
        "no alg": unsigned(b'{"kid":"rsa"}') + signature,
        "an empty signature": f"{head}.{body}.",
        "no signature": f"{head}.{body}",
        "another user": f"{head}.{mallory}.{signature}",
        "a changed signature": f"{head}.{body}.{'A' if signature[0] != 'A' else 'B'}{signature[1:]}",
        "another header": unsigned(b'{"alg":"RS512","kid":"rsa"}') + signature,
        "of another server": other.token(),
        "by EC of another server": other.token(alg="ES256"),
        "HMAC with the public key": server.mac(server.public_pem(), {"alg": "HS256", "kid": "rsa"}),
        "HMAC with the secret of the set": server.mac(b"a shared secret", {"alg": "HS256", "kid": "secret"}),
        "HMAC with nothing": server.mac(b"", {"alg": "HS256"}),
        "a key that is not known": server.token(kid="another"),
        "a key of another kind": server.token(kid="ec"),
        "its own key": server.mac(b"x", {"alg": "RS256", "jwk": {"kty": "oct", "k": "eA"}, "kid": "rsa"}),
        "its own key by URL": other.token(jku=other.url, kid="rsa"),
        "an extension that must be known": server.token(crit=["b64"], b64=False),
        "expired": server.token(claims(iat=now - 900, exp=now - 60)),
        "without an end": server.token(claims(exp=None)),
        "without a beginning": server.token(claims(iat=None)),
        "not valid yet": server.token(claims(nbf=now + 60)),
        "issued in the future": server.token(claims(iat=now + 60)),
        "ended before it began": server.token(claims(iat=now, exp=now - 1)),
        "an end that is no number": server.token(claims(exp="tomorrow")),
        "an end that is text": server.token(claims(exp=str(now + 600))),
        "an endless end": server.token(claims(exp=1e300)),
        "another audience": server.token(claims(aud="other-service")),
        "no audience": server.token(claims(aud=None)),
        "an empty audience": server.token(claims(aud=[])),
        "another issuer": server.token(claims(iss="https://issuer.example")),
        "no issuer": server.token(claims(iss=None)),
        "several issuers": server.token(claims(iss=["https://issuer", "x"])),
        "no user": server.token(claims(sub=None)),
        "an empty user": server.token(claims(sub="")),
        "a user that is no text": server.token(claims(sub=["alice"])),
        "a user with NUL": server.token(claims(sub="alice\0")),
        "no JSON": f"{head}.{encode(b'alice')}.{signature}",
        "no token": "x",
        "five parts": f"{good}.{body}.{signature}",
        "huge": f"{head}.{'A' * 60_000}.{signature}",
    }


def test_no_forged_token_is_taken(start: Callable[..., Guarded], tmp_path: Path) -> None:
    guarded = start()
    tokens = forged(guarded.server, AuthorizationServer(tmp_path / "other"))
    assert len(tokens) >= 30
    for name, token in tokens.items():
        assert not guarded.is_taken(token), name
        assert len(token) < 16 or token not in guarded.broker.output()  # a short one may stand there by chance
    good = guarded.server.token()
    assert not guarded.is_taken(good, "bob")
    for message in (b"", b"\x01", good.encode(), f"n,,\x01auth=Basic {good}\x01\x01".encode(), b"n,,\x01\x01"):
        assert not guarded.takes(message)
    assert guarded.is_taken(good)


@pytest.mark.parametrize("limit", [{"connections.max.reauth.ms": "60000"}, {}], ids=["limited", "not limited"])
def test_the_session_ends_with_the_token(start: Callable[..., Guarded], limit: dict[str, str]) -> None:
    guarded = start({"sasl.oauthbearer.clock.skew.seconds": "0", **limit})
    now = int(time.time())
    token = guarded.server.token(guarded.server.claims(exp=now + 2))
    with WireSocket(guarded.port, 20) as wire:
        assert handshake(wire, "OAUTHBEARER") == 0
        code, _, _, lifetime = authenticate(wire, f"n,,\x01auth=Bearer {token}\x01\x01".encode())
        assert code == 0
        assert 0 < lifetime <= 2000
        assert has_metadata(wire)
        time.sleep(1.1)
        assert handshake(wire, "OAUTHBEARER") == 0, "it may be renewed"
        token = guarded.server.token(guarded.server.claims(exp=now + 4))
        assert authenticate(wire, f"n,,\x01auth=Bearer {token}\x01\x01".encode())[0] == 0
        time.sleep(1.1)
        assert has_metadata(wire), "the session goes on beyond the first token"
        time.sleep(2)
        assert not has_metadata(wire)


# ---- keys


def test_replaced_keys_count_and_replaced_ones_do_not(start: Callable[..., Guarded], tmp_path: Path) -> None:
    guarded = start()
    old = guarded.server.token()
    assert guarded.is_taken(old)
    guarded.server.jwks.write_text("half a fi")
    wait_until(lambda: "keys of tokens in use stay" in guarded.broker.output(), 20, "a useless file is logged")
    assert guarded.is_taken(old)
    other = AuthorizationServer(tmp_path / "other")
    guarded.server.jwks.write_bytes(other.jwks.read_bytes())
    wait_until(lambda: guarded.is_taken(other.token()), 20, "the new keys count")
    assert not guarded.is_taken(old)


NO_HTTP = b"what no server says\r\n\r\n"


@pytest.fixture
def key_server(tmp_path: Path) -> Iterator[tuple[str, dict[str, bytes]]]:
    """(URL, what it answers) of an HTTP server on this host."""
    content = {"/keys": b""}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = content.get(self.path)
            if body == NO_HTTP:
                self.wfile.write(NO_HTTP)
                return
            self.send_response(200 if body is not None else 404)
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_: object) -> None:
            """Nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/keys", content
    server.shutdown()
    server.server_close()


def test_a_new_key_behind_a_url_is_fetched_when_a_token_names_it(
    start: Callable[..., Guarded], key_server: tuple[str, dict[str, bytes]], tmp_path: Path
) -> None:
    url, content = key_server
    first = AuthorizationServer(tmp_path / "first")
    content["/keys"] = first.jwks.read_bytes()
    guarded = start({URL: url, "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": "1000"})
    assert guarded.is_taken(first.token())
    second = AuthorizationServer(tmp_path / "second")
    keys = json.loads(second.jwks.read_text())["keys"]
    keys[0]["kid"] = "next"
    content["/keys"] = json.dumps({"keys": keys}).encode()
    token = second.token(kid="next")
    assert not guarded.is_taken(token)
    wait_until(lambda: guarded.is_taken(second.token(kid="next")), 30, "the new key counts")


def test_keys_are_read_again_after_an_answer_that_is_no_http(
    start: Callable[..., Guarded], key_server: tuple[str, dict[str, bytes]], tmp_path: Path
) -> None:
    url, content = key_server
    first, second = AuthorizationServer(tmp_path / "first"), AuthorizationServer(tmp_path / "second")
    content["/keys"] = first.jwks.read_bytes()
    guarded = start({URL: url, "sasl.oauthbearer.jwks.endpoint.refresh.ms": "1000"})
    content["/keys"] = NO_HTTP
    wait_until(lambda: "its answer is no HTTP" in guarded.broker.output(), 20, "the answer is logged")
    assert guarded.is_taken(first.token())
    content["/keys"] = second.jwks.read_bytes()
    wait_until(lambda: guarded.is_taken(second.token()), 20, "the new keys count")


def test_any_audience_and_issuer_are_taken_where_they_need_not_be_verified(start: Callable[..., Guarded]) -> None:
    may_say_any = {f"sasl.oauthbearer.allow.unverified.{claim}": "true" for claim in ("audience", "issuer")}
    guarded = start({AUDIENCE: "", ISSUER: "", **may_say_any})
    assert guarded.is_taken(guarded.server.token(guarded.server.claims(aud="other-service", iss="https://other")))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({URL: ""}, "give a file: or https: URL of a JWK set"),
        ({URL: "ftp://host/keys"}, "give a file: or https: URL of a JWK set"),
        ({URL: NOWHERE, AUDIENCE: ""}, f"{AUDIENCE} is not set, and listener SASL_PLAINTEXT takes tokens"),
        ({URL: NOWHERE, ISSUER: ""}, f"{ISSUER} is not set, and listener SASL_PLAINTEXT takes tokens"),
        ({URL: NOWHERE}, "file:///nowhere/keys.json of listener SASL_PLAINTEXT cannot be read"),
        ({URL: "file:///dev/null"}, "file:///dev/null of listener SASL_PLAINTEXT cannot be used: it is no JWK set"),
        (
            {"listener.name.sasl_plaintext.oauthbearer.sasl.server.callback.handler.class": "com.example.Handler"},
            "com.example.Handler",
        ),
    ],
)
def test_a_wrong_key_ends_the_start_with_one_sentence(
    broker_factory: BrokerFactory, settings: dict[str, str], said: str
) -> None:
    broker = broker_factory(start=False, kind="kafkastore")
    broker.overrides |= {
        "listeners": f"SASL_PLAINTEXT://127.0.0.1:{broker.port}",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        **RULES,
        **settings,
    }
    broker.launch()
    assert broker.wait_until_ended() == 1
    assert said in broker.output()
    assert "Traceback" not in broker.output()
