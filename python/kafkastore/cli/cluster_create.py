"""``kafkastore cluster create``: the properties files of the brokers of a new cluster, all of them or none."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from kafkastore.admin.cluster_client import AdminError
from kafkastore.cli.cluster import number_of
from kafkastore.config import BrokerConfig

if TYPE_CHECKING:
    from argparse import Namespace

MAX_BROKERS = 1000
LAST_PORT = 65_535
MAX_ID = 2**31 - 1


def run(options: Namespace) -> int:
    folder = Path(options.folder).absolute()
    files = _files(options, folder)
    made = [name for name in files if (folder / name).exists()]
    if made:
        raise AdminError(f"--folder {folder} has {made[0]} already; give another folder, or another --first-id")
    _write(folder, files)
    for name in files:
        sys.stdout.write(f"kafkastore broker {folder / name / 'server.properties'}\n")
    return 0


def _files(options: Namespace, folder: Path) -> dict[str, str]:
    """The text of each broker's file, by the name of the broker's folder."""
    count = number_of("--brokers", options.brokers, 1, MAX_BROKERS)
    first_id = number_of("--first-id", options.first_id, 0, MAX_ID - count)
    first_port = number_of("--first-port", options.first_port, 1, LAST_PORT)
    hosts = _one_for_each("--hosts", options.hosts, count, may_be_one=True)
    racks = _one_for_each("--racks", options.racks, count) if options.racks else []
    if len(set(hosts)) > 1 and not options.zookeeper:
        raise AdminError(
            f"--hosts {options.hosts} are several and an SQLite file is shared on one host only; give --zookeeper HOST:PORT/PATH"
        )
    files = {}
    taken: dict[str, int] = {}
    for number, host in enumerate(hosts):
        port = first_port + taken.get(host, 0)
        taken[host] = taken.get(host, 0) + 1
        if port > LAST_PORT:
            raise AdminError(f"--first-port {first_port} leaves no port for all of {count} brokers; give a lower one")
        home = folder / f"broker-{first_id + number}"
        log_dirs = [str(home / one) for one in _one_for_each("--log-dirs", options.log_dirs, None)]
        factor = min(3, count)
        address = f"[{host}]" if ":" in host else host
        properties = {
            "node.id": str(first_id + number),
            "listeners": f"PLAINTEXT://{address}:{port}",
            "log.dirs": ",".join(log_dirs),
            **({"broker.rack": racks[number]} if racks else {}),
            **_store(options, folder),
            "default.replication.factor": str(factor),
            "offsets.topic.replication.factor": str(factor),
            "min.insync.replicas": str(max(1, factor - 1)),
        }
        BrokerConfig(properties)  # raises what the broker would refuse
        files[home.name] = "".join(f"{key}={_escaped(value)}\n" for key, value in properties.items())
    return files


def _store(options: Namespace, folder: Path) -> dict[str, str]:
    if options.zookeeper:
        return {"zookeeper.connect": options.zookeeper}
    return {"kafkastore.metadata.path": str(folder / "metadata.sqlite")}


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")


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


def _write(folder: Path, files: dict[str, str]) -> None:
    """All in a folder beside, then each in its place."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=".create-", dir=folder))
        try:
            for name, text in files.items():
                (partial / name).mkdir()
                (partial / name / "server.properties").write_text(text)
            for name in files:
                (partial / name).rename(folder / name)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    except OSError as error:
        raise AdminError(f"--folder {folder} cannot be written to ({error.strerror or error}); give another") from None
