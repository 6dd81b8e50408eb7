"""A broker without sockets: real handlers, owners, controller and SQLite store over an engine in memory.

``ask`` takes the way of a request in ``server/kafka_apis.py``: kio bytes in, kio bytes out, at any version.
"""

from __future__ import annotations

import asyncio
import io
from importlib import import_module
from typing import TYPE_CHECKING, Any

from fake_engine import Request
from kio.serial import entity_reader, entity_writer

from kafkastore.config import BrokerConfig
from kafkastore.errors import KafkastoreError
from kafkastore.log.manager import LogManager
from kafkastore.metadata.image import MetadataImage
from kafkastore.metadata.sqlite import SqliteStore
from kafkastore.metadata.stored_topics import StoredTopics
from kafkastore.replica.manager import ReplicaManager
from kafkastore.server.config_changes import ConfigChanges
from kafkastore.server.context import BrokerServices, RequestContext
from kafkastore.server.dynamic_configs import DynamicConfigs
from kafkastore.server.error_response import error_response
from kafkastore.server.member import Member
from kafkastore.server.producer_ids import ProducerIds
from kafkastore.server.reconcile import Reconciled
from kafkastore.server.registry import APIS
from kafkastore.server.topics import Topics
from parity.kio_entities import build, load

from .admin_engine import AdminEngine

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping
    from pathlib import Path


class OneBroker:
    """Node 1 of one; ``properties`` are lines of server.properties."""

    def __init__(self, folder: Path, properties: Mapping[str, str] | None = None) -> None:
        self.loop = asyncio.new_event_loop()
        folder.mkdir(exist_ok=True)
        given = {
            "node.id": "1",
            "log.dirs": str(folder),
            "listeners": "PLAINTEXT://127.0.0.1:9092",
            "num.partitions": "1",
        }
        services = self.services = BrokerServices()
        services.loop = self.loop
        services.config = BrokerConfig({**given, **(properties or {})})
        services.cluster_id = "MkU3OEVBNTcwNTJENDM2Qg"
        services.node_id = 1
        self.engine = AdminEngine(1, services.config.log_dirs)
        services.engine = self.engine  # type: ignore[assignment]
        services.store = SqliteStore(str(folder / "metadata.sqlite"))
        services.dynamic_configs = DynamicConfigs(services)
        services.producer_ids = ProducerIds(services.store, 1, self.engine)
        services.log_manager = LogManager(services.config, services.engine)
        self.run(self._join())

    async def _join(self) -> None:
        services = self.services
        await services.store.connect()
        for path in ("/brokers/ids", "/config/brokers"):
            await services.store.ensure_path(path)
        services.stored_topics = StoredTopics(services.store)
        services.image = MetadataImage()
        services.replica_manager = ReplicaManager(1, services.image, MetadataImage(), services.engine, self.loop)
        services.topics = Topics(services)
        services.config_changes = ConfigChanges(services)
        services.member = Member(services)
        self._controller = services.controller
        await services.member.join(None, Reconciled({}, {}))
        await services.config_changes.start()

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(coroutine)

    def close(self) -> None:
        self.run(self._leave())
        self.run(self.loop.shutdown_default_executor())
        self.loop.close()
        self.engine.close()

    async def _leave(self) -> None:
        self.services.controller = self._controller  # a test may have put another in its place
        await self.services.config_changes.stop()
        await self.services.member.close()
        await self.services.store.close()

    def ask(self, module: str, version: int, given: Mapping[str, Any]) -> Any:
        """The response to a request given as plain values, through kio's bytes both ways."""
        return self.run(self.handling(module, version, given))

    async def handling(self, module: str, version: int, given: Mapping[str, Any]) -> Any:
        """What ``ask`` runs, for several at once."""
        api = next(api for api in APIS if api.module == module)
        assert api.has_version(version), f"{api} is not served at {version}"
        request = _through_bytes(build(load(module, version, "request"), dict(given)))
        context = RequestContext(Request(api.key, version, b""), api, self.services)  # type: ignore[arg-type]
        handler = import_module(f"kafkastore.handlers.{module}")
        try:
            response = context.as_entity(await handler.handle(context, request))
        except KafkastoreError as error:
            response = error_response(api, version, request, error.code, error.client_message)
        assert type(response) is load(module, version, "response")
        return _through_bytes(response)

    def create_topic(self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> Any:
        return self.run(self.services.topics.create(name, partitions=partitions, configs=configs))


def _through_bytes(entity: Any) -> Any:
    out = io.BytesIO()
    entity_writer(type(entity))(out, entity)
    decoded, size = entity_reader(type(entity))(out.getvalue(), 0)
    assert size == len(out.getvalue())
    return decoded
