"""The keys of Kafka 4's quorum (KIP-500, KIP-853), of which this version has none: a broker that they make a part of a
larger cluster must not start as a cluster of its own, where it would acknowledge records that the others do not have.
"""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import TYPE_CHECKING

from kafkastore.config.listeners import is_loopback, parse_address, parse_listeners
from kafkastore.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkastore.config.broker import BrokerConfig

ROLES_KEY = "process.roles"
VOTERS_KEY = "controller.quorum.voters"
BOOTSTRAP_KEY = "controller.quorum.bootstrap.servers"

_WHY = (
    "this version has no quorum of controllers, and this broker would be a cluster of its own beside the others; give "
    "the brokers one metadata store instead, zookeeper.connect or kafkastore.metadata.path"
)


def check_quorum(config: BrokerConfig, protocols: dict[str, str]) -> None:
    """Raises ConfigError for a broker without a shared metadata store whose keys name a controller other than itself.
    ``protocols`` are those of the listeners' names."""
    roles = config.get(ROLES_KEY)
    if roles and "broker" not in roles:
        raise _refused(config, ROLES_KEY, "this process would serve no clients")
    if config.is_member:
        return
    if roles and "controller" not in roles:
        raise _refused(config, ROLES_KEY, "the controllers are other processes")
    for voter in config.get(VOTERS_KEY) or []:
        node, at, address = voter.partition("@")
        if not at or not node.strip().isascii() or not node.strip().isdigit():
            raise _refused(config, VOTERS_KEY, f"{voter} is not id@host:port", why="")
        parse_address(VOTERS_KEY, address)
        if int(node) != config.node_id:
            raise _refused(
                config, VOTERS_KEY, f"voter {node.strip()} is not this broker, whose node.id is {config.node_id}"
            )
    servers = [server for server in config.get(BOOTSTRAP_KEY) or [] if server.strip()]
    if len(servers) > 1:
        raise _refused(config, BOOTSTRAP_KEY, "it names several controllers")
    for server in servers:
        host, port = parse_address(BOOTSTRAP_KEY, server)
        if not any(port == own and _is_here(host, names) for own, names in _controller_listeners(config, protocols)):
            raise _refused(config, BOOTSTRAP_KEY, f"{server} is not a controller listener of this broker")


def _refused(config: BrokerConfig, key: str, what: str, *, why: str = _WHY) -> ConfigError:
    shown = config.text(key) or '""'
    return ConfigError(f"Invalid value {shown} for configuration {key}: {what}" + (f"; {why}" if why else ""))


def _controller_listeners(config: BrokerConfig, protocols: dict[str, str]) -> Iterator[tuple[int, set[str]]]:
    """The port of each controller listener of this broker, with the hosts that it is given."""
    names = {name.upper() for name in config.get("controller.listener.names") or []}
    for key in ("listeners", "advertised.listeners"):
        text = config.text(key)
        for listener in parse_listeners(key, text, protocols) if text else []:
            if listener.name in names:
                yield listener.port, {listener.host}


def _is_here(host: str, given: set[str]) -> bool:
    """Whether ``host`` is this machine: given as a listener's, or an address that something here can listen at."""
    if host in given or is_loopback(host):
        return True
    with suppress(OSError):
        for family, kind, protocol, _, address in socket.getaddrinfo(host, 0, type=socket.SOCK_DGRAM):
            with suppress(OSError), socket.socket(family, kind, protocol) as probe:
                probe.bind(address)
                return True
    return False
