"""Delegation tokens (KIP-48) by Kafka's tool and Java's clients: who has a token is its owner, until it ends.

Each test runs against Apache Kafka as well (``--against kafka``).
"""

from __future__ import annotations

import base64
import re
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from clients.sasl_clients import Login
from clients.test_sasl import PASSWORD, Guarded, authenticate, handshake, has_metadata, scram_final, start
from peer.java_tools import JavaError, JavaRecord, JavaTools, ToolResult
from peer.topics import create_topic
from peer.wire_socket import WireSocket

__all__ = ["start"]

SECRET = {"delegation.token.secret.key": "a secret of all brokers"}
CREATE, RENEW, EXPIRE, DESCRIBE = 38, 39, 40, 41
TOKEN_DISABLED, NOT_FOUND, MISMATCH, NOT_ALLOWED, NOT_AUTHORIZED, EXPIRED, BAD_TYPE = 61, 62, 63, 64, 65, 66, 67


def settle(guarded: Guarded) -> None:
    """Apache Kafka answers before its brokers know what has changed."""
    time.sleep(0.5 if guarded.broker.kind == "kafka" else 0)


@dataclass
class Token:
    id: str
    hmac: str


@dataclass
class Tokens:
    """Kafka's tool, logged in as one user."""

    guarded: Guarded
    java: JavaTools
    folder: Path
    user: str = "alice"
    password: str = PASSWORD

    def run(self, *arguments: str) -> ToolResult:
        login = self.guarded.login("PLAIN", self.password, self.user)
        config = self.folder / f"{self.user}.properties"
        config.write_text("".join(f"{name}={value}\n" for name, value in login.java().items()))
        to = ["--bootstrap-server", login.bootstrap, "--command-config", str(config)]
        return self.java.tool("kafka-delegation-tokens", *to, *arguments)

    def create(self, *more: str, lifetime_ms: int = -1) -> Token:
        done = self.run("--create", "--max-life-time-period", str(lifetime_ms), *more)
        row = re.search(r"(?m)^([\w-]{22})\s+(\S+)\s", done.out)
        assert row is not None, done.out + done.err
        settle(self.guarded)
        return Token(row[1], row[2])


def as_java(guarded: Guarded, token: Token) -> dict[str, str]:
    login = Login(guarded.plain_port, "SCRAM-SHA-256", token.id, token.hmac)
    given = login.java()
    return given | {"sasl.jaas.config": given["sasl.jaas.config"].replace(";", ' tokenauth="true";')}


def write(guarded: Guarded, java: JavaTools, topic: str, given: dict[str, str]) -> None:
    config = {name.replace(".", "_"): value for name, value in given.items()}
    java.produce(f"localhost:{guarded.plain_port}", topic, [JavaRecord(0, None, None, b"x")], **config)


def test_who_has_a_token_writes_until_it_is_expired(
    start: Callable[..., Guarded], java: JavaTools, tmp_path: Path
) -> None:
    guarded = start(SECRET)
    topic = create_topic(guarded.broker.bootstrap, "by-token")
    tokens = Tokens(guarded, java, tmp_path)
    token = tokens.create("--renewer-principal", "User:bob")
    assert len(base64.b64decode(token.hmac)) == 64
    write(guarded, java, topic, as_java(guarded, token))
    shown = tokens.run("--describe", "--owner-principal", "User:alice")
    assert token.id in shown.out
    assert "User:alice" in shown.out
    assert "User:bob" in shown.out
    by_bob = Tokens(guarded, java, tmp_path, "bob", "other")
    assert token.id in by_bob.run("--describe", "--owner-principal", "User:bob").out, "who may renew it has it, too"
    done = by_bob.run("--renew", "--hmac", token.hmac, "--renew-time-period", "-1")
    assert "Completed renew operation" in done.out, done.out + done.err
    done = tokens.run("--expire", "--hmac", token.hmac, "--expiry-time-period", "-1")
    assert "Completed expire operation" in done.out, done.out + done.err
    settle(guarded)
    assert token.id not in tokens.run("--describe", "--owner-principal", "User:alice").out
    with pytest.raises(JavaError, match="SaslAuthenticationException"):
        write(guarded, java, topic, as_java(guarded, token))


