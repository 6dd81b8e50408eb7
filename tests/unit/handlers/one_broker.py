"""A broker without sockets: real handlers, owners, controller, SQLite store and stepped engine.

``ask`` handles a request as ``server/kafka_apis.py`` does: bytes in, bytes out, at any version.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from stepped import Engine, Request, taken

from kafkastore._core import Lease, Unwritten, decode_request
from kafkastore.config import BrokerConfig
from kafkastore.dynamic_config.broker_configs import DynamicBrokerConfigs
from kafkastore.dynamic_config.kept_configs import KeptConfigs
from kafkastore.errors import KafkastoreError
from kafkastore.log.manager import LogManager
from kafkastore.membership.reconcile import ReconciliationResult
from kafkastore.metadata.image import MetadataImage
from kafkastore.metadata.sqlite import SqliteStore
from kafkastore.metadata.stored_topics import StoredTopics
from kafkastore.requests.context import SERVED_BY_DATA_PLANE, RequestContext
from kafkastore.requests.error_response import error_answer
from kafkastore.requests.registry import APIS, Api
from kafkastore.server.assembly import BrokerParts
from kafkastore.server.surroundings import REAL
from unit.plain_messages import request_body


class OneBroker:
    """A broker that is alone, node 1; ``properties`` are those of server.properties."""

    def __init__(self, folder: Path, properties: Mapping[str, str] | None = None) -> None:
        self.loop = asyncio.new_event_loop()
        folder.mkdir(exist_ok=True)
        given = {
            "node.id": "1",
            "log.dirs": str(folder),
            "listeners": "PLAINTEXT://127.0.0.1:9092",
            "num.partitions": "1",
        }
        config = BrokerConfig({**given, **(properties or {})})
        self.engine = Engine(1, "MkU3OEVBNTcwNTJENDM2Qg", config.log_dirs, {})
        self.engine.open_log_dirs({}, {})
        engine: Any = self.engine
        self.store = SqliteStore(str(folder / "metadata.sqlite"))
        self.log_manager = LogManager(config, engine)
        self.run(self._join(config, engine))

    async def _join(self, config: BrokerConfig, engine: Any) -> None:
        store, image = self.store, MetadataImage()
        await store.connect()
        for path in ("/brokers/ids", "/config/brokers"):
            await store.ensure_path(path)
        self._kept_configs = KeptConfigs(self.log_manager, store)
        self.log_manager.before_made = self._kept_configs.keep
        parts = BrokerParts(
            config=config,
            surroundings=REAL,
            cluster_id="MkU3OEVBNTcwNTJENDM2Qg",
            store=store,
            stored_topics=StoredTopics(store),
            image=image,
            engine=engine,
            log_manager=self.log_manager,
            dynamic_configs=DynamicBrokerConfigs(config, store, image),
            kept_configs=self._kept_configs,
        )
        self.services, self.member = parts.services, parts.member
        await self.member.join(None, ReconciliationResult({}, {}))
        await self.services.config_changes.start()

    def put_controller(self, seat: Any) -> None:
        """Replaces the broker's own controller, for handlers and topics."""
        self.services = replace(self.services, controller=seat)
        self.services.topics._controller = seat

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(coroutine)

    def close(self) -> None:
        self.run(self._leave())
        self.run(self.loop.shutdown_default_executor())
        self.loop.close()
        self.engine.close()

    async def _leave(self) -> None:
        await self.services.config_changes.stop()
        await self.member.close()
        await self._kept_configs.stop()
        await self.store.close()

    def ask(self, module: str, version: int, given: Mapping[str, Any]) -> Any:
        """The response to a request given as plain values, through bytes both ways."""
        return self.run(self.handling(module, version, given))

    async def handling(self, module: str, version: int, given: Mapping[str, Any]) -> Any:
        """The coroutine that ``ask`` runs, for several requests at once."""
        return await self.handling_body(module, version, request_body(_api(module), version, given))

    async def handling_body(self, module: str, version: int, body: bytes) -> Any:
        """As :meth:`handling`, for a request given as bytes."""
        api, context, request = self._request(module, version, body)
        try:
            answer = await self._handle(module, context, request)
        except KafkastoreError as error:
            answer = error_answer(api, version, request, error.code, error.client_message)
        assert isinstance(answer, Unwritten)
        return context.as_object(answer)

    def hands_back(self, module: str, version: int, given: Mapping[str, Any]) -> bool:
        """Whether the handler gives the request, and only this request, back to the data plane."""
        found: bool = self.run(self.handing_back(module, version, given))
        return found and self.engine.served_here == [1]

    async def handing_back(self, module: str, version: int, given: Mapping[str, Any]) -> bool:
        _, context, request = self._request(module, version, request_body(_api(module), version, given))
        return await self._handle(module, context, request) is SERVED_BY_DATA_PLANE

    def _request(self, module: str, version: int, body: bytes) -> tuple[Api, RequestContext, Any]:
        api = _api(module)
        assert api.has_version(version), f"{api} is not served at {version}"
        request = decode_request(api.key, version, body, api.max_rows)
        context = RequestContext(taken(Request(api.key, version, b"")), api, self.services)
        return api, context, request

    async def _handle(self, module: str, context: RequestContext, request: Any) -> Any:
        return await import_module(f"kafkastore.handlers.{module}").handle(context, request)

    def lease(self, topic: str, replicas: tuple[int, ...], leader: int, leader_epoch: int) -> None:
        """Gives the engine a lease for partition 0."""
        lease = Lease(
            partition=0,
            leader=leader,
            leader_epoch=leader_epoch,
            partition_epoch=leader_epoch,
            replicas=replicas,
            in_sync_replicas=replicas,
        )
        self.engine.publish_leases(topic, self.services.image.topics[topic].topic_id, [lease])

    def create_topic(self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> Any:
        return self.run(self.services.topics.create(name, partitions=partitions, configs=configs))


def _api(module: str) -> Api:
    return next(api for api in APIS if api.module == module)
