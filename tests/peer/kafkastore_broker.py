"""Our own broker as a user starts it: the `kafkastore` executable of the checkout's environment, with a properties
file."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from peer.broker_process import BrokerProcess

SINGLE_BROKER = {
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "4",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "num.partitions": "1",
}


def executable() -> str:
    """`KAFKASTORE`, else the one beside the running interpreter."""
    return os.environ.get("KAFKASTORE") or str(Path(sys.executable).parent / "kafkastore")


class KafkastoreBroker(BrokerProcess):
    kind = "kafkastore"

    def properties(self) -> dict[str, str]:
        return {
            "node.id": "1",
            "listeners": f"PLAINTEXT://{self.host}:{self.port}",
            "log.dirs": ",".join(map(str, self.log_dirs)),
            "offsets.topic.replication.factor": "1",
            **SINGLE_BROKER,
        }

    def command(self) -> list[str]:
        return [executable(), "broker", str(self.properties_file)]
