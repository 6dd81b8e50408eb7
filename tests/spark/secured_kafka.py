"""Three brokers of Apache Kafka as one secured cluster; each of them votes for the controller, too."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterator
from pathlib import Path

from peer.apache_kafka import NODE_ID
from peer.broker_process import free_port
from peer.certificates import Authority
from peer.token_endpoint import TokenEndpoint
from peer.tokens import AuthorizationServer
from spark.secured import KafkaWithTokens, Secured, secure

SIZE = 3


class VoterBroker(KafkaWithTokens):
    """One of the cluster; a broker by itself until ``voters`` names all of them."""

    node = int(NODE_ID)
    voters = ""

    def properties(self) -> dict[str, str]:
        own = {
            "node.id": str(self.node),
            "controller.quorum.voters": self.voters,
            "default.replication.factor": str(SIZE),
            "offsets.topic.replication.factor": str(SIZE),
            "transaction.state.log.replication.factor": str(SIZE),
            "transaction.state.log.min.isr": "2",
        }
        return super().properties() | own

    def voter(self) -> str:
        self.properties()  # gives the controller's listener its port
        return f"{self.node}@127.0.0.1:{self.controller_port}"

    def prepare(self) -> None:
        """The folders of another node are formatted by those of the first: with this node's number, and a name of
        their own."""
        super().prepare()
        for log_dir in self.log_dirs:
            path = log_dir / "meta.properties"
            kept = dict(line.split("=", 1) for line in path.read_text().splitlines() if "=" in line)
            if kept["node.id"] != str(self.node):
                name = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
                kept |= {"node.id": str(self.node), "directory.id": name}
                path.write_text("".join(f"{key}={value}\n" for key, value in kept.items()))


def secured_kafka(folder: Path) -> Iterator[Secured]:
    """A cluster that runs; it ends with the iterator."""
    authority = Authority(folder / "certificates")
    tokens = AuthorizationServer(folder / "keys")
    endpoint = TokenEndpoint(tokens.token)
    brokers = [VoterBroker(folder / f"broker-{node}") for node in range(1, SIZE + 1)]
    ports = [(free_port(), free_port(), free_port()) for _ in brokers]
    for node, broker in enumerate(brokers, 1):
        broker.node = node
    voters = ",".join(broker.voter() for broker in brokers)
    for broker, own in zip(brokers, ports, strict=True):
        broker.voters = voters
        secure(broker, own, authority, tokens)
    try:
        for broker in brokers:
            broker.launch()
        for broker in brokers:
            broker.wait_until_ready()
        others = [(broker, own[0]) for broker, own in zip(brokers[1:], ports[1:], strict=True)]
        made = Secured(brokers[0], *ports[0], authority, tokens, endpoint, others=others)
        made.add_user()
        yield made
    finally:
        for broker in brokers:
            broker.kill()
        endpoint.close()
