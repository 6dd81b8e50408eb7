"""Topics of a cluster: the same plans and refusals as ``topics``, carried out by the controller.

On the broker that is the controller a plan goes to :class:`~kafkastore.controller.controller.Controller`, which writes the store and
tells the brokers; the answer waits until this broker has been told too, so that a client which asks next sees its topic.
Any other broker answers NOT_CONTROLLER; what it wants itself (auto-creation, ``__consumer_offsets``) it asks the controller
for. Configuration is written by whoever is asked, and every broker takes it over from ``/config/changes``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from kafkastore.config import validate_topic_configs
from kafkastore.controller.topic_changes import NewTopic as Creation
from kafkastore.errors import ErrorCode, KafkastoreError, NotControllerError, RequestTimedOutError
from kafkastore.server.topics import NewTopic, Topics

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kafkastore.metadata.assignment import Assigned
    from kafkastore.metadata.image import TopicImage

TOLD_LIMIT_S: Final = 10.0
"""How long an answer waits until this broker knows of what the controller has decided."""

REQUEST_TIMEOUT_MS: Final = 30_000

TOPIC_RESOURCE: Final = 2
"""Of AlterConfigs."""


class ClusterTopics(Topics):
    """See the module."""

    def _check_controller(self) -> None:
        if not self.broker.controller.is_active:
            raise NotControllerError

    async def create_all(
        self, asked: Sequence[NewTopic], *, validate_only: bool = False
    ) -> list[TopicImage | KafkastoreError]:
        self._check_controller()
        outcomes = await super().create_all(asked, validate_only=validate_only)
        if validate_only:
            return outcomes
        made = self.broker.image.topics  # with the ids that the controller gave
        return [one if isinstance(one, KafkastoreError) else made.get(one.name, one) for one in outcomes]

    async def create_if_absent(
        self, name: str, *, partitions: int = -1, replication_factor: int = -1, configs: Mapping[str, str] | None = None
    ) -> TopicImage:
        if self.broker.controller.is_active:
            return await super().create_if_absent(
                name, partitions=partitions, replication_factor=replication_factor, configs=configs
            )
        found = self.broker.image.topic(name)
        if found is not None:
            return found
        await self._ask_to_create(NewTopic(name, partitions, replication_factor, None, configs))
        await self._wait_until_told([name])
        return self.broker.image.topics[name]

    async def _ask_to_create(self, asked: NewTopic) -> None:
        schema: Any = import_module("kio.schema.create_topics.v7.request")
        configs = tuple(
            schema.CreatableTopicConfig(name=name, value=value) for name, value in (asked.configs or {}).items()
        )
        topic = schema.CreatableTopic(
            name=asked.name,
            num_partitions=asked.partitions,
            replication_factor=asked.replication_factor,
            assignments=(),
            configs=configs,
        )
        request = schema.CreateTopicsRequest(topics=(topic,))
        answer = await self.broker.member.to_controller.ask(request, REQUEST_TIMEOUT_MS)
        for one in answer.topics:
            if one.error_code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                raise KafkastoreError(one.error_message, code=one.error_code)

    async def _make(self, topics: Sequence[TopicImage]) -> dict[str, KafkastoreError]:
        failed: dict[str, KafkastoreError] = {}
        for topic in topics:
            replicas = [state.replicas for state in topic.partitions]
            try:
                await self.broker.controller.create_topic(
                    Creation(topic.name, assignment=replicas, configs=topic.configs)
                )
            except KafkastoreError as error:
                failed[topic.name] = error
        await self._wait_until_told([topic.name for topic in topics if topic.name not in failed])
        return failed

    async def _grow(self, grown: TopicImage, current: int) -> None:
        replicas = [state.replicas for state in grown.partitions[current:]]
        count = len(grown.partitions)
        await self.broker.controller.create_partitions(grown.name, count, replicas)
        await self._wait_until(lambda: self._partition_count(grown.name) >= count)

    def _partition_count(self, name: str) -> int:
        topic = self.broker.image.topic(name)
        return 0 if topic is None else len(topic.partitions)

    async def reassign(
        self, asked: Mapping[tuple[str, int], Sequence[int] | None], *, allows_factor_change: bool = True
    ) -> Mapping[tuple[str, int], KafkastoreError | None]:
        return await self.broker.controller.alter_reassignments(asked, allows_factor_change=allows_factor_change)

    async def reassignments(self) -> Mapping[tuple[str, int], Assigned]:
        return await self.broker.controller.reassignments()

    async def elect_leaders(
        self, asked: Sequence[tuple[str, int]] | None, *, is_unclean: bool
    ) -> dict[tuple[str, int], int]:
        outcomes = await self.broker.controller.elect_leaders(asked, is_unclean=is_unclean)
        elected = [key for key, code in outcomes.items() if code == ErrorCode.NONE]
        if elected:
            await self._wait_until(lambda: all(self._is_elected(*key, is_unclean) for key in elected))
        return outcomes

    def _is_elected(self, name: str, number: int, is_unclean: bool) -> bool:
        """As this broker was told; a topic that is gone meanwhile is not waited for."""
        state = self.broker.image.partition(name, number)
        return state is None or (state.leader >= 0 if is_unclean else state.replicas[:1] == (state.leader,))

    async def set_config_overrides(self, name: str, overrides: Mapping[str, str | None]) -> None:
        """Through the controller, which has to know of a lower ``min.insync.replicas`` before leaders do."""
        checked = validate_topic_configs(overrides)
        if not self.broker.controller.is_active:
            await self._ask_to_configure(name, checked)
            return
        async with self._locked([name]):
            self._existing(name)
            await self.broker.controller.set_topic_configs(name, checked)
            await self.broker.config_changes.tell("topics", name)

    async def _ask_to_configure(self, name: str, configs: Mapping[str, str]) -> None:
        schema: Any = import_module("kio.schema.alter_configs.v2.request")
        values = tuple(schema.AlterableConfig(name=key, value=value) for key, value in configs.items())
        resource = schema.AlterConfigsResource(resource_type=TOPIC_RESOURCE, resource_name=name, configs=values)
        request = schema.AlterConfigsRequest(resources=(resource,), validate_only=False)
        answer = await self.broker.member.to_controller.ask(request, REQUEST_TIMEOUT_MS)
        for one in answer.responses:
            if one.error_code != ErrorCode.NONE:
                raise KafkastoreError(one.error_message or "", code=one.error_code)
        await self._wait_until(lambda: self._existing(name).configs == dict(configs))

    async def delete_all(self, names: Sequence[str]) -> list[KafkastoreError | None]:
        self._check_controller()
        return await super().delete_all(names)

    async def _unmake(self, topics: Mapping[str, TopicImage]) -> dict[str, KafkastoreError]:
        failed: dict[str, KafkastoreError] = {}
        for name in topics:
            try:
                await self.broker.controller.delete_topic(name)
            except KafkastoreError as error:
                failed[name] = error
        image = self.broker.image
        gone = [name for name in topics if name not in failed]
        await self._wait_until(lambda: not any(image.topic(name) is topics[name] for name in gone))
        return failed

    # ---- waiting
    async def _wait_until_told(self, names: Sequence[str]) -> None:
        await self._wait_until(lambda: all(self._is_served(name) for name in names))

    def _is_served(self, name: str) -> bool:
        topic = self.broker.image.topic(name)
        return topic is not None and all(state.leader >= 0 for state in topic.partitions)

    async def _wait_until(self, holds: Callable[[], bool]) -> None:
        if not await self.broker.assigned.wait_until(holds, TOLD_LIMIT_S):
            raise RequestTimedOutError
