"""Listeners whose clients have to prove who they are (SSL, SASL_PLAINTEXT, SASL_SSL) beside the plain one, and how an
honest client gets in.

Never: keeps a connection, or tries again.
"""

from __future__ import annotations

import functools
import socket
import ssl
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peer.broker_process import BrokerProcess, free_port
from peer.certificates import Authority

USER, PASSWORD = "alice", "secret"
LOGIN_MODULE = "org.apache.kafka.common.security"
HANDSHAKE, AUTHENTICATE = 17, 36


def request(api_key: int, body: bytes, version: int = 1) -> bytes:
    """A whole frame without a client id."""
    payload = struct.pack(">hhih", api_key, version, 1, -1) + body
    return struct.pack(">i", len(payload)) + payload


def handshake(mechanism: bytes) -> bytes:
    return request(HANDSHAKE, struct.pack(">h", len(mechanism)) + mechanism)


def token(content: bytes) -> bytes:
    return request(AUTHENTICATE, struct.pack(">i", len(content)) + content)


@functools.cache
def _context(ca: str) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=ca)


@dataclass(frozen=True)
class Door:
    """A listener as its clients see it; it can be sent to another process."""

    protocol: str
    port: int
    ca: str = ""
    source: str = "127.0.0.1"
    """The address that clients have."""

    @property
    def has_tls(self) -> bool:
        return self.protocol.endswith("SSL")

    @property
    def has_sasl(self) -> bool:
        return self.protocol.startswith("SASL")

    def reach(self, timeout_s: float) -> socket.socket:
        """A connection of TCP."""
        return socket.create_connection(("127.0.0.1", self.port), timeout_s, (self.source, 0))

    def connect(self, timeout_s: float) -> socket.socket:
        """A connection with TLS, where the listener has it, and nothing proven yet."""
        raw = self.reach(timeout_s)
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if not self.has_tls:
            return raw
        try:
            return _context(self.ca).wrap_socket(raw, server_hostname="localhost")
        except OSError:
            raw.close()
            raise

    def enter(self, timeout_s: float = 120.0) -> socket.socket:
        """A connection that is let in."""
        client = self.connect(timeout_s)
        if self.has_sasl:
            for sent in (handshake(b"PLAIN"), token(f"\0{USER}\0{PASSWORD}".encode())):
                client.sendall(sent)
                code = struct.unpack(">h", receive(client)[4:6])[0]
                assert code == 0, f"error {code} for an honest client"
        return client


def receive(client: socket.socket) -> bytes:
    """The next answer, from its correlation id on."""
    return _exactly(client, struct.unpack(">i", _exactly(client, 4))[0])


def _exactly(client: socket.socket, size: int) -> bytes:
    chunks = b""
    while len(chunks) < size:
        chunk = client.recv(size - len(chunks))
        if not chunk:
            raise ConnectionError("the broker closed the connection")
        chunks += chunk
    return chunks


def open_doors(broker: BrokerProcess, folder: Path) -> Callable[[str], Door]:
    """Configures the listeners of a broker that has not started; returns the door of a protocol."""
    authority = Authority(folder / "certificates")
    ports = {protocol: free_port() for protocol in ("SSL", "SASL_PLAINTEXT", "SASL_SSL")}
    plain: dict[str, Any] = broker.properties()
    advertised = f"PLAINTEXT://127.0.0.1:{broker.port}"
    users = f'{LOGIN_MODULE}.plain.PlainLoginModule required user_{USER}="{PASSWORD}";'
    broker.overrides |= {
        "listeners": ",".join([plain["listeners"], *(f"{name}://127.0.0.1:{port}" for name, port in ports.items())]),
        "advertised.listeners": ",".join([advertised, *(f"{name}://localhost:{port}" for name, port in ports.items())]),
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,"
        + ",".join(f"{name}:{name}" for name in ports),
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
        "ssl.keystore.location": str(authority.server().both),
        "ssl.keystore.type": "PEM",
    }
    for listener in ("sasl_plaintext", "sasl_ssl"):
        broker.overrides[f"listener.name.{listener}.plain.sasl.jaas.config"] = users
        broker.overrides[f"listener.name.{listener}.scram-sha-256.sasl.jaas.config"] = (
            f"{LOGIN_MODULE}.scram.ScramLoginModule required;"
        )
    return lambda protocol: Door(protocol, ports[protocol], str(authority.ca))
