"""The client's side of SCRAM-SHA-256 (RFC 5802, RFC 7677), by which brokers prove one secret to each other without
sending it.

    client-first  n,,n=broker,r=NONCE
    server-first  r=NONCE+MORE,s=SALT,i=ITERATIONS
    client-final  c=biws,r=NONCE+MORE,p=PROOF
    server-final  v=SIGNATURE

The exchange's state, without I/O. The server's side, and the client's side for the fetchers, is ``rust/wire/scram.rs``;
the constants are the same.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from typing import Final

MECHANISM: Final = "SCRAM-SHA-256"
USER: Final = "broker"
MIN_ITERATIONS: Final = 4096
MAX_ITERATIONS: Final = 1 << 17
"""A server that asks for more iterations would keep the loop busy."""

MAX_MESSAGE_BYTES: Final = 1024


class RefusedError(Exception):
    """The server has not proven that it knows the secret; the message says why."""


class Prover:
    """Proves one secret in any number of exchanges; keeps the key of the last salt, so that connecting again costs no
    hashing."""

    def __init__(self, secret: str) -> None:
        self._password = secret.encode()
        self._last: tuple[bytes, int, bytes] | None = None

    def begin(self) -> Exchange:
        return Exchange(self, secrets.token_hex(18))

    def salted(self, salt: bytes, iterations: int) -> bytes:
        if self._last is not None and self._last[:2] == (salt, iterations):
            return self._last[2]
        key = hashlib.pbkdf2_hmac("sha256", self._password, salt, iterations)
        self._last = salt, iterations, key
        return key


class Exchange:
    """One proof: send ``first``, send :meth:`reply` of the server's answer, then :meth:`check` the server's next."""

    def __init__(self, prover: Prover, nonce: str) -> None:
        self._prover = prover
        self._nonce = nonce
        self._bare = f"n={USER},r={nonce}"
        self._expected = b""

    @property
    def first(self) -> bytes:
        return f"n,,{self._bare}".encode()

    def reply(self, server_first: bytes) -> bytes:
        """The message client-final. Raises RefusedError."""
        text = _text(server_first)
        nonce, salt, iterations = _server_first(text)
        if not nonce.startswith(self._nonce) or len(nonce) == len(self._nonce):
            raise RefusedError("its nonce does not go on from ours")
        salted = self._prover.salted(salt, iterations)
        client_key = _mac(salted, b"Client Key")
        without_proof = f"c=biws,r={nonce}"
        bound = f"{self._bare},{text},{without_proof}".encode()
        signature = _mac(hashlib.sha256(client_key).digest(), bound)
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        self._expected = _mac(_mac(salted, b"Server Key"), bound)
        return f"{without_proof},p={base64.b64encode(proof).decode()}".encode()

    def check(self, server_final: bytes) -> None:
        """Raises RefusedError when the server does not know the secret."""
        given = _text(server_final)
        if not given.startswith("v=") or not hmac.compare_digest(_decoded(given[2:]), self._expected):
            raise RefusedError("it does not know the secret")


def _server_first(text: str) -> tuple[str, bytes, int]:
    fields = text.split(",")
    if len(fields) < 3 or [field[:2] for field in fields[:3]] != ["r=", "s=", "i="]:
        raise RefusedError("its message lacks a field")
    nonce, salt, iterations = (field[2:] for field in fields[:3])
    if not iterations.isdecimal() or not MIN_ITERATIONS <= int(iterations[:9]) <= MAX_ITERATIONS:
        raise RefusedError("its iteration count is out of range")
    return nonce, _decoded(salt), int(iterations[:9])


def _text(message: bytes) -> str:
    if len(message) > MAX_MESSAGE_BYTES or not message.isascii():
        raise RefusedError("its message is too long or no text")
    return message.decode()


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise RefusedError("its message is malformed") from None


def _mac(key: bytes, data: bytes) -> bytes:
    return hmac.digest(key, data, "sha256")
