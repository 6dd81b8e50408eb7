"""What ``kafkastore dev --file`` reads, in TOML or, by the ending ``.json``, in JSON. Everything may be left out::

    brokers = 1                                # more make a cluster
    security_protocol = "SASL_PLAINTEXT"       # PLAINTEXT, SSL, SASL_SSL
    sasl_mechanism = "SCRAM-SHA-512"           # PLAIN, SCRAM-SHA-256
    client_certificates = false                # each user gets one; with SSL and SASL_SSL

    [config]                                   # keys of the brokers
    "log.retention.ms" = 60000

    [users]                                    # name = password; the first may do everything
    admin = "admin-secret"
    alice = "alice-secret"

    [[topics]]
    name = "orders"
    partitions = 3                             # 1
    replication_factor = 1                     # as many as there are brokers, three at most
    config = { "cleanup.policy" = "compact" }

    [[acls]]                                   # with one of them nobody but the first user may do what none allows
    principal = "User:alice"
    operation = "READ"
    resource_type = "TOPIC"
    resource_name = "orders"
    pattern_type = "LITERAL"                   # PREFIXED
    permission = "ALLOW"                       # DENY
    host = "*"

A key that is none of these refuses the file, with one sentence.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final

from kafkastore.acl_words import OPERATIONS, PATTERN_TYPES, PERMISSIONS, RESOURCE_TYPES
from kafkastore.errors import StartupError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
TOPIC_LIMIT_MS: Final = 30_000
ROWS: Final[Mapping[str, Mapping[str, type]]] = {
    "topics": {"name": str, "partitions": int, "replication_factor": int, "config": dict},
    "acls": dict.fromkeys(
        ("principal", "operation", "resource_type", "resource_name", "pattern_type", "permission", "host"), str
    ),
}
"""The keys of a row of each list."""
NUMBERS: Final = range(-1, 1 << 31)


@dataclass(frozen=True)
class Description:
    """See the module."""

    brokers: int = 1
    security_protocol: str = "PLAINTEXT"
    sasl_mechanism: str = "PLAIN"
    client_certificates: bool = False
    config: dict[str, Any] = field(default_factory=dict)
    users: dict[str, str] = field(default_factory=dict)
    topics: list[dict[str, Any]] = field(default_factory=list)
    acls: list[dict[str, Any]] = field(default_factory=list)

    def arguments(self) -> dict[str, Any]:
        """Of ``Broker`` and ``Cluster``, but for ``config``."""
        names = ("security_protocol", "sasl_mechanism", "client_certificates", "users")
        return {name: getattr(self, name) for name in names}

    def requests(self) -> Iterator[tuple[str, int, Mapping[str, Any]]]:
        """What a started broker is asked for: (API, version, fields)."""
        if self.topics:
            yield "CreateTopics", 7, {"topics": [_topic(one) for one in self.topics], "timeout_ms": TOPIC_LIMIT_MS}
        if self.acls:
            yield "CreateAcls", 3, {"creations": [_acl(one) for one in self.acls]}


def read_description(path: str) -> Description:
    """Raises StartupError."""
    try:
        with open(path, "rb") as file:
            found = json.load(file) if path.endswith(".json") else tomllib.load(file)
    except OSError as error:
        raise StartupError(f"--file {path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        kind = "JSON" if path.endswith(".json") else "TOML"
        reason = "it nests too deeply" if isinstance(error, RecursionError) else error
        raise StartupError(f"--file {path} is no {kind}: {reason}") from None
    if not isinstance(found, dict):
        raise StartupError(f"--file {path} is no table of keys; give one as in brokers = 1")
    kinds = {one.name: type(getattr(Description(), one.name)) for one in fields(Description)}
    _check(path, found, tuple(kinds))
    _check_kinds(path, found, kinds)
    _check_kinds(f"{path}: users", found.get("users", {}), dict.fromkeys(found.get("users", {}), str))
    for name, keys in ROWS.items():
        for one in found.get(name, ()):
            if not isinstance(one, dict) or (name == "topics" and "name" not in one):
                raise StartupError(f"--file {path}: {name} has {_shown(one)}; give a table with {', '.join(keys)}")
            _check(f"{path}: {name}", one, tuple(keys))
            _check_kinds(f"{path}: {name}", one, keys)
    description = Description(**found)
    if description.brokers < 1:
        raise StartupError(f"--file {path}: brokers={description.brokers} is no number of brokers; give 1 to 9")
    if description.acls:
        first = next(iter(description.users), None)
        if first is None:
            raise StartupError(
                f"--file {path}: acls need [users] and a security_protocol by which they show who they are"
            )
        secured = {"authorizer.class.name": AUTHORIZER, "super.users": f"User:{first}"}
        description.config.update(secured | description.config)
    return description


def _check_kinds(where: str, found: Mapping[str, Any], kinds: Mapping[str, type]) -> None:
    for key, value in found.items():
        kind = kinds[key]
        if type(value) is not kind or (kind is int and value not in NUMBERS):
            raise StartupError(f"--file {where}: {key}={_shown(value)} is no {_KINDS[kind]}")


def _shown(value: Any) -> str:
    """As JSON; what TOML has beside it, such as a date, as text."""
    return json.dumps(value, default=str)


_KINDS: Final = {bool: "true or false", int: "number", str: "text", dict: "table", list: "list of tables"}


def _check(where: str, found: Mapping[str, Any], keys: tuple[str, ...]) -> None:
    unknown = [key for key in found if key not in keys]
    if unknown:
        raise StartupError(f"--file {where}: {unknown[0]} is no key; give {', '.join(keys)}")


def _topic(one: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": one["name"],
        "num_partitions": one.get("partitions", 1),
        "replication_factor": one.get("replication_factor", -1),
        "assignments": (),
        "configs": [{"name": key, "value": str(value)} for key, value in one.get("config", {}).items()],
    }


def _acl(one: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "resource_type": _number("resource_type", one.get("resource_type", "TOPIC"), RESOURCE_TYPES),
        "resource_name": one.get("resource_name", "*"),
        "resource_pattern_type": _number("pattern_type", one.get("pattern_type", "LITERAL"), PATTERN_TYPES),
        "principal": one.get("principal", "User:*"),
        "host": one.get("host", "*"),
        "operation": _number("operation", one.get("operation", "ALL"), OPERATIONS),
        "permission_type": _number("permission", one.get("permission", "ALLOW"), PERMISSIONS),
    }


def _number(key: str, name: str, names: Mapping[int, str]) -> int:
    """Of one of Kafka's names, however it is written: READ, Read. Raises StartupError."""
    for number, known in names.items():
        if known.upper() == str(name).upper().replace("_", ""):
            return number
    raise StartupError(f"acls: {key}={name} is none of {', '.join(names.values())}")
