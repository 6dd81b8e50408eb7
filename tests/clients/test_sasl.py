"""SASL with real clients: what they write comes back, and whoever must be refused is refused.

Each test runs against Apache Kafka as well (``--against kafka``).
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import os
import select
import socket
import ssl
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

from clients.sasl_clients import CLIENTS, VALUES, Login
from peer.broker_factory import BrokerFactory
from peer.broker_process import BrokerProcess, free_port, wait_until
from peer.certificates import Authority
from peer.java_tools import JavaTools
from peer.topics import create_topic
from peer.wire_socket import WireSocket, frame

PASSWORD = "a secret, with =signs"
USER = "alice"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
MECHANISMS = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
NUMBERS = {"SCRAM-SHA-256": ScramMechanism.SCRAM_SHA_256, "SCRAM-SHA-512": ScramMechanism.SCRAM_SHA_512}

HANDSHAKE, AUTHENTICATE, API_VERSIONS, METADATA = 17, 36, 18, 3
UNSUPPORTED_SASL_MECHANISM, ILLEGAL_SASL_STATE, SASL_AUTHENTICATION_FAILED = 33, 34, 58


@dataclass
class Guarded:
    """A broker with two listeners for SASL, one of them with TLS, beside one without either."""

    broker: BrokerProcess
    plain_port: int
    tls_port: int
    authority: Authority

    def login(self, mechanism: str, password: str = PASSWORD, user: str = USER, *, tls: bool = False) -> Login:
        port, authority = (self.tls_port, self.authority.ca) if tls else (self.plain_port, None)
        return Login(port, mechanism, user, password, authority)

    def add_user(self, mechanism: str, password: str = PASSWORD, user: str = USER, iterations: int = 4096) -> None:
        alteration = UserScramCredentialUpsertion(
            user, ScramCredentialInfo(NUMBERS[mechanism], iterations), password.encode()
        )
        self.alter(alteration)
        time.sleep(0.5 if self.broker.kind == "kafka" else 0)  # Apache Kafka answers before its brokers know the user

    def alter(self, alteration: UserScramCredentialUpsertion | UserScramCredentialDeletion) -> None:
        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap})
        (future,) = admin.alter_user_scram_credentials([alteration]).values()
        future.result(30)

    def socket(self) -> WireSocket:
        return WireSocket(self.plain_port, 20)

    def lets_in(self, login: Login) -> bool:
        """Whether librdkafka can log in."""
        refused: list[Any] = []
        admin = AdminClient(login.rd() | {"error_cb": refused.append, "log_level": 0})
        until = time.monotonic() + 20
        while time.monotonic() < until:
            try:
                admin.list_topics(timeout=0.1)
            except KafkaException:
                admin.poll(0)
                if any(error.name() == "_AUTHENTICATION" for error in refused):
                    return False
            else:
                return True
        raise AssertionError(f"neither let in nor refused: {refused}")


@pytest.fixture
def start(broker_factory: BrokerFactory, tmp_path: Path) -> Callable[..., Guarded]:
    """Starts a broker with listeners for SASL: start({key: value}); of another kind, or on log directories that there
    are already, on demand."""

    def run(settings: dict[str, str] | None = None, kind: str | None = None, log_dirs: Sequence[Path] = ()) -> Guarded:
        authority = Authority(tmp_path / "certificates")
        broker = broker_factory(log_dirs=log_dirs, kind=kind, start=False)
        plain, tls = free_port(), free_port()
        broker.overrides |= {
            "listeners": broker.properties()["listeners"]
            + f",SASL_PLAINTEXT://127.0.0.1:{plain},SASL_SSL://127.0.0.1:{tls}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{broker.port},SASL_PLAINTEXT://localhost:{plain},"
            f"SASL_SSL://localhost:{tls}",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,"
            "SASL_SSL:SASL_SSL",
            "sasl.enabled.mechanisms": ",".join(MECHANISMS),
            "connection.failed.authentication.delay.ms": "10",
            "ssl.keystore.location": str(authority.server().both),
            "ssl.keystore.type": "PEM",
        }
        users = f'{PLAIN} username="broker" password="x" user_{USER}="{PASSWORD}" user_bob="other";'
        for listener in ("sasl_plaintext", "sasl_ssl"):
            prefix = f"listener.name.{listener}"
            broker.overrides |= {f"{prefix}.plain.sasl.jaas.config": users}
            broker.overrides |= {f"{prefix}.{name.lower()}.sasl.jaas.config": SCRAM for name in MECHANISMS[1:]}
        broker.overrides |= settings or {}
        broker.start()
        return Guarded(broker, plain, tls, authority)

    return run


# ---- what clients write comes back


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.__name__)
def test_records_come_back_by_each_mechanism_with_and_without_tls(
    start: Callable[..., Guarded], java: JavaTools, client: Callable[[Login, str, JavaTools], list[bytes]], against: str
) -> None:
    if (against, client.__name__) == ("kafka", "kcat"):
        pytest.skip("Apache Kafka refuses SCRAM of librdkafka before 2.6.1, which kcat of Debian has")
    guarded = start()
    for mechanism in MECHANISMS[1:]:
        guarded.add_user(mechanism)
    for number, mechanism in enumerate(MECHANISMS):
        for tls in (False, True):
            topic = create_topic(guarded.broker.bootstrap, f"guarded-{number}-{tls}")
            assert client(guarded.login(mechanism, tls=tls), topic, java) == VALUES, (mechanism, tls)


def test_kafkas_tools_set_show_and_delete_users(start: Callable[..., Guarded], java: JavaTools, tmp_path: Path) -> None:
    guarded = start()
    config = tmp_path / "client.properties"
    config.write_text("".join(f"{name}={value}\n" for name, value in guarded.login("PLAIN").java().items()))
    to = ["--bootstrap-server", f"localhost:{guarded.plain_port}", "--command-config", str(config)]
    user = ["--entity-type", "users", "--entity-name", "carol"]
    added = ["SCRAM-SHA-256=[iterations=8192,password=first]", "SCRAM-SHA-512=[password=second]"]
    if guarded.broker.kind == "kafkastore":  # with KRaft, Apache Kafka takes one mechanism of a user at a time
        added = [",".join(added)]
    for one in added:
        done = java.tool("kafka-configs", *to, "--alter", *user, "--add-config", one)
        assert "Completed updating config for user carol" in done.out, done.out + done.err
    shown = java.tool("kafka-configs", *to, "--describe", *user)
    assert "SCRAM-SHA-256=iterations=8192" in shown.out, shown.out + shown.err
    assert "SCRAM-SHA-512=iterations=4096" in shown.out
    wait_until(lambda: guarded.lets_in(guarded.login("SCRAM-SHA-256", "first", "carol")), 10, "carol may log in")
    assert guarded.lets_in(guarded.login("SCRAM-SHA-512", "second", "carol"))
    done = java.tool("kafka-configs", *to, "--alter", *user, "--delete-config", "SCRAM-SHA-256")
    assert "Completed updating config for user carol" in done.out, done.out + done.err
    shown = java.tool("kafka-configs", *to, "--describe", *user)
    assert "SCRAM-SHA-256" not in shown.out
    assert "SCRAM-SHA-512=iterations=4096" in shown.out
    wait_until(lambda: not guarded.lets_in(guarded.login("SCRAM-SHA-256", "first", "carol")), 10, "carol is gone")


def test_users_outlive_a_restart_and_a_new_password_replaces_the_old(start: Callable[..., Guarded]) -> None:
    guarded = start()
    guarded.add_user("SCRAM-SHA-256", user="carol, =1")
    guarded.broker.stop()
    guarded.broker.start()
    login = guarded.login("SCRAM-SHA-256", user="carol, =1")
    assert guarded.lets_in(login)
    guarded.add_user("SCRAM-SHA-256", "new", login.user)
    assert not guarded.lets_in(login)
    assert guarded.lets_in(login.with_password("new"))
    guarded.alter(UserScramCredentialDeletion(login.user, NUMBERS["SCRAM-SHA-256"]))
    wait_until(lambda: not guarded.lets_in(login.with_password("new")), 10, "the user is gone")


# ---- who is refused


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_wrong_names_and_passwords_are_refused(start: Callable[..., Guarded], mechanism: str) -> None:
    guarded = start()
    if mechanism != "PLAIN":
        guarded.add_user(mechanism)
    good = guarded.login(mechanism)
    assert guarded.lets_in(good)
    for password in (PASSWORD + "x", PASSWORD[:-1], PASSWORD.upper(), "other", "x"):
        assert not guarded.lets_in(good.with_password(password)), password
    for user in ("nobody", "ALICE", "alice ", "bob" if mechanism != "PLAIN" else "broker"):
        assert not guarded.lets_in(guarded.login(mechanism, user=user)), user


def handshake(wire: WireSocket, mechanism: str, version: int = 1) -> int:
    """The error code."""
    name = mechanism.encode()
    return int(struct.unpack(">h", wire.ask(HANDSHAKE, version, struct.pack(">h", len(name)) + name)[:2])[0])


def authenticate(wire: WireSocket, token: bytes) -> tuple[int, str, bytes, int]:
    """(error code, message, token, lifetime in ms) of SaslAuthenticate 1."""
    answer = wire.ask(AUTHENTICATE, 1, struct.pack(">i", len(token)) + token)
    code, size = struct.unpack(">hh", answer[:4])
    message = answer[4 : 4 + max(size, 0)].decode()
    rest = answer[4 + max(size, 0) :]
    (size,) = struct.unpack(">i", rest[:4])
    return code, message, rest[4 : 4 + size], struct.unpack(">q", rest[4 + size : 12 + size])[0]


def scram_final(mechanism: str, first: str, challenge: bytes, password: str = PASSWORD, header: str = "n,,") -> str:
    """The client's last message (RFC 5802)."""
    fields = dict(part.split("=", 1) for part in challenge.decode().split(","))
    name = HASHES[mechanism]
    salted = hashlib.pbkdf2_hmac(name, password.encode(), base64.b64decode(fields["s"]), int(fields["i"]))
    client_key = hmac.digest(salted, b"Client Key", name)
    without_proof = f"c={base64.b64encode(header.encode()).decode()},r={fields['r']}"
    bound = f"{first},{challenge.decode()},{without_proof}".encode()
    signature = hmac.digest(hashlib.new(name, client_key).digest(), bound, name)
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    return f"{without_proof},p={base64.b64encode(proof).decode()}"


