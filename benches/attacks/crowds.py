"""Crowds of hostile clients at the listeners of :mod:`attacks.guarded`: they begin to prove who they are and stop in
the middle, send tokens as long as they may be, or guess passwords.

Each returns a few words on how many the broker held. Bounded in count and time, and on loopback only.
"""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import struct
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

from attacks.guarded import Door, handshake, receive, request, token

CROWD = 1_000
ELSEWHERE = "127.0.0.2"
"""The address of a crowd; the honest clients' is 127.0.0.1."""

HELD_S = 8.0
THREADS = 8
NICE = 10
PATIENCE_S = 20.0
LARGEST_TOKEN = 500_000
"""A little less than sasl.server.max.receive.size."""


@contextlib.contextmanager
def elsewhere() -> Iterator[None]:
    """Runs the crowd with what the broker and the honest clients leave of this machine: a crowd has machines of its
    own."""
    os.setpriority(os.PRIO_PROCESS, 0, NICE)
    try:
        yield
    finally:
        with contextlib.suppress(PermissionError):  # only root gets back what it gave
            os.setpriority(os.PRIO_PROCESS, 0, 0)


def calm(_: Door) -> str:
    """Nobody beside the honest clients: their base."""
    time.sleep(HELD_S)
    return "nobody"


def client_hello() -> bytes:
    """The first record of an honest TLS client."""
    out = ssl.MemoryBIO()
    shake = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), out, server_hostname="localhost")
    with contextlib.suppress(ssl.SSLWantReadError):
        shake.do_handshake()
    return out.read()


def _held(door: Door, step: Callable[[int], socket.socket], what: str) -> str:
    """A crowd whose connections each make a step and stay open for a while."""

    def begin(number: int) -> socket.socket | None:
        try:
            return step(number)
        except OSError:
            return None

    with ThreadPoolExecutor(THREADS) as pool:
        clients = [client for client in pool.map(begin, range(CROWD)) if client is not None]
    time.sleep(HELD_S)
    open_still = sum(map(_is_open, clients))
    for client in clients:
        client.close()
    return f"{len(clients):,} {what}, {open_still:,} open {HELD_S:.0f} s later ({door.protocol})"


def _is_open(client: socket.socket) -> bool:
    client.settimeout(0)
    try:
        while part := client.recv(1 << 16):
            del part
    except (BlockingIOError, ssl.SSLWantReadError):
        return True
    except OSError:
        return False
    return False


def _agree(door: Door, mechanism: bytes) -> socket.socket:
    """A client that has agreed with the broker on a mechanism and has sent no token."""
    client = door.connect(PATIENCE_S)
    client.sendall(handshake(mechanism))
    receive(client)
    return client


def half_hello(door: Door) -> str:
    hello = client_hello()

    def step(number: int) -> socket.socket:
        client = door.reach(PATIENCE_S)
        client.sendall(hello[: 1 + number % (len(hello) - 1)])
        return client

    return _held(door, step, "with half a first message")


def hello_alone(door: Door) -> str:
    hello = client_hello()

    def step(_: int) -> socket.socket:
        client = door.reach(PATIENCE_S)
        client.sendall(hello)
        client.recv(1)  # the broker has answered with its certificate
        return client

    return _held(door, step, "that never answer the broker's certificate")


def long_records(door: Door) -> str:
    """A first message of 64 KB that lacks its last byte."""
    body = b"\x01" + (65_000).to_bytes(3, "big") + bytes(64_999)
    parts = [body[at : at + 16_000] for at in range(0, len(body), 16_000)]
    sent = b"".join(b"\x16\x03\x01" + struct.pack(">H", len(part)) + part for part in parts)

    def step(_: int) -> socket.socket:
        client = door.reach(PATIENCE_S)
        client.sendall(sent)
        return client

    return _held(door, step, "with a first message of 65 KB")


def agreed(door: Door) -> str:
    return _held(door, lambda _: _agree(door, b"PLAIN"), "that agree on PLAIN and send no token")


