"""``kafkastore cluster create``: writes the properties files of the brokers of a new cluster, or of more brokers for a
cluster whose files are in the same folder; all of them or none. It starts nothing and connects to no broker.

Brokers reach each other on a listener of their own, and authenticate to each other with a secret in a file beside each
broker's properties. This command makes the secret, which is the same for the whole cluster; only the file's owner may
read it."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from kafkastore.admin.admin_client import AdminError
from kafkastore.cli.cluster import number_of
from kafkastore.config import BrokerConfig
from kafkastore.config.properties import parse_properties, properties_text
from kafkastore.config.secret import FILE_KEY, new_secret, read_secret, write_secret
from kafkastore.metadata.zookeeper_settings import read_settings

FILE = "server.properties"
SECRET_FILE = "inter-broker.secret"  # noqa: S105 - a name of a file
CLIENTS, BROKERS = "PLAINTEXT", "REPLICATION"
"""The names of the listeners for clients and for brokers."""

BROKER_PORTS_APART = 1000
"""The distance from a broker's port for clients to its port for brokers, without --first-broker-port: as many as there
may be brokers."""

MAX_BROKERS = 1000
LAST_PORT = 65_535
MAX_ID = 2**31 - 1


class CreateOptions(NamedTuple):
    """The command line."""

    folder: str
    brokers: str
    hosts: str
    first_id: str
    first_port: str
    first_broker_port: str | None
    racks: str | None
    installed_at: str | None
    log_dirs: str
    zookeeper: str | None


def run(options: CreateOptions) -> None:
    folder = Path(options.folder).absolute()
    there = _there(folder)
    files = _files(options, folder, len(there))
    made = [name for name in files if (folder / name).exists()]
    if made:
        raise AdminError(f"--folder {folder} has {made[0]} already; give another folder, or another --first-id")
    secret = _secret_of(folder, there)
    if secret is None:
        for properties in files.values():
            _share_listener(properties)
    for properties in files.values():
        _check(properties, there)
    if secret is None:
        sys.stderr.write(
            f"kafkastore cluster: the brokers in {folder} have no secret, so the new ones get none: whoever reaches "
            "their listener may act as a broker; page docs/clusters.md of the source says how to give them one\n"
        )
    _write(folder, files, secret)
    for name in files:
        sys.stdout.write(f"kafkastore broker {shlex.quote(str(folder / name / FILE))}\n")


def _files(options: CreateOptions, folder: Path, there: int) -> dict[str, dict[str, str]]:
    """The properties of each new broker, by the name of its folder. The cluster has ``there`` brokers already."""
    count = number_of("--brokers", options.brokers, 1, MAX_BROKERS)
    first_id = number_of("--first-id", options.first_id, 0, MAX_ID - count)
    first_port = number_of("--first-port", options.first_port, 1, LAST_PORT)
    first_broker_port = first_port + BROKER_PORTS_APART
    option = f"--first-port {first_port}"
    if options.first_broker_port is not None:
        first_broker_port = number_of("--first-broker-port", options.first_broker_port, 1, LAST_PORT)
        option += f" or --first-broker-port {first_broker_port}"
    hosts = _one_for_each("--hosts", options.hosts, count, may_be_one=True)
    racks = _one_for_each("--racks", options.racks, count) if options.racks else []
    if len(set(hosts)) > 1 and not options.zookeeper:
        raise AdminError(
            f"--hosts {options.hosts} are several and an SQLite file is shared on one host only; give --zookeeper "
            "HOST:PORT/PATH"
        )
    if "," in str(folder):
        raise AdminError(f"--folder {folder} has a comma, which separates directories in log.dirs; give another")
    at = folder if options.installed_at is None else Path(options.installed_at)
    if not at.is_absolute() or "," in str(at):
        raise AdminError(
            f"--installed-at {at} is no absolute path without a comma; give one, as in /var/lib/kafkastore"
        )
    factor = min(3, there + count)
    files = {}
    taken: dict[str, int] = {}
    for number, host in enumerate(hosts):
        port, broker_port = (first + taken.get(host, 0) for first in (first_port, first_broker_port))
        taken[host] = taken.get(host, 0) + 1
        if max(port, broker_port) > LAST_PORT:
            raise AdminError(
                f"{option} leaves no port for all of {count} brokers, of which each needs one for clients and one for "
                f"brokers ({BROKER_PORTS_APART} higher, without --first-broker-port); give a lower one"
            )
        home = at / f"broker-{first_id + number}"
        log_dirs = [str(home / one) for one in _one_for_each("--log-dirs", options.log_dirs, None)]
        address = f"[{host}]" if ":" in host else host
        files[home.name] = {
            "node.id": str(first_id + number),
            "listeners": f"{CLIENTS}://{address}:{port},{BROKERS}://{address}:{broker_port}",
            "listener.security.protocol.map": f"{CLIENTS}:PLAINTEXT,{BROKERS}:PLAINTEXT",
            "inter.broker.listener.name": BROKERS,
            FILE_KEY: str(home / SECRET_FILE),
            "log.dirs": ",".join(log_dirs),
            **({"broker.rack": racks[number]} if racks else {}),
            **_store(options, at),
            "default.replication.factor": str(factor),
            "offsets.topic.replication.factor": str(factor),
            "transaction.state.log.replication.factor": str(factor),
            "transaction.state.log.min.isr": str(max(1, factor - 1)),
            "min.insync.replicas": str(max(1, factor - 1)),
        }
    return files


def _there(folder: Path) -> dict[str, dict[str, str]]:
    """The properties of the brokers that have files in ``folder`` already, by the name of the broker's folder."""
    found = {}
    for path in sorted(folder.glob(f"broker-*/{FILE}")):
        try:
            found[path.parent.name] = parse_properties(path.read_text())
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8"
            raise AdminError(f"--folder: {path} cannot be read ({reason}); give another folder") from None
    return found


