"""AlterReplicaLogDirs (34): moves replicas of this broker to other log directories (KIP-113).

Translates between the wire and ``replica/log_dir_moves.py``. One replica's error never fails the others. For a replica
that is named twice the last directory counts, as in Kafka.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.acl_words import ALTER
from kafkastore.requests.authorization import require_cluster

if TYPE_CHECKING:
    from kafkastore._core import Unwritten
    from kafkastore.protocol.alter_replica_log_dirs import AlterReplicaLogDirsRequest
    from kafkastore.requests.context import RequestContext


async def handle(context: RequestContext, request: AlterReplicaLogDirsRequest) -> Unwritten:
    require_cluster(context, ALTER)
    turn = context.turn()
    wanted: dict[tuple[str, int], str] = {}
    for directory in request.dirs:
        for topic in directory.topics:
            async for partition in turn.each(topic.partitions):
                wanted[topic.name, partition] = directory.path
    by_topic: dict[str, list[bytes]] = {}
    async for (name, partition), code in turn.each((await context.broker.log_dir_moves.alter(wanted, turn)).items()):
        result = context.row("AlterReplicaLogDirPartitionResult", partition_index=partition, error_code=code)
        by_topic.setdefault(name, []).append(result)
    results = [
        context.row("AlterReplicaLogDirTopicResult", topic_name=topic, partitions=partitions)
        for topic, partitions in by_topic.items()
    ]
    return context.answer(results=results)
