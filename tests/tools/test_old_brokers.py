"""What is asked of brokers that have not the newest requests: a client that takes a broker for an older one gets the
same from it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from kafkastore.admin import configs, topics
from kafkastore.admin.admin_client import AdminClient
from kafkastore.interbroker.cluster import UnsupportedApiError
from peer.broker_process import BrokerProcess

T = TypeVar("T")
NAME = "vo-a"
RESOURCE = configs.ConfigResource(configs.TOPIC, NAME)


class OldClient(AdminClient):
    """Of a cluster that serves nothing of what Kafka 2.1 did not."""

    async def serves(self, api: str, version: int) -> bool:
        return False


def ask(broker: BrokerProcess, kind: type[AdminClient], work: Callable[[AdminClient], Awaitable[T]]) -> T:
    async def asked() -> T:
        async with kind(broker.bootstrap).within() as client:
            return await work(client)

    return asyncio.run(asked())


async def own_configs(client: AdminClient) -> dict[str, str | None]:
    entries = (await configs.describe_configs(client, [RESOURCE], has_synonyms=True, has_documentation=True))[RESOURCE]
    assert isinstance(entries, tuple)
    return {one.name: one.value for one in entries if one.source == RESOURCE.own_source}


def change(broker: BrokerProcess, *changes: configs.ConfigChange) -> dict[str, str | None]:
    """What is set of the topic after a change in the way of old brokers."""
    assert ask(broker, OldClient, lambda client: configs.alter_configs(client, {RESOURCE: changes})) == {}
    return ask(broker, OldClient, own_configs)


def test_topics_and_configs_of_old_brokers(broker: BrokerProcess) -> None:
    new = topics.NewTopic(NAME, 2, 1, {"retention.ms": "5"})
    assert ask(broker, OldClient, lambda client: topics.create_topics(client, [new])) == {}
    found = [
        ask(broker, kind, lambda client: topics.describe_topics(client, [NAME, "vo-none"]))
        for kind in (OldClient, AdminClient)
    ]
    old, newest = (one[NAME] for one in found)
    assert isinstance(old, topics.TopicDescription)
    assert isinstance(newest, topics.TopicDescription)
    told = tuple(one._replace(elr=None, last_known_elr=None) for one in newest.partitions)
    assert old == newest._replace(partitions=told)
    assert str(found[0]["vo-none"]) == str(found[1]["vo-none"])
    with pytest.raises(UnsupportedApiError, match=r"Kafka 3\.1 on can"):
        ask(broker, OldClient, lambda client: topics.describe_topic_id(client, newest.topic_id or b""))
    policy = "cleanup.policy"
    assert change(broker, configs.ConfigChange(policy, "compact")) == {"retention.ms": "5", policy: "compact"}
    assert change(broker, configs.ConfigChange(policy, "delete", configs.APPEND))[policy] == "compact,delete"
    taken = configs.ConfigChange(policy, "compact", configs.SUBTRACT)
    assert change(broker, taken, configs.ConfigChange("retention.ms", "", configs.DELETE)) == {policy: "delete"}
    bad = {RESOURCE: [configs.ConfigChange("retention.ms", "abc")]}
    refused = ask(broker, OldClient, lambda client: configs.alter_configs(client, bad))
    assert refused[RESOURCE].name == "INVALID_CONFIG"
    assert ask(broker, AdminClient, lambda client: topics.delete_topics(client, [NAME])) == {}
