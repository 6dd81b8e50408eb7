"""The group handlers over a coordinator in memory: requests and answers go through bytes, in any version."""

from __future__ import annotations

import asyncio
import types
from typing import Any

from kafkastore._core import decode_request
from kafkastore.errors import InvalidReplicationFactorError
from kafkastore.internal_topics import OFFSETS_TOPIC
from kafkastore.metadata.image import BrokerImage, MetadataImage, PartitionState, TopicImage
from kafkastore.requests.context import DeferredAnswer, RequestContext
from kafkastore.requests.registry import APIS, Api
from unit.coordinator.group_world import World
from unit.plain_messages import request_body, response

TOPIC_ID = bytes(range(16))


class FakeTopics:
    """Stands in for ``topics.topics.Topics``: makes ``__consumer_offsets`` in the image."""

    def __init__(self, image: MetadataImage) -> None:
        self.image = image
        self.created: list[str] = []
        self.is_refusing = False
        self.reported: dict[str, float] = {}

    async def create_internal(self, name: str) -> TopicImage:
        if self.is_refusing:
            raise InvalidReplicationFactorError("Unable to replicate the partition 3 time(s)")
        self.created.append(name)
        topic = image_topic(name, 4)
        self.image.put_topic(topic)
        return topic


def image_topic(name: str, partitions: int, topic_id: bytes = b"\7" * 16) -> TopicImage:
    return TopicImage(name, topic_id, [PartitionState(1, 0, 0, (1,), (1,))] * partitions, {})


class GroupBroker:
    """Answers requests of the group APIs. Topic ``t`` has three partitions; this is node 1."""

    def __init__(self, **config: int) -> None:
        self.world = World(**config)
        image = MetadataImage()
        image.brokers[1] = BrokerImage(1, None, (("INTERNAL", "inside", 9093), ("PLAINTEXT", "127.0.0.1", 9092)))
        image.put_topic(image_topic("t", 3, TOPIC_ID))
        self.image = image
        self.topics = FakeTopics(image)
        self.services: Any = types.SimpleNamespace(
            acls=None, image=image, topics=self.topics, group_coordinator=self.world.coordinator, node_id=1
        )

    async def handle(self, api: Api, version: int, body: bytes, client_id: str | None = "wire") -> bytes:
        """Handles a request's body; returns the response's body."""
        request = decode_request(api.key, version, body, api.max_rows)
        received: Any = types.SimpleNamespace(
            api_key=api.key, api_version=version, client_id=client_id, client_host="/127.0.0.1", listener="PLAINTEXT"
        )
        handler = __import__(f"kafkastore.handlers.{api.module}", fromlist=["handle"])
        answer = await handler.handle(RequestContext(received, api, self.services), request)
        if isinstance(answer, DeferredAnswer):
            answer = await answer
        return b"".join(answer.pieces())

    async def answer(self, module: str, version: int, **fields: Any) -> Any:
        api = next(api for api in APIS if api.module == module)
        return response(api, version, await self.handle(api, version, request_body(api, version, fields)))

    def ask(self, api: str, version: int, **fields: Any) -> Any:
        """Asks for an answer that comes at once, or when timers that are due have run."""

        async def run() -> Any:
            task = asyncio.ensure_future(self.answer(api, version, **fields))
            for _ in range(4):
                await asyncio.sleep(0)
                self.world.clock.advance(0)
            return await task

        return asyncio.run(run())

    def offsets_topic(self) -> TopicImage | None:
        return self.image.topic(OFFSETS_TOPIC)
