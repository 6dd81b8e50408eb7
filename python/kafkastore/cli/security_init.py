"""``kafkastore security init``: the files of one broker that lets in nobody who has not proven who they are.

::

    DIR/server.properties       SASL_SSL and SSL, an authorizer, one user who may do everything
    DIR/ca.pem, ca.key          the authority; whoever has its key can be any user: keep it elsewhere
    DIR/broker.pem              the broker's certificate and key
    DIR/users/U/client.properties, kcat.conf    the password, for Java's and for librdkafka's programs
    DIR/users/U/certificate.pem                 the certificate and key
    DIR/data/                   the log directory, with the users in the metadata store

The folder is made whole or not at all, and only its owner reads it.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import secrets
import shlex
import shutil
import string
import sys
import tempfile
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkastore._core import Security, StartError, issue_certificates
from kafkastore.cli.cluster import number_of
from kafkastore.config import BrokerConfig
from kafkastore.config.listeners import is_loopback
from kafkastore.dynamic_config.config_nodes import edit_nodes
from kafkastore.dynamic_config.entity_names import sanitize
from kafkastore.dynamic_config.hosts import address_of
from kafkastore.dynamic_config.scram_credentials import MECHANISMS, MIN_ITERATIONS, USERS, Credential, encode_credential
from kafkastore.errors import KafkastoreError
from kafkastore.metadata.nodes import decode_config
from kafkastore.metadata.opening import open_store

if TYPE_CHECKING:
    from collections.abc import Mapping

MECHANISM: Final = 2
LAST_PORT: Final = 65_535
MAX_DAYS: Final = 36_500
_PASSWORD_BYTES: Final = 24
# as Kafka's tools make them: a client that asks for a user who does not exist gets a salt of the same form
_SALT_DIGITS: Final = string.digits + string.ascii_lowercase
_SALT_BYTES: Final = 26
_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_HOST: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*")


class SecurityInitError(KafkastoreError):
    """A reason to make nothing."""


class FolderOptions(NamedTuple):
    """The command line; what a verb has not is empty."""

    folder: str
    days: str
    hosts: str = ""
    users: str = ""
    port: str = ""
    ca_key: str = ""


def run(options: FolderOptions) -> None:
    folder = Path(options.folder).absolute()
    hosts, users = items_of("--hosts", options.hosts), items_of("--users", options.users)
    port = number_of("--port", options.port, 1, LAST_PORT - 1)
    days = days_of(options)
    if folder.exists():
        raise SecurityInitError(f"--folder {folder} exists; give another, or remove it")
    if "," in str(folder):
        raise SecurityInitError(f"--folder {folder} has a comma, which separates directories in log.dirs; give another")
    passwords = {user: new_password() for user in users}
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=".security-", dir=folder.parent))  # mode 0700
        try:
            _write(partial, folder, hosts, passwords, port, days)
            partial.rename(folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    except StartError as error:
        raise SecurityInitError(str(error)) from None
    except OSError as error:
        raise SecurityInitError(f"--folder {folder} cannot be written ({error.strerror or error})") from None
    _say(folder, hosts[0], port, users)


def days_of(options: FolderOptions) -> int:
    return number_of("--days", options.days, 1, MAX_DAYS)


def new_password() -> str:
    return secrets.token_urlsafe(_PASSWORD_BYTES)


def items_of(key: str, text: str) -> list[str]:
    """Users, or hosts for ``--hosts``, each once. Raises SecurityInitError."""
    found = [one.strip() for one in text.split(",")]
    is_right = _is_host if key == "--hosts" else _is_user
    wrong = [one for one in found if not is_right(one)]
    if wrong:
        kind = "names or addresses of hosts" if key == "--hosts" else "names of letters, digits, '.', '-' and '_'"
        raise SecurityInitError(f"{key} {text} has {wrong[0]!r}; give {kind}")
    if len(set(found)) < len(found):
        raise SecurityInitError(f"{key} {text} names one twice; give each once")
    return found


def _is_user(text: str) -> bool:
    return _NAME.fullmatch(text) is not None and text not in (".", "..")


def _is_host(text: str) -> bool:
    """An address, or a name that is none by its last part."""
    if address_of(text) is not None:
        return True
    return _HOST.fullmatch(text) is not None and not text.rpartition(".")[2].isdigit()


def _write(partial: Path, folder: Path, hosts: list[str], passwords: dict[str, str], port: int, days: int) -> None:
    """Fills ``partial``, which becomes ``folder``."""
    authority, broker, users = issue_certificates(hosts, list(passwords), int(time.time()), days)
    write_file(partial / "ca.pem", authority[0])
    write_file(partial / "ca.key", authority[1])
    write_file(partial / "broker.pem", "".join(broker))
    write_file(partial / "server.properties", _properties(_broker(folder, hosts, port, next(iter(passwords)))))
    (partial / "users").mkdir(mode=0o700)
    bootstrap = f"{bracketed(hosts[0])}:{port}"
    for (user, password), pair in zip(passwords.items(), users, strict=True):
        write_user(partial / "users" / user, folder, bootstrap, user, password, pair)
    config = BrokerConfig(_broker(partial, hosts, port, next(iter(passwords))))
    for directory in config.log_dirs:
        Path(directory).mkdir(mode=0o700)
    asyncio.run(store_users(config, passwords))


def write_user(home: Path, folder: Path, bootstrap: str, user: str, password: str, pair: tuple[str, str]) -> None:
    """The files of a user; ``pair`` is the certificate and its key."""
    home.mkdir(mode=0o700)
    write_file(home / "certificate.pem", "".join(pair))
    write_file(home / "client.properties", _properties(_java(folder, user, password)))
    write_file(home / "kcat.conf", _properties(_librdkafka(folder, bootstrap, user, password)))


def _broker(folder: Path, hosts: list[str], port: int, first: str) -> dict[str, str]:
    name = bracketed(hosts[0])
    own = name if ":" in name else "127.0.0.1"
    at = own if all(map(is_loopback, hosts)) else ""
    return {
        "node.id": "1",
        "listeners": f"SASL_SSL://{at}:{port},SSL://{at}:{port + 1}",
        "advertised.listeners": f"SASL_SSL://{name}:{port},SSL://{name}:{port + 1}",
        "inter.broker.listener.name": "SASL_SSL",
        "sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(folder / "broker.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(folder / "ca.pem"),
        "listener.name.ssl.ssl.client.auth": "required",
        "listener.name.ssl.ssl.principal.mapping.rules": "RULE:^CN=([^,]*)$/$1/",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": f"User:{first}",
        "log.dirs": str(folder / "data"),
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
    }


def _java(folder: Path, user: str, password: str) -> dict[str, str]:
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
        f'username="{user}" password="{password}";',
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(folder / "ca.pem"),
    }


def _librdkafka(folder: Path, bootstrap: str, user: str, password: str) -> dict[str, str]:
    return {
        "bootstrap.servers": bootstrap,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": user,
        "sasl.password": password,
        "ssl.ca.location": str(folder / "ca.pem"),
    }


async def store_users(config: BrokerConfig, passwords: Mapping[str, str]) -> None:
    """Users that there are not yet, in the metadata store; brokers that run hear of them. Raises SecurityInitError for
    one that there is, and KafkastoreError when the store cannot be written; then none was added."""
    credentials = {sanitize(user): encode_credential(credential_of(password)) for user, password in passwords.items()}
    mechanism = MECHANISMS[MECHANISM]
    store = open_store(config)
    await store.connect()
    try:
        nodes = await store.get_many([f"{USERS}/{name}" for name in credentials])
        for user, node in zip(passwords, nodes, strict=True):
            if node is not None and mechanism in decode_config(node.data):
                raise SecurityInitError(f"--users: there is a user {user} already; give another name")
        edits = {name: partial(_with, mechanism, text) for name, text in credentials.items()}
        outcomes = await edit_nodes(store, "users", edits)
        failed = [one for one in outcomes.values() if isinstance(one, KafkastoreError)]
        if failed:
            with suppress(KafkastoreError):
                await edit_nodes(store, "users", dict.fromkeys(credentials, partial(_without, mechanism)))
            raise failed[0]
    finally:
        await store.close()


def _with(mechanism: str, text: str, found: dict[str, str]) -> dict[str, str]:
    return found | {mechanism: text}


def _without(mechanism: str, found: dict[str, str]) -> dict[str, str]:
    found.pop(mechanism, None)
    return found


def credential_of(password: str) -> Credential:
    salt = "".join(secrets.choice(_SALT_DIGITS) for _ in range(_SALT_BYTES)).encode()
    salted = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, MIN_ITERATIONS)
    return Credential(salt, *Security.scram_keys(MECHANISM, salted), MIN_ITERATIONS)


def _properties(pairs: dict[str, str]) -> str:
    return "".join(f"{key}={value}\n" for key, value in pairs.items())


def bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def write_file(path: Path, content: str) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(content)


def _say(folder: Path, host: str, port: int, users: list[str]) -> None:
    at, first = shlex.quote(str(folder)), users[0]
    sys.stdout.write(
        f"kafkastore broker {at}/server.properties\n"
        f"kcat -F {at}/users/{first}/kcat.conf -L\n"
        f"kafka-topics.sh --bootstrap-server {bracketed(host)}:{port} "
        f"--command-config {at}/users/{first}/client.properties --list\n"
    )
    sys.stderr.write(
        f"{first} may do everything, {', '.join(users[1:]) or 'nobody else'} what ACLs allow. Keep {folder}/ca.key "
        "elsewhere: whoever has it can be any user.\n"
    )
