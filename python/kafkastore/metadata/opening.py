"""Opens the metadata store that the configuration names; the modules of the other store are not imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafkastore.config import BrokerConfig
    from kafkastore.metadata.store import MetadataStore


def open_store(config: BrokerConfig) -> MetadataStore:
    """ZooKeeper with ``zookeeper.connect``, else the SQLite file. Raises ConfigError, StartupError."""
    if config.get("zookeeper.connect") is not None:
        from kafkastore.metadata.zookeeper import ZookeeperStore
        from kafkastore.metadata.zookeeper_settings import read_settings

        return ZookeeperStore(read_settings(config.get))
    from kafkastore.metadata.sqlite import SqliteStore

    timeout_ms = config.get_int("zookeeper.session.timeout.ms")
    return SqliteStore(
        config.metadata_path, config.metadata_setting, session_timeout_ms=timeout_ms, is_shared=config.is_member
    )
