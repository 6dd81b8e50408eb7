"""Reads and checks the ``zookeeper.*`` settings: hosts, chroot, timeouts, credentials, TLS. Opens files, never a
connection.

The keys are Apache Kafka 3.9's; keystores and truststores are PEM. ``kafkastore.zookeeper.digest`` stands for Kafka's
JAAS file: a user and a password of ZooKeeper's digest scheme.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kafkastore.errors import ConfigError

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    Get = Callable[[str], Any]

DEFAULT_PORT = 2181

_TLS_VERSIONS = {"TLSv1.2": "TLSv1_2", "TLSv1.3": "TLSv1_3"}


class ZookeeperSettings(NamedTuple):
    hosts: str  # "host:port,host:port"
    chroot: str  # "" or "/a/b"
    session_timeout_ms: int
    connection_timeout_ms: int
    max_in_flight: int
    is_acl_set: bool
    digest: str | None  # "user:password"
    tls: ssl.SSLContext | None

    @property
    def host_count(self) -> int:
        return self.hosts.count(",") + 1


def read_settings(get: Get) -> ZookeeperSettings:
    """From a configuration by Kafka's names (``BrokerConfig.get``). Raises ConfigError naming the key."""
    hosts, chroot = parse_connect(get("zookeeper.connect") or "")
    session_timeout_ms = get("zookeeper.session.timeout.ms")
    connection_timeout_ms = get("zookeeper.connection.timeout.ms")
    for name in ("zookeeper.session.timeout.ms", "zookeeper.connection.timeout.ms"):
        if get(name) is not None and get(name) <= 0:
            raise _invalid(name, get(name), "Value must be at least 1")
    digest = get("kafkastore.zookeeper.digest")
    if digest is not None and not all(digest.partition(":")):
        raise _invalid("kafkastore.zookeeper.digest", "[hidden]", "give it as user:password")
    if get("zookeeper.set.acl") and digest is None:
        raise _invalid(
            "zookeeper.set.acl", "true", "nodes need an owner; set kafkastore.zookeeper.digest to a user:password"
        )
    return ZookeeperSettings(
        hosts,
        chroot,
        session_timeout_ms,
        connection_timeout_ms or session_timeout_ms,
        get("zookeeper.max.in.flight.requests"),
        get("zookeeper.set.acl"),
        digest,
        _tls_context(get) if get("zookeeper.ssl.client.enable") else None,
    )


def parse_connect(text: str) -> tuple[str, str]:
    """Hosts with ports, and the chroot ("" for none), of ``h1:p1,h2:p2/chroot``. Raises ConfigError."""
    name = "zookeeper.connect"
    servers, slash, path = text.partition("/")
    hosts = []
    for one in servers.split(","):
        host, colon, port = one.strip().rpartition(":")
        if not colon or one.strip().endswith("]"):  # no port, or an IPv6 address without one
            host, port = one.strip(), str(DEFAULT_PORT)
        if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
            raise _invalid(name, text, "give it as host1:2181,host2:2181 with an optional /chroot at the end")
        hosts.append(f"{host}:{port}")
    chroot = (slash + path).rstrip("/")
    if "//" in chroot or any(part in (".", "..") for part in chroot.split("/")):
        raise _invalid(name, text, f"{slash + path} is not a path in ZooKeeper")
    return ",".join(hosts), chroot


def _tls_context(get: Get) -> ssl.SSLContext:
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    algorithm = get("zookeeper.ssl.endpoint.identification.algorithm") or ""
    if algorithm.upper() not in ("", "HTTPS"):
        raise _invalid("zookeeper.ssl.endpoint.identification.algorithm", algorithm, "give HTTPS, or nothing")
    context.check_hostname = bool(algorithm)
    _set_versions(context, get)
    ciphers = get("zookeeper.ssl.cipher.suites")
    if ciphers:
        _set_ciphers(context, ciphers)
    for name in ("zookeeper.ssl.crl.enable", "zookeeper.ssl.ocsp.enable"):
        if get(name):
            raise _invalid(name, "true", "revocation is not checked by this version; leave it false")
    _load_truststore(context, get)
    _load_keystore(context, get)
    return context


def _set_versions(context: ssl.SSLContext, get: Get) -> None:
    import ssl

    name = "zookeeper.ssl.enabled.protocols"
    versions = get(name)
    if not versions:
        name, versions = "zookeeper.ssl.protocol", [get("zookeeper.ssl.protocol")]
    for version in versions:
        if version not in _TLS_VERSIONS:
            raise _invalid(name, version, f"String must be one of: {', '.join(_TLS_VERSIONS)}")
    chosen = [getattr(ssl.TLSVersion, _TLS_VERSIONS[version]) for version in versions]
    context.minimum_version, context.maximum_version = min(chosen), max(chosen)


def _set_ciphers(context: ssl.SSLContext, ciphers: list[str]) -> None:
    import ssl

    try:
        context.set_ciphers(":".join(ciphers))
    except ssl.SSLError:
        raise _invalid("zookeeper.ssl.cipher.suites", ",".join(ciphers), "give OpenSSL's names") from None


def _load_truststore(context: ssl.SSLContext, get: Get) -> None:
    name = "zookeeper.ssl.truststore.location"
    location = get(name)
    if location is None:
        context.load_default_certs()
        return
    _check_type("zookeeper.ssl.truststore.type", get)
    try:
        context.load_verify_locations(location)
    except OSError as error:  # ssl.SSLError is one
        raise _invalid(name, location, f"it is no PEM file of certificates ({error.strerror or error})") from None


def _load_keystore(context: ssl.SSLContext, get: Get) -> None:
    name = "zookeeper.ssl.keystore.location"
    location = get(name)
    if location is None:
        return
    _check_type("zookeeper.ssl.keystore.type", get)
    password = get("zookeeper.ssl.keystore.password")
    try:
        context.load_cert_chain(location, password=password if password is not None else "")
    except OSError as error:
        reason = error.strerror or error
        raise _invalid(name, location, f"it is no PEM file of a key and its certificates ({reason})") from None


def _check_type(name: str, get: Get) -> None:
    kind = get(name)
    if kind is not None and kind.upper() != "PEM":
        raise _invalid(name, kind, "String must be one of: PEM")


def _invalid(name: str, value: object, reason: str) -> ConfigError:
    shown = '""' if value == "" else value
    return ConfigError(f"Invalid value {shown} for configuration {name}: {reason}")