def has_metadata(wire: WireSocket) -> bool:
    try:
        return wire.has_broker()
    except OSError:
        return False


def test_by_hand_the_right_messages_are_let_in(start: Callable[..., Guarded]) -> None:
    """So that the tests below refuse for the reason that they name."""
    guarded = start()
    guarded.add_user("SCRAM-SHA-512")
    with guarded.socket() as wire:
        assert wire.ask(API_VERSIONS, 0, b"")[:2] == b"\0\0"
        assert handshake(wire, "PLAIN") == 0
        assert authenticate(wire, f"\0{USER}\0{PASSWORD}".encode()) == (0, "", b"", 0)
        assert has_metadata(wire)
    with guarded.socket() as wire:
        assert handshake(wire, "SCRAM-SHA-512") == 0
        first = f"n={USER},r=abc"
        code, _, challenge, _ = authenticate(wire, f"n,,{first}".encode())
        assert code == 0
        assert not challenge.startswith(b"e=")
        code, _, final, _ = authenticate(wire, scram_final("SCRAM-SHA-512", first, challenge).encode())
        assert (code, final[:2]) == (0, b"v=")
        assert has_metadata(wire)


def test_tokens_without_requests_around_them_are_taken_after_version_0_of_the_handshake(
    start: Callable[..., Guarded],
) -> None:
    guarded = start()
    with guarded.socket() as wire:
        assert handshake(wire, "PLAIN", version=0) == 0
        wire.send(frame(f"\0{USER}\0{PASSWORD}".encode()))
        assert wire.receive() == b""
        assert has_metadata(wire)
    with guarded.socket() as wire:
        assert handshake(wire, "PLAIN", version=0) == 0
        wire.send(frame(f"\0{USER}\0wrong".encode()))
        assert wire.is_closed_by_peer()