def test_tokens_outlive_a_restart_and_end_with_their_lifetime(
    start: Callable[..., Guarded], java: JavaTools, tmp_path: Path
) -> None:
    guarded = start(SECRET)
    topic = create_topic(guarded.broker.bootstrap, "by-token")
    tokens = Tokens(guarded, java, tmp_path)
    long, short = tokens.create(), tokens.create(lifetime_ms=3000)
    begin = time.monotonic()
    guarded.broker.stop()
    guarded.broker.start()
    write(guarded, java, topic, as_java(guarded, long))
    time.sleep(max(0.0, 3.1 - (time.monotonic() - begin)))
    if guarded.broker.kind == "kafkastore":  # Apache Kafka takes a token until its next check finds that it has ended
        with pytest.raises(JavaError, match="SaslAuthenticationException"):
            write(guarded, java, topic, as_java(guarded, short))
    write(guarded, java, topic, as_java(guarded, long))


# ---- requests by hand


def text(value: str) -> bytes:
    return struct.pack(">h", len(value.encode())) + value.encode()


def create(wire: WireSocket, *renewers: tuple[str, str], lifetime_ms: int = -1) -> tuple[int, str, bytes]:
    """(error code, token id, HMAC) of CreateDelegationToken 1."""
    named = b"".join(text(kind) + text(name) for kind, name in renewers)
    answer = wire.ask(CREATE, 1, struct.pack(">i", len(renewers)) + named + struct.pack(">q", lifetime_ms))
    code, at = struct.unpack(">h", answer[:2])[0], 2
    for _ in range(2):  # the owner
        at += 2 + struct.unpack(">h", answer[at : at + 2])[0]
    at += 24  # three times
    (size,) = struct.unpack(">h", answer[at : at + 2])
    token_id, at = answer[at + 2 : at + 2 + size].decode(), at + 2 + size
    (size,) = struct.unpack(">i", answer[at : at + 4])
    return code, token_id, answer[at + 4 : at + 4 + max(size, 0)]


def change(wire: WireSocket, api: int, hmac: bytes, period_ms: int) -> int:
    """The error code of RenewDelegationToken or ExpireDelegationToken 1."""
    answer = wire.ask(api, 1, struct.pack(">i", len(hmac)) + hmac + struct.pack(">q", period_ms))
    return int(struct.unpack(">h", answer[:2])[0])


def describe(wire: WireSocket) -> int:
    """The error code of DescribeDelegationToken 1."""
    return int(struct.unpack(">h", wire.ask(DESCRIBE, 1, struct.pack(">i", -1))[:2])[0])


def logged_in(guarded: Guarded, user: str = "alice", password: str = PASSWORD) -> WireSocket:
    wire = guarded.socket()
    assert handshake(wire, "PLAIN") == 0
    assert authenticate(wire, f"\0{user}\0{password}".encode())[0] == 0
    return wire


def prove(wire: WireSocket, token_id: str, password: str, *, is_token: bool = True) -> bool:
    """Whether a client is let in by SCRAM."""
    assert handshake(wire, "SCRAM-SHA-256") == 0
    first = f"n={token_id},r=abc" + (",tokenauth=true" if is_token else "")
    code, _, challenge, _ = authenticate(wire, f"n,,{first}".encode())
    if code == 0:
        code, *_ = authenticate(wire, scram_final("SCRAM-SHA-256", first, challenge, password).encode())
    return code == 0


def is_taken(guarded: Guarded, token_id: str, password: str, *, is_token: bool = True) -> bool:
    with guarded.socket() as wire:
        return prove(wire, token_id, password, is_token=is_token)


