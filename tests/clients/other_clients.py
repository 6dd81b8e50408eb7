"""Two more clients of the scripts of transactions (``transactional.py``), each a program of its own: sarama, kafkajs.

Both speak older versions of the requests than Kafka's own client: they add partitions by AddPartitionsToTxn, and the
end of a transaction leaves the producer epoch as it is (KIP-890 without its second part).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from clients.transactional import Librdkafka, Script, Values, in_order
from peer.other_programs import call, kafkajs_program, sarama_program


@dataclass(frozen=True)
class Program:
    """A client that a program of ``peer.other_programs`` runs."""

    command: list[str]
    counting: Librdkafka = field(default_factory=Librdkafka)

    def run(self, script: Script) -> list[str]:
        steps = list(script.steps)
        outcomes: list[str] = self._call(
            "transactions",
            script.bootstrap,
            transactional_id=script.transactional_id,
            timeout_ms=script.timeout_ms,
            steps=steps,
        )
        return outcomes

    def read(self, bootstrap: str, topic: str, isolation: str) -> Values:
        """librdkafka says how many records there are: neither client tells when it is at the end of a partition."""
        count = len(self.counting.read(bootstrap, topic, isolation))
        committed = isolation == "read_committed"
        records = self._call("read", bootstrap, topic=topic, read_committed=committed, count=count)
        return in_order((partition, offset, value.encode()) for partition, offset, value in records)

    def _call(self, name: str, bootstrap: str, **arguments: Any) -> Any:
        return call(self.command, name, bootstrap, **arguments)


class Sarama(Program):
    def __init__(self) -> None:
        super().__init__(sarama_program())


class Kafkajs(Program):
    def __init__(self) -> None:
        super().__init__(kafkajs_program())