def abuses() -> dict[str, Callable[[WireSocket], object]]:
    """What a client may send to get in without a proof, by name. Whatever it is answered, it must not be served."""

    def agreed(mechanism: str, *tokens: bytes) -> Callable[[WireSocket], object]:
        def run(wire: WireSocket) -> None:
            handshake(wire, mechanism)
            for token in tokens:
                authenticate(wire, token)

        return run

    def finals(change: Callable[[str], str]) -> Callable[[WireSocket], object]:
        def run(wire: WireSocket) -> None:
            handshake(wire, "SCRAM-SHA-256")
            first = f"n={USER},r=abc"
            _, _, challenge, _ = authenticate(wire, f"n,,{first}".encode())
            authenticate(wire, change(scram_final("SCRAM-SHA-256", first, challenge)).encode())

        return run

    def another_mechanism(wire: WireSocket) -> None:
        handshake(wire, "SCRAM-SHA-256")
        handshake(wire, "PLAIN")
        authenticate(wire, f"\0{USER}\0{PASSWORD}".encode())

    def replay(wire: WireSocket) -> None:
        """The proof of one connection on another."""
        handshake(wire, "SCRAM-SHA-256")
        first = f"n={USER},r=abc"
        _, _, challenge, _ = authenticate(wire, f"n,,{first}".encode())
        port = wire.socket.getpeername()[1]
        with WireSocket(port, 20) as other:
            handshake(other, "SCRAM-SHA-256")
            _, _, theirs, _ = authenticate(other, f"n,,{first}".encode())
        assert challenge != theirs
        authenticate(wire, scram_final("SCRAM-SHA-256", first, theirs).encode())

    plain = f"\0{USER}\0{PASSWORD}".encode()
    return {
        "no handshake": lambda _: None,
        "a token before the handshake": lambda wire: authenticate(wire, plain),
        "a mechanism that is not there": lambda wire: handshake(wire, "GSSAPI"),
        "ANONYMOUS": agreed("ANONYMOUS", b""),
        "EXTERNAL": agreed("EXTERNAL", b"alice"),
        "a mechanism in lower case": agreed("plain", plain),
        "a token of PLAIN for SCRAM": agreed("SCRAM-SHA-256", plain),
        "a token of SCRAM for PLAIN": agreed("PLAIN", b"n,,n=alice,r=abc"),
        "an empty token": agreed("PLAIN", b""),
        "no password": agreed("PLAIN", b"\0alice\0"),
        "the identity of another": agreed("PLAIN", f"bob\0{USER}\0{PASSWORD}".encode()),
        "a name with NUL": agreed("PLAIN", f"\0{USER}\0x\0{PASSWORD}".encode()),
        "a name of a megabyte": agreed("PLAIN", b"\0" + b"a" * 400_000 + b"\0x"),
        "no text": agreed("PLAIN", b"\0\xff\xfe\0\xff"),
        "a second try": agreed("PLAIN", b"\0alice\0wrong", plain),
        "another mechanism": another_mechanism,
        "the first message twice": agreed("SCRAM-SHA-256", b"n,,n=alice,r=abc", b"n,,n=alice,r=abc"),
        "channel binding": agreed("SCRAM-SHA-256", b"p=tls-unique,,n=alice,r=abc"),
        "the identity of another by SCRAM": agreed("SCRAM-SHA-256", b"n,a=bob,n=alice,r=abc"),
        "a delegation token that is not there": agreed("SCRAM-SHA-256", b"n,,n=alice,r=abc,tokenauth=true"),
        "another nonce": finals(lambda final: final.replace("r=abc", "r=abd")),
        "no proof": finals(lambda final: final.partition(",p=")[0]),
        "a proof of zeros": finals(lambda final: final.partition(",p=")[0] + ",p=" + "A" * 43 + "="),
        "a short proof": finals(lambda final: final.partition(",p=")[0] + ",p=AAAA"),
        "a replay": replay,
        "the final message alone": agreed("SCRAM-SHA-256", b"c=biws,r=abc,p=AAAA"),
        "a frame larger than any token": lambda wire: wire.send(struct.pack(">i", 600_000) + b"x" * 100_000),
        "a negative size": lambda wire: wire.send(struct.pack(">i", -1)),
    }


