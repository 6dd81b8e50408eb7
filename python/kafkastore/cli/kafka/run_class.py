"""``kafka-run-class``: one of Kafka's tools by the name of its Java class, as runbooks of all versions write it:
``org.apache.kafka.tools.GetOffsetShell``, and ``kafka.tools.GetOffsetShell`` or ``kafka.admin.TopicCommand`` from
before Kafka 4. Nothing of Java is run: another class is told to be unknown."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

USAGE: Final = "USAGE: kafka-run-class [-daemon] [-name servicename] [-loggc] classname [opts]\n"
PACKAGES: Final = ("org.apache.kafka.tools.", "kafka.tools.", "kafka.admin.")
BROKER: Final = "kafka.Kafka"
SERVER: Final = "kafka-server-start"
TOOLS: Final = {
    "AclCommand": "kafka-acls",
    "BrokerApiVersionsCommand": "kafka-broker-api-versions",
    "ClientMetricsCommand": "kafka-client-metrics",
    "ClusterTool": "kafka-cluster",
    "ConfigCommand": "kafka-configs",
    "ConsoleConsumer": "kafka-console-consumer",
    "ConsoleProducer": "kafka-console-producer",
    "ConsumerGroupCommand": "kafka-consumer-groups",
    "ConsumerPerformance": "kafka-consumer-perf-test",
    "DelegationTokenCommand": "kafka-delegation-tokens",
    "DeleteRecordsCommand": "kafka-delete-records",
    "DumpLogSegments": "kafka-dump-log",
    "EndToEndLatency": "kafka-e2e-latency",
    "FeatureCommand": "kafka-features",
    "GetOffsetShell": "kafka-get-offsets",
    "GroupsCommand": "kafka-groups",
    "LeaderElectionCommand": "kafka-leader-election",
    "LogDirsCommand": "kafka-log-dirs",
    "MetadataQuorumCommand": "kafka-metadata-quorum",
    "ProducerPerformance": "kafka-producer-perf-test",
    "ReassignPartitionsCommand": "kafka-reassign-partitions",
    "StorageTool": "kafka-storage",
    "TopicCommand": "kafka-topics",
    "TransactionsCommand": "kafka-transactions",
    "VerifiableConsumer": "kafka-verifiable-consumer",
    "VerifiableProducer": "kafka-verifiable-producer",
}
"""By the last part of its class's name."""


def main(arguments: Sequence[str]) -> int:
    words, options = list(arguments), []
    while words and words[0] in ("-daemon", "-loggc", "-name"):
        options.append(words.pop(0))
        if options[-1] == "-name" and words:
            options.append(words.pop(0))
    if not words:
        sys.stdout.write(USAGE)
        return 1
    from kafkastore.cli.kafka.run import run

    name = words.pop(0)
    if name == BROKER:
        return run(SERVER, [*options, *words])
    tool = TOOLS.get(name.rpartition(".")[2]) if name.startswith(PACKAGES) else None
    if tool is None:
        sys.stderr.write(f"Error: Could not find or load main class {name}: it is no tool of Kafka's\n")
        return 1
    return run(tool, words)
