"""Two brokers in one process, each a cluster of its own: what ``test_two_brokers.py`` runs.

Prints a line of JSON for each broker (its port, its cluster), then stops a broker for each line that it reads, the
first one first.
"""

from __future__ import annotations

import asyncio
import json
import sys

from kafkastore.config import BrokerConfig
from kafkastore.server.broker import Broker


async def main(folders: list[str]) -> None:
    brokers = []
    for number, folder in enumerate(folders, 1):
        given = {"node.id": str(number), "log.dirs": folder, "listeners": "PLAINTEXT://127.0.0.1:0"}
        given["offsets.topic.replication.factor"] = "1"
        broker = Broker(BrokerConfig(given))
        await broker.start()
        brokers.append(broker)
        print(json.dumps({"port": broker.ports[0], "cluster": broker.cluster_id}), flush=True)
    loop = asyncio.get_running_loop()
    for broker in brokers:
        await loop.run_in_executor(None, sys.stdin.readline)
        await broker.stop()
        print("stopped", flush=True)


asyncio.run(main(sys.argv[1:]))