def test_no_abuse_of_the_protocol_is_let_in(start: Callable[..., Guarded]) -> None:
    guarded = start()
    guarded.add_user("SCRAM-SHA-256")
    for name, abuse in abuses().items():
        with guarded.socket() as wire:
            try:
                abuse(wire)
            except OSError:
                continue  # the connection was closed
            assert not has_metadata(wire), name
    assert guarded.lets_in(guarded.login("SCRAM-SHA-256"))


def test_refusals_have_kafkas_codes_and_messages(start: Callable[..., Guarded]) -> None:
    guarded = start()
    guarded.add_user("SCRAM-SHA-256")
    with guarded.socket() as wire:
        assert handshake(wire, "GSSAPI") == UNSUPPORTED_SASL_MECHANISM
        assert wire.is_closed_by_peer()
    with guarded.socket() as wire:
        assert handshake(wire, "PLAIN") == 0
        refused = authenticate(wire, b"\0alice\0wrong")
        told = "Authentication failed: Invalid username or password"
        assert refused[:2] == (SASL_AUTHENTICATION_FAILED, told)
        assert wire.is_closed_by_peer()
    with guarded.socket() as wire:
        assert handshake(wire, "SCRAM-SHA-256") == 0
        first = f"n={USER},r=abc"
        _, _, challenge, _ = authenticate(wire, f"n,,{first}".encode())
        refused = authenticate(wire, scram_final("SCRAM-SHA-256", first, challenge, "wrong").encode())
        told = (
            "Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-256"
        )
        assert refused[:2] == (SASL_AUTHENTICATION_FAILED, told)
        assert wire.is_closed_by_peer()
    with guarded.socket() as wire:
        assert not has_metadata(wire)


