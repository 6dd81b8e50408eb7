"""Which broker coordinates a group or a transactional id, and what the internal topics need before a trial."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from confluent_kafka import ElectionType
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from parity.raw_client import ConnectionClosedError, RawClient
from peer.broker_process import wait_until

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cluster.cluster import Cluster

GROUP, TRANSACTION = 0, 1
OFFSETS_TOPIC, STATE_TOPIC = "__consumer_offsets", "__transaction_state"
LIMIT_S = 30.0


def coordinators(cluster: Cluster, kind: int, keys: Sequence[str]) -> dict[str, int]:
    """The node id of each key's coordinator, as a running broker answers it; waits until there is one."""
    found: dict[str, int] = {}

    def are_there() -> bool:
        for broker in cluster.brokers:
            if broker.is_running():
                try:
                    with closing(RawClient(broker.host, broker.port)) as client:
                        answer = client.ask("find_coordinator", 4, {"key_type": kind, "coordinator_keys": list(keys)})
                except (OSError, ConnectionClosedError):
                    continue
                found.update({one.key: int(one.node_id) for one in answer.coordinators})
                return all(node > 0 for node in found.values())
        return False

    wait_until(are_there, LIMIT_S, f"{list(keys)} have coordinators")
    return found


def prepare_internal_topics(cluster: Cluster, flush_messages: int) -> None:
    """Creates the topics if they do not exist, sets ``flush.messages`` of them, and waits until every partition is in
    sync everywhere and led by its preferred leader, as far as it can be."""
    admin = cluster.admin()  # kept: its requests end with its last reference
    for kind, topic in ((GROUP, OFFSETS_TOPIC), (TRANSACTION, STATE_TOPIC)):
        coordinators(cluster, kind, ["any"])
        entry = ConfigEntry("flush.messages", str(flush_messages), incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
        for future in admin.incremental_alter_configs([resource]).values():
            future.result(LIMIT_S)
        cluster.wait_in_sync(topic, 3)
    admin.elect_leaders(ElectionType.PREFERRED, None).result(LIMIT_S)
