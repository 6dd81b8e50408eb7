"""``kafkastore security add-user``, ``add-host`` and ``renew``: more of the folder that ``init`` has made.

A file is replaced whole, by a rename. A broker that runs on the folder takes users from the metadata store and its
certificate from the file.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from kafkastore._core import StartError, certificate_hosts, issue_certificates
from kafkastore.cli.security_init import (
    MECHANISM,
    SecurityInitError,
    credential_of,
    days_of,
    items_of,
    new_password,
    write_file,
    write_user,
)
from kafkastore.config import BrokerConfig
from kafkastore.config.listeners import is_loopback
from kafkastore.configuration.config_nodes import edit_nodes
from kafkastore.configuration.entity_names import sanitize
from kafkastore.configuration.scram_credentials import MECHANISMS, encode_credential
from kafkastore.errors import KafkastoreError
from kafkastore.metadata.opening import open_store

if TYPE_CHECKING:
    from argparse import Namespace

    from kafkastore.configuration.config_nodes import Edit
    from kafkastore.configuration.scram_credentials import Credential

    Pair = tuple[str, str]
    """A certificate and its private key, in PEM."""


class _Folder:
    """One that ``init`` has made."""

    def __init__(self, options: Namespace) -> None:
        self.path = Path(options.folder).absolute()
        self._key_path = Path(options.ca_key or self.path / "ca.key")
        self._days = days_of(options)
        missing = [name for name in ("server.properties", "broker.pem", "users") if not (self.path / name).exists()]
        if missing:
            raise SecurityInitError(f"--folder {self.path} has no {missing[0]}; give a folder that security init made")

    def issue(self, hosts: list[str], users: list[str]) -> tuple[Pair, Pair, list[Pair]]:
        """Of the folder's authority: its own, the broker's, the users'."""
        try:
            key = self._key_path.read_text(encoding="ascii", errors="replace")
        except OSError as error:
            raise SecurityInitError(
                f"{self._key_path} cannot be read ({error.strerror}); give the authority's key with --ca-key"
            ) from None
        try:
            return issue_certificates(hosts, users, int(time.time()), self._days, key)
        except StartError as error:
            raise SecurityInitError(f"{self._key_path}: {error}") from None

    def hosts(self) -> list[str]:
        """Those of the broker's certificate."""
        found = certificate_hosts((self.path / "broker.pem").read_bytes())
        if found is None:
            raise SecurityInitError(f"{self.path}/broker.pem has no certificate; put back the one that init made")
        return found

    def users(self) -> list[str]:
        return sorted(one.name for one in (self.path / "users").iterdir() if not one.name.startswith("."))


def add_users(options: Namespace) -> int:
    folder = _Folder(options)
    users = items_of("--users", options.users)
    for user in users:
        if (folder.path / "users" / user).exists():
            raise SecurityInitError(f"--users: {folder.path}/users/{user} is there already; give another name")
    config = BrokerConfig.load(str(folder.path / "server.properties"))
    at = next(one for one in config.advertised_listeners if one.has_sasl)
    bootstrap = f"[{at.host}]:{at.port}" if ":" in at.host else f"{at.host}:{at.port}"
    passwords = {user: new_password() for user in users}
    _, _, pairs = folder.issue([], users)
    partial = Path(tempfile.mkdtemp(prefix=".new-", dir=folder.path / "users"))
    try:
        for (user, password), pair in zip(passwords.items(), pairs, strict=True):
            write_user(partial / user, folder.path, bootstrap, user, password, pair)
        asyncio.run(_store(config, {user: credential_of(password) for user, password in passwords.items()}))
        for user in users:
            (partial / user).rename(folder.path / "users" / user)
            sys.stdout.write(f"kcat -F {folder.path}/users/{user}/kcat.conf -L\n")
    except OSError as error:
        _refuse_to_write(folder, error)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    sys.stderr.write(f"{', '.join(users)} may do what ACLs allow.\n")
    return 0


async def _store(config: BrokerConfig, credentials: dict[str, Credential]) -> None:
    """All or none that are there already; brokers that run hear of them."""
    mechanism = MECHANISMS[MECHANISM]

    def adding(user: str) -> Edit:
        def add(found: dict[str, str]) -> dict[str, str]:
            if mechanism in found:
                raise SecurityInitError(f"--users: there is a user {user} already; give another name")
            return found | {mechanism: encode_credential(credentials[user])}

        return add

    store = open_store(config)
    await store.connect()
    try:
        outcomes = await edit_nodes(store, "users", {sanitize(user): adding(user) for user in credentials})
    finally:
        await store.close()
    for outcome in outcomes.values():
        if isinstance(outcome, KafkastoreError):
            raise outcome


def add_hosts(options: Namespace) -> int:
    folder = _Folder(options)
    before, added = folder.hosts(), items_of("--hosts", options.hosts)
    hosts = list(dict.fromkeys([*before, *added]))
    _, broker, _ = folder.issue(hosts, [])
    _replace(folder, {folder.path / "broker.pem": broker})
    sys.stdout.write(f"{folder.path}/broker.pem is for {', '.join(hosts)}\n")
    config = BrokerConfig.load(str(folder.path / "server.properties"))
    if all(map(is_loopback, before)) and not all(map(is_loopback, hosts)):
        shown = ",".join(f"{listener.name}://:{listener.port}" for listener in config.listeners)
        told = ",".join(f"{listener.name}://{added[0]}:{listener.port}" for listener in config.listeners)
        sys.stderr.write(
            f"The broker listens for this host alone: set listeners={shown} and advertised.listeners={told} in "
            f"{folder.path}/server.properties, and start it again.\n"
        )
    return 0


def renew(options: Namespace) -> int:
    folder = _Folder(options)
    users = folder.users()
    authority, broker, pairs = folder.issue(folder.hosts(), users)
    files: dict[Path, str | Pair] = {folder.path / "ca.pem": authority[0], folder.path / "broker.pem": broker}
    files |= {folder.path / "users" / user / "certificate.pem": pair for user, pair in zip(users, pairs, strict=True)}
    _replace(folder, files)
    for path in files:
        sys.stdout.write(f"{path}\n")
    sys.stderr.write("Clients that have copies of ca.pem or of a certificate need these before the old ones end.\n")
    return 0


def _replace(folder: _Folder, files: dict[Path, str | Pair] | dict[Path, Pair]) -> None:
    """Each file is the old one or the new one at any time."""
    try:
        for path, content in files.items():
            new = path.with_name(f".{path.name}.new")
            new.unlink(missing_ok=True)
            write_file(new, "".join(content))
            os.replace(new, path)
    except OSError as error:
        _refuse_to_write(folder, error)


def _refuse_to_write(folder: _Folder, error: OSError) -> NoReturn:
    raise SecurityInitError(f"--folder {folder.path} cannot be written ({error.strerror or error})") from None