def test_a_listener_without_sasl_takes_no_proof(start: Callable[..., Guarded]) -> None:
    guarded = start()
    with WireSocket(guarded.broker.port, 20) as wire:
        assert handshake(wire, "PLAIN") in (UNSUPPORTED_SASL_MECHANISM, ILLEGAL_SASL_STATE)


def test_a_mechanism_that_one_listener_lacks_is_refused_there(start: Callable[..., Guarded]) -> None:
    guarded = start({"listener.name.sasl_plaintext.sasl.enabled.mechanisms": "SCRAM-SHA-256"})
    with guarded.socket() as wire:
        assert handshake(wire, "PLAIN") == UNSUPPORTED_SASL_MECHANISM
    assert guarded.lets_in(guarded.login("PLAIN", tls=True))


def test_a_refusal_comes_late_and_holds_up_nobody(start: Callable[..., Guarded]) -> None:
    """connection.failed.authentication.delay.ms"""
    guarded = start({"connection.failed.authentication.delay.ms": "3000"})
    waiting = [guarded.socket() for _ in range(50)]
    for wire in waiting:
        assert handshake(wire, "PLAIN") == 0
    begin = time.monotonic()
    for wire in waiting[1:]:
        wire.send(frame(struct.pack(">hhihi", AUTHENTICATE, 1, 1, -1, 12) + b"\0alice\0wrong"))
    with guarded.socket() as wire:
        assert handshake(wire, "PLAIN") == 0
        assert authenticate(wire, f"\0{USER}\0{PASSWORD}".encode())[0] == 0
    answered, _, _ = select.select([wire.socket for wire in waiting], [], [], 0)
    assert answered == [], "the good login was answered before any refusal"
    assert guarded.lets_in(guarded.login("PLAIN"))
    assert authenticate(waiting[0], b"\0alice\0wrong")[0] == SASL_AUTHENTICATION_FAILED
    assert time.monotonic() - begin > 2.9
    for wire in waiting:
        wire.socket.close()


