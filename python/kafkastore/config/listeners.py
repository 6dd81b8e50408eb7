"""Listener strings: ``listeners``, ``advertised.listeners``, ``listener.security.protocol.map``."""

from __future__ import annotations

import re
from typing import Final

from kafkastore.errors import ConfigError

SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")

MAX_PORT_DIGITS = 5

MAX_HOST: Final = 253
_HOST: Final = re.compile(r"[0-9a-zA-Z\-%._:]{0,253}")
"""As Kafka's, and as long as a name of a host may be."""


class Listener:
    """One endpoint. ``host`` is "" for every interface; ``port`` 0 lets the system choose."""

    __slots__ = ("host", "name", "port", "protocol")

    def __init__(self, name: str, host: str, port: int, protocol: str) -> None:
        self.name = name
        self.host = host
        self.port = port
        self.protocol = protocol

    @property
    def is_loopback(self) -> bool:
        """Whether only this host can reach the listener."""
        return is_loopback(self.host)

    @property
    def has_tls(self) -> bool:
        return self.protocol.endswith("SSL")

    @property
    def has_sasl(self) -> bool:
        return self.protocol.startswith("SASL")

    def __repr__(self) -> str:
        return f"{self.name}://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Listener) and repr(self) == repr(other) and self.protocol == other.protocol

    def __hash__(self) -> int:
        return hash(repr(self))


def is_loopback(host: str) -> bool:
    """Whether only this host can reach an address or name."""
    return host in ("localhost", "::1") or (host.startswith("127.") and _family(host) == "IPv4")


def parse_protocol_map(text: str) -> dict[str, str]:
    """``NAME:PROTOCOL,...`` as a dict, names and protocols in upper case."""
    protocols: dict[str, str] = {}
    for pair in _items(text):
        name, colon, protocol = pair.partition(":")
        name, protocol = name.strip().upper(), protocol.strip().upper()
        if not colon or not name or protocol not in SECURITY_PROTOCOLS:
            raise ConfigError(
                f"Invalid value {text} for configuration listener.security.protocol.map: {pair} is not"
                f" NAME:PROTOCOL with a protocol among {', '.join(SECURITY_PROTOCOLS)}"
            )
        protocols[name] = protocol
    return protocols


def parse_listeners(key: str, text: str, protocols: dict[str, str], *, is_advertised: bool = False) -> list[Listener]:
    """``NAME://host:port,...`` in order. Raises ConfigError naming ``key`` and the item that is wrong."""
    found: list[Listener] = []
    for item in _items(text):
        name, separator, address = item.partition("://")
        host, colon, port_text = address.rpartition(":")
        digits = port_text.removeprefix("-")
        if not (separator and colon and name.strip() and digits.isascii() and digits.isdigit()):
            raise _wrong(key, text, f"{item} is not NAME://host:port, as in PLAINTEXT://localhost:9092")
        name = name.strip().upper()
        if name not in protocols:
            raise _wrong(
                key, text, f"No security protocol defined for listener {name}; add it to listener.security.protocol.map"
            )
        port = int(digits) if len(digits) <= MAX_PORT_DIGITS and digits == port_text else -1
        if not 0 <= port <= 65535:
            raise _wrong(key, text, f"port {port_text} is not between 0 and 65535")
        host = host[1:-1] if host.startswith("[") and host.endswith("]") else host
        if _HOST.fullmatch(host) is None:
            shown = ascii(host[:MAX_HOST])
            raise _wrong(key, ascii(text[:MAX_HOST]), f"{shown} is no host: letters, digits and - % . _ : make one")
        if is_advertised and host in ("0.0.0.0", "::"):  # noqa: S104
            raise _wrong(key, text, f"{host} cannot be advertised, give the address that clients connect to")
        found.append(Listener(name, host, port, protocols[name]))
    _check_duplicates(key, text, found, check_ports=not is_advertised)
    return found


def parse_address(key: str, text: str) -> tuple[str, int]:
    """(host, port) of ``host:port``; an empty host is every interface, port 0 any that is free. Raises ConfigError."""
    host, colon, digits = text.strip().rpartition(":")
    if not (colon and digits.isascii() and digits.isdigit()) or (":" in host and not host.startswith("[")):
        raise _wrong(key, text, "it is not host:port, as in localhost:9404")
    port = int(digits) if len(digits) <= MAX_PORT_DIGITS else -1
    if not 0 <= port <= 65535:
        raise _wrong(key, text, f"port {digits} is not between 0 and 65535")
    return host[1:-1] if host.startswith("[") and host.endswith("]") else host, port


def _check_duplicates(key: str, text: str, found: list[Listener], *, check_ports: bool) -> None:
    names = [listener.name for listener in found]
    if len(set(names)) != len(names):
        raise _wrong(key, text, "each listener must have a different name")
    if not check_ports:
        return
    families: dict[int, list[str]] = {}
    for listener in found:
        if listener.port:
            families.setdefault(listener.port, []).append(_family(listener.host))
    for port, on_port in families.items():
        if len(on_port) > 1 and sorted(on_port) != ["IPv4", "IPv6"]:
            raise _wrong(
                key,
                text,
                f"each listener must have a different port, but {len(on_port)} have {port}; only one on an IPv4 and "
                "one on an IPv6 address may share it",
            )


def _family(host: str) -> str:
    """The family of a literal address, IPv4 or IPv6; "" for a host name and for every interface."""
    if ":" in host:
        return "IPv6"
    return "IPv4" if host and host.replace(".", "").isdigit() else ""


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def _wrong(key: str, text: str, reason: str) -> ConfigError:
    shown = text or '""'
    return ConfigError(f"Invalid value {shown} for configuration {key}: {reason}")