def _check(properties: dict[str, str], there: dict[str, dict[str, str]]) -> None:
    """Raises the error that the broker would raise at its start, and AdminError when the properties do not go with
    those of the existing brokers."""
    config = BrokerConfig(properties)
    if "zookeeper.connect" in properties:
        read_settings(config.get)
    for name, others in there.items():
        for key in ("zookeeper.connect", "kafkastore.metadata.path"):
            if others.get(key) != properties.get(key):
                raise AdminError(
                    f"--folder: {name} has {key}={others.get(key, '')}, and the new brokers would have"
                    f" {key}={properties.get(key, '')}, which is another cluster; give --zookeeper as for the first, "
                    "or another --folder"
                )
        common = _addresses(others) & _addresses(properties)
        if common:
            raise AdminError(
                f"--folder: {name} has listeners={others['listeners']}, and a new broker would listen at "
                f"{min(common)}, too; give another --first-port"
            )
        for key in ("inter.broker.listener.name", "listener.security.protocol.map"):
            if others.get(key) != properties.get(key):
                raise AdminError(
                    f"--folder: {name} has {key}={others.get(key, '')}, and the new brokers would have"
                    f" {key}={properties.get(key, '')}, where the others do not reach them; write the files of the new "
                    "ones by hand"
                )


def _share_listener(properties: dict[str, str]) -> None:
    """Gives a new broker one listener for clients and brokers, as in a cluster that was created before there were
    secrets."""
    properties["listeners"] = properties["listeners"].partition(",")[0]
    for key in ("listener.security.protocol.map", "inter.broker.listener.name", FILE_KEY):
        del properties[key]


def _addresses(properties: dict[str, str]) -> set[str]:
    return {one.partition("://")[2] for one in properties.get("listeners", "").split(",")} - {""}


def _secret_of(folder: Path, there: dict[str, dict[str, str]]) -> str | None:
    """The secret of the existing brokers; a new secret when there are no brokers yet; None when the existing brokers
    have no secret. Raises StartupError."""
    if not there:
        return new_secret()
    for name, properties in there.items():
        beside = folder / name / SECRET_FILE  # the file's own path may be of another host
        found = read_secret({**properties, FILE_KEY: str(beside)}.get if beside.exists() else properties.get)
        if found is not None:
            return found.text
    return None


def _store(options: CreateOptions, folder: Path) -> dict[str, str]:
    if options.zookeeper:
        return {"zookeeper.connect": options.zookeeper}
    return {"kafkastore.metadata.path": str(folder / "metadata.sqlite")}


def _one_for_each(key: str, text: str, count: int | None, *, may_be_one: bool = False) -> list[str]:
    items = [item.strip() for item in text.split(",")]
    wrong = [item for item in items if not item or any(character.isspace() for character in item)]
    if wrong:
        raise AdminError(f"{key} {text!r} has an empty item or one with a blank; give them separated by commas")
    if may_be_one and len(items) == 1 and count is not None:
        return items * count
    if count is not None and len(items) != count:
        raise AdminError(f"{key} {text} names {len(items)} and there are {count} brokers; give one for each")
    return items


def _write(folder: Path, files: dict[str, dict[str, str]], secret: str | None) -> None:
    """Writes all files into a temporary folder, then moves each broker's folder into its place."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=".create-", dir=folder))
        try:
            for name, properties in files.items():
                (partial / name).mkdir(mode=0o755)
                _write_file(partial / name / FILE, properties_text(properties))
                if secret is not None:
                    write_secret(partial / name / SECRET_FILE, secret)
            for name in files:
                (partial / name).rename(folder / name)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    except OSError as error:
        raise AdminError(f"--folder {folder} cannot be written to ({error.strerror or error}); give another") from None


def _write_file(path: Path, text: str) -> None:
    """Whatever the umask, nobody but the owner may change it."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "w") as file:
        file.write(text)