def test_clients_at_an_address_of_wrong_passwords_wait_and_hold_up_nobody(
    start: Callable[..., Guarded], against: str
) -> None:
    """docs/sasl.md: their handshakes begin at a bounded rate; no client of another address is behind them."""
    if against == "kafka":
        pytest.skip("Apache Kafka makes handshakes in the order of arrival")
    guarded = start({"connection.failed.authentication.delay.ms": "0"})
    for _ in range(8):
        with WireSocket(guarded.plain_port, 20, source="127.0.0.2") as wire:
            assert handshake(wire, "PLAIN") == 0
            assert authenticate(wire, b"\0alice\0wrong")[0] == SASL_AUTHENTICATION_FAILED
    context = ssl.create_default_context(cafile=guarded.authority.ca)

    def begin(source: str) -> ssl.SSLSocket:
        """A client that has sent its first message."""
        raw = socket.create_connection(("127.0.0.1", guarded.tls_port), 20, (source, 0))
        client = context.wrap_socket(raw, server_hostname="localhost", do_handshake_on_connect=False)
        client.setblocking(False)
        with contextlib.suppress(ssl.SSLWantReadError):
            client.do_handshake()
        return client

    def finish(client: ssl.SSLSocket) -> None:
        client.settimeout(30)
        client.do_handshake()

    suspects = [begin("127.0.0.2") for _ in range(200)]
    honest = begin("127.0.0.1")
    finish(honest)
    assert suspects[-1] not in select.select(suspects, [], [], 0)[0]
    for suspect in suspects:
        finish(suspect)
    for client in (honest, *suspects):
        client.close()


# ---- sessions that end (KIP-368)


def test_a_session_ends_unless_the_same_user_proves_itself_again(start: Callable[..., Guarded]) -> None:
    guarded = start({"connections.max.reauth.ms": "2500"})
    alice, bob = f"\0{USER}\0{PASSWORD}".encode(), b"\0bob\0other"
    with guarded.socket() as renewed, guarded.socket() as left, guarded.socket() as other:
        for wire in (renewed, left, other):
            assert handshake(wire, "PLAIN") == 0
            code, _, _, lifetime = authenticate(wire, alice)
            assert code == 0
            assert 0 < lifetime <= 2500
        begin = time.monotonic()
        time.sleep(1.1)  # Kafka's brokers take no second proof within a second
        assert handshake(renewed, "PLAIN") == 0
        assert authenticate(renewed, alice)[0] == 0
        assert handshake(other, "PLAIN") == 0
        assert authenticate(other, bob)[0] == SASL_AUTHENTICATION_FAILED
        assert other.is_closed_by_peer()
        time.sleep(begin + 2.6 - time.monotonic())
        assert has_metadata(renewed)
        assert not has_metadata(left)


def test_clients_that_renew_their_session_notice_nothing(start: Callable[..., Guarded], java: JavaTools) -> None:
    guarded = start({"connections.max.reauth.ms": "1500"})
    guarded.add_user("SCRAM-SHA-512")
    topic = create_topic(guarded.broker.bootstrap, "renewed")
    login = guarded.login("SCRAM-SHA-512")
    failed: list[Any] = []
    producer = Producer(login.rd() | {"error_cb": failed.append, "log_level": 0})
    until, sent = time.monotonic() + 4, 0  # two renewals
    while time.monotonic() < until:
        producer.produce(topic, b"%d" % sent, partition=0)
        assert producer.flush(20) == 0
        sent += 1
        time.sleep(0.05)
    read = java.call("consume", login.bootstrap, topic=topic, config=login.java() | {"auto.offset.reset": "earliest"})
    assert len(read) == sent


# ---- secrets


def test_no_password_is_shown_or_logged(start: Callable[..., Guarded], tmp_path: Path) -> None:
    guarded = start()
    guarded.add_user("SCRAM-SHA-256", "a new secret")
    assert not guarded.lets_in(guarded.login("PLAIN", "a guessed secret"))
    from confluent_kafka.admin import ConfigResource, ResourceType

    admin = AdminClient({"bootstrap.servers": guarded.broker.bootstrap})
    node = str(next(iter(admin.list_topics(timeout=20).brokers)))
    (future,) = admin.describe_configs([ConfigResource(ResourceType.BROKER, node)]).values()
    shown = " ".join(str(one.value) for one in future.result(20).values())
    guarded.broker.stop()
    for secret in (PASSWORD, "a new secret", "a guessed secret"):
        assert secret not in shown
        assert secret not in guarded.broker.output()
    if guarded.broker.kind == "kafkastore":
        for path in tmp_path.rglob("*.sqlite*"):
            assert b"a new secret" not in path.read_bytes()
            assert os.stat(path).st_mode & 0o077 == 0, f"{path} may be read by others"