def challenged(door: Door) -> str:
    def step(number: int) -> socket.socket:
        client = _agree(door, b"SCRAM-SHA-256")
        client.sendall(token(b"n,,n=user%d,r=%s" % (number, b"x" * 900)))
        receive(client)
        return client

    return _held(door, step, "that do not answer SCRAM's challenge")


def long_names(door: Door) -> str:
    def step(_: int) -> socket.socket:
        client = _agree(door, b"PLAIN")
        with contextlib.suppress(OSError):
            client.sendall(token(b"\0" + b"n" * 1_000_000 + b"\0x"))
        return client

    return _held(door, step, "with a name of 1 MB")


def unfinished_tokens(door: Door) -> str:
    """Each sends all of a token but its last byte."""

    def step(_: int) -> socket.socket:
        client = _agree(door, b"PLAIN")
        client.settimeout(0.2)
        with contextlib.suppress(OSError):
            client.sendall(token(b"\0" + b"n" * LARGEST_TOKEN + b"\0x")[:-1])
        return client

    return _held(door, step, "with a token of 500 KB that lacks a byte")


def unread_refusals(door: Door) -> str:
    """Each sends ten ApiVersions and a wrong password, and reads nothing."""

    def step(_: int) -> socket.socket:
        client = door.connect(PATIENCE_S)
        client.sendall(request(18, b"", 0) * 10 + handshake(b"PLAIN") + token(b"\0alice\0wrong"))
        return client

    return _held(door, step, "that read no answer")


def wrong_passwords(door: Door) -> str:
    """Guesses for as long as the other crowds hold their connections, each on a connection of its own."""
    until = time.monotonic() + HELD_S

    def guess(number: int) -> int:
        count = 0
        while time.monotonic() < until:
            with contextlib.suppress(OSError), contextlib.closing(door.connect(PATIENCE_S)) as client:
                client.sendall(handshake(b"PLAIN") + token(b"\0alice\0guess%d" % (number + count)))
                receive(client)
                receive(client)
                count += 1
        return count

    with ThreadPoolExecutor(100) as pool:
        return f"{sum(pool.map(guess, range(100))):,} guesses of 100 clients in {HELD_S:.0f} s ({door.protocol})"


def complete_handshakes(door: Door) -> str:
    """Whole handshakes of TLS, one after the other, whose connections are closed at once."""
    until = time.monotonic() + HELD_S

    def shake(_: int) -> int:
        count = 0
        while time.monotonic() < until:
            with contextlib.suppress(OSError):
                door.connect(PATIENCE_S).close()
                count += 1
        return count

    with ThreadPoolExecutor(THREADS) as pool:
        return f"{sum(pool.map(shake, range(THREADS))):,} handshakes in {HELD_S:.0f} s ({door.protocol})"


OF_TLS = {
    "half-hello": ("1,000 clients stop in the middle of TLS's first message", half_hello),
    "hello-alone": ("1,000 clients stop after TLS's first message", hello_alone),
    "long-hello": ("1,000 clients stop in a first message of 65 KB", long_records),
    "handshakes": ("as many TLS handshakes as 8 threads make", complete_handshakes),
}
OF_SASL = {
    "agreed": ("1,000 clients agree on PLAIN and send no token", agreed),
    "challenged": ("1,000 clients do not answer SCRAM's challenge", challenged),
    "long-names": ("1,000 clients send a user name of 1 MB", long_names),
    "long-tokens": ("1,000 clients send 500 KB of a token, but not its end", unfinished_tokens),
    "unread-refusals": ("1,000 clients send a wrong password and read nothing", unread_refusals),
    "passwords": ("100 clients guess passwords", wrong_passwords),
}
CROWDS: dict[str, tuple[str, str, Callable[[Door], str]]] = {
    f"{name}-{protocol.lower().replace('_', '-')}": (f"{protocol}: {what}", protocol, run)
    for protocol, crowds in (
        ("SSL", {"calm": ("calm", calm), **OF_TLS}),
        ("SASL_PLAINTEXT", {"calm": ("calm", calm), **OF_SASL}),
        ("SASL_SSL", {"calm": ("calm", calm), **OF_SASL}),
    )
    for name, (what, run) in crowds.items()
}
