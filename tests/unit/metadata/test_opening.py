"""Which metadata store a configuration names; the driver of the other one is not imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from kafkastore.config import BrokerConfig
from kafkastore.metadata.opening import open_store
from kafkastore.metadata.sqlite import SqliteStore
from kafkastore.metadata.zookeeper import ZookeeperStore


def config(folder: Path, **more: str) -> BrokerConfig:
    return BrokerConfig(
        {"log.dirs": str(folder), "node.id": "1"} | {key.replace("__", "."): one for key, one in more.items()}
    )


def test_zookeeper_is_used_where_it_is_named(tmp_path: Path) -> None:
    named = config(tmp_path, zookeeper__connect="zk:2181", kafkastore__metadata__path=str(tmp_path / "unused"))
    assert isinstance(open_store(named), ZookeeperStore)
    assert named.is_member


def test_sqlite_file_is_used_without_zookeeper_and_makes_a_member_only_when_named(tmp_path: Path) -> None:
    named, alone = config(tmp_path, kafkastore__metadata__path=str(tmp_path / "shared")), config(tmp_path)
    assert isinstance(open_store(named), SqliteStore)
    assert isinstance(open_store(alone), SqliteStore)
    assert (named.is_member, alone.is_member) == (True, False)


def test_broker_with_a_file_does_not_import_the_client_of_zookeeper(tmp_path: Path) -> None:
    code = (
        "import sys; from kafkastore.config import BrokerConfig; from kafkastore.metadata.opening import open_store;"
        f" open_store(BrokerConfig({{'log.dirs': {str(tmp_path)!r}, 'node.id': '1'}}));"
        " sys.exit('kazoo' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
