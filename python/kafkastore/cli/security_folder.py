"""``kafkastore security add-user``, ``add-host`` and ``renew``: more of the folder that ``init`` has made.

A file is replaced whole, by a rename, and keeps its owner. A broker that runs on the folder takes users from the
metadata store and its certificate from the file.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import ssl
import stat
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kafkastore._core import StartError, certificate_hosts, issue_certificates
from kafkastore.cli.security_init import (
    FolderOptions,
    SecurityInitError,
    bracketed,
    days_of,
    items_of,
    new_password,
    store_users,
    write_file,
    write_user,
)
from kafkastore.config import BrokerConfig
from kafkastore.config.listeners import is_loopback
from kafkastore.plain_files import sync_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Pair = tuple[str, str]
    """A certificate and its private key, in PEM."""

P_256: Final = bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d030107034200")
"""What a public key on P-256 begins with in a certificate; 65 bytes follow."""

CERTIFICATE: Final = "certificate.pem"


class _Folder:
    """One that ``init`` has made."""

    def __init__(self, options: FolderOptions) -> None:
        self.path = Path(options.folder).absolute()
        self._key_path = Path(options.ca_key or self.path / "ca.key")
        self._days = days_of(options)
        for name in ("server.properties", "ca.pem", "broker.pem", "users"):
            if not (self.path / name).exists():
                raise SecurityInitError(f"--folder {self.path} has no {name}; give a folder that security init made")

    def issue(self, hosts: list[str], users: list[str]) -> tuple[Pair, Pair, list[Pair]]:
        """Of the folder's authority: its own, the broker's, the users'."""
        key = _read(self._key_path, "give the authority's key with --ca-key")
        try:
            issued = issue_certificates(hosts, users, int(time.time()), self._days, key)
        except StartError as error:
            raise SecurityInitError(f"{self._key_path}: {error}") from None
        ca = self.path / "ca.pem"
        if _public_key(issued[0][0]) != _public_key(_read(ca, "put back the one that init made")):
            raise SecurityInitError(f"{self._key_path} is not the key of {ca}; give the authority's key with --ca-key")
        return issued

    def hosts(self) -> list[str]:
        """Those of the broker's certificate."""
        found = certificate_hosts(_read(self.path / "broker.pem", "put back the one that init made").encode())
        if found is None:
            raise SecurityInitError(f"{self.path}/broker.pem has no certificate; put back the one that init made")
        return found

    def users(self) -> list[str]:
        """Those with a certificate."""
        return sorted(one.parent.name for one in (self.path / "users").glob(f"*/{CERTIFICATE}"))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One command at a time replaces files."""
        with open(self.path / "server.properties", "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def replace(self, files: Mapping[Path, str]) -> None:
        try:
            replace_files(files)
        except OSError as error:
            raise self.refusal(error) from None

    def refusal(self, error: OSError) -> SecurityInitError:
        return SecurityInitError(f"--folder {self.path} cannot be written ({error.strerror or error})")


def add_users(options: FolderOptions) -> None:
    folder = _Folder(options)
    users = items_of("--users", options.users)
    homes = [folder.path / "users" / user for user in users]
    for home in homes:
        if home.exists():
            raise SecurityInitError(f"--users: {home} is there already; give another name")
    config = BrokerConfig.load(str(folder.path / "server.properties"), is_start=False)
    at = next((one for one in config.advertised_listeners if one.has_sasl), None)
    if at is None:
        raise SecurityInitError(f"{folder.path}/server.properties has no listener with SASL; passwords are for one")
    bootstrap = f"{bracketed(at.host)}:{at.port}"
    passwords = {user: new_password() for user in users}
    _, _, pairs = folder.issue([], users)
    moved: list[Path] = []
    try:
        partial = Path(tempfile.mkdtemp(prefix=".new-", dir=folder.path / "users"))
        try:
            for (user, password), pair in zip(passwords.items(), pairs, strict=True):
                write_user(partial / user, folder.path, bootstrap, user, password, pair)
                _give_to_owner_of(folder.path / "users", [partial / user, *(partial / user).iterdir()])
            for user, home in zip(users, homes, strict=True):
                (partial / user).rename(home)
                moved.append(home)
            asyncio.run(store_users(config, passwords))
        except BaseException:
            for home in moved:  # nobody has these passwords
                shutil.rmtree(home, ignore_errors=True)
            raise
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    except OSError as error:
        raise folder.refusal(error) from None
    for home in homes:
        sys.stdout.write(f"kcat -F {home}/kcat.conf -L\n")
    sys.stderr.write(f"{', '.join(users)} may do what ACLs allow.\n")


def add_hosts(options: FolderOptions) -> None:
    folder = _Folder(options)
    added = items_of("--hosts", options.hosts)
    with folder.locked():
        before = folder.hosts()
        hosts = list(dict.fromkeys([*before, *added]))
        _, broker, _ = folder.issue(hosts, [])
        folder.replace({folder.path / "broker.pem": "".join(broker)})
    sys.stdout.write(f"{folder.path}/broker.pem is for {', '.join(hosts)}\n")
    config = BrokerConfig.load(str(folder.path / "server.properties"), is_start=False)
    if all(map(is_loopback, before)) and not all(map(is_loopback, hosts)):
        shown = ",".join(f"{listener.name}://:{listener.port}" for listener in config.listeners)
        name = bracketed(next(host for host in added if not is_loopback(host)))
        advertised = ",".join(f"{listener.name}://{name}:{listener.port}" for listener in config.listeners)
        sys.stderr.write(
            f"The broker listens for this host alone: set listeners={shown} and advertised.listeners={advertised} in "
            f"{folder.path}/server.properties, and start it again.\n"
        )


def renew(options: FolderOptions) -> None:
    folder = _Folder(options)
    with folder.locked():
        users = folder.users()
        authority, broker, pairs = folder.issue(folder.hosts(), users)
        files = {folder.path / "ca.pem": authority[0], folder.path / "broker.pem": "".join(broker)}
        for user, pair in zip(users, pairs, strict=True):
            files[folder.path / "users" / user / CERTIFICATE] = "".join(pair)
        folder.replace(files)
    for path in files:
        sys.stdout.write(f"{path}\n")
    sys.stderr.write("Clients that have copies of ca.pem or of a certificate need these before the old ones end.\n")


def _read(path: Path, fix: str) -> str:
    if path.exists() and not path.is_file():
        raise SecurityInitError(f"{path} is no file; {fix}")
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError as error:
        raise SecurityInitError(f"{path} cannot be read ({error.strerror}); {fix}") from None


def _public_key(certificate: str) -> bytes:
    """Empty for a certificate that ``init`` has not made."""
    try:
        der = ssl.PEM_cert_to_DER_cert(certificate.strip())
    except ValueError:
        return b""
    _, begin, rest = der.partition(P_256)
    return rest[:65] if begin else b""


def replace_files(files: Mapping[Path, str]) -> None:
    """Each file is the old one or the new one at any time, also after a power loss. All are written before the first is
    replaced. Raises OSError."""
    new = {path: path.with_name(f".{path.name}.new") for path in files}
    try:
        for path, content in files.items():
            new[path].unlink(missing_ok=True)
            write_file(new[path], content)
            _give_to_owner_of(path, [new[path]])
            new[path].chmod(stat.S_IMODE(path.stat().st_mode))
            sync_path(str(new[path]))
        for path in files:
            os.replace(new[path], path)
            sync_path(str(path.parent))
    finally:
        for one in new.values():
            one.unlink(missing_ok=True)


def _give_to_owner_of(path: Path, made: list[Path]) -> None:
    """As root for another user, whose broker reads them."""
    owner = path.stat()
    for one in made:
        mine = one.stat()
        if (mine.st_uid, mine.st_gid) != (owner.st_uid, owner.st_gid):
            os.chown(one, owner.st_uid, owner.st_gid)