def test_only_clients_that_have_proven_who_they_are_ask_for_tokens(start: Callable[..., Guarded]) -> None:
    guarded = start(SECRET)
    with WireSocket(guarded.broker.port, 20) as wire:
        assert create(wire)[0] == NOT_ALLOWED
        assert describe(wire) == NOT_ALLOWED
        assert change(wire, RENEW, b"x" * 64, -1) == NOT_ALLOWED
        assert change(wire, EXPIRE, b"x" * 64, -1) == NOT_ALLOWED
    with logged_in(guarded) as wire:
        code, token_id, hmac = create(wire)
        assert code == 0
    settle(guarded)
    with guarded.socket() as by_token:
        assert prove(by_token, token_id, base64.b64encode(hmac).decode())
        assert has_metadata(by_token)
        assert create(by_token)[0] == NOT_ALLOWED
        assert change(by_token, RENEW, hmac, -1) == NOT_ALLOWED


def test_without_a_secret_there_are_no_tokens(start: Callable[..., Guarded]) -> None:
    guarded = start()
    with logged_in(guarded) as wire:
        assert create(wire)[0] == TOKEN_DISABLED
        assert describe(wire) == TOKEN_DISABLED
        assert change(wire, EXPIRE, b"x" * 64, -1) == TOKEN_DISABLED


def test_wrong_requests_have_kafkas_codes_and_change_nothing(start: Callable[..., Guarded]) -> None:
    guarded = start(SECRET)
    with logged_in(guarded) as alice, logged_in(guarded, "bob", "other") as bob:
        assert create(alice, ("Group", "admins"))[0] == BAD_TYPE
        code, token_id, hmac = create(alice)
        assert code == 0
        settle(guarded)
        for api in (RENEW, EXPIRE):
            assert change(bob, api, hmac, 1000) == MISMATCH
            assert change(alice, api, b"", 1000) == NOT_FOUND
            assert change(alice, api, hmac[:-1], 1000) == NOT_FOUND
            assert change(alice, api, b"x" * 100_000, 1000) == NOT_FOUND
        password = base64.b64encode(hmac).decode()
        assert is_taken(guarded, token_id, password)
        assert not is_taken(guarded, token_id, "wrong")
        assert not is_taken(guarded, token_id, password, is_token=False), "a token is no user"
        assert not is_taken(guarded, "alice", PASSWORD), "a user is no token"
        assert change(alice, EXPIRE, hmac, 0) == 0
        settle(guarded)
        time.sleep(0.01)  # it ends with this millisecond
        assert change(alice, RENEW, hmac, 1000) in (EXPIRED, NOT_FOUND)
        if guarded.broker.kind == "kafka":
            return  # it takes a token until its next check finds that it has ended
        assert not is_taken(guarded, token_id, password)


def test_tokens_of_others_are_not_shown(start: Callable[..., Guarded], java: JavaTools, tmp_path: Path) -> None:
    """An HMAC is a password. Without an authorizer Apache Kafka shows every token to everyone."""
    guarded = start(SECRET)
    if guarded.broker.kind == "kafka":
        pytest.skip("about a difference")
    token = Tokens(guarded, java, tmp_path).create()
    shown = Tokens(guarded, java, tmp_path, "bob", "other").run("--describe", "--owner-principal", "User:alice")
    assert token.id not in shown.out
    assert token.hmac not in shown.out + guarded.broker.output()
    done = Tokens(guarded, java, tmp_path, "bob", "other").run(
        "--create", "--max-life-time-period", "-1", "--owner-principal", "User:alice"
    )
    assert "DelegationTokenAuthorizationException" in done.out + done.err


def test_users_of_scram_and_tokens_are_kept_apart(start: Callable[..., Guarded]) -> None:
    guarded = start(SECRET)
    guarded.add_user("SCRAM-SHA-256")
    assert is_taken(guarded, "alice", PASSWORD, is_token=False)
    assert not is_taken(guarded, "alice", PASSWORD)
