"""kafkastore inside tests: brokers in the test's own process, with a clock that tests turn and faults that they order.

``Broker`` is one broker, ``Cluster`` several::

    with Broker(topics={"orders": 3}) as broker:
        producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap_servers})

The pytest plugin of the same package has the fixtures kafka_broker, kafka_cluster and kafka_topic, a new topic for one
test: pytest --fixtures. Nothing but this file is imported until one of the names is used.
"""

from typing import TYPE_CHECKING

from kafkastore.exports import exported

if TYPE_CHECKING:
    from kafkastore.testing.broker import Broker
    from kafkastore.testing.clock import Clock
    from kafkastore.testing.cluster import Cluster
    from kafkastore.testing.faults import Faults
    from kafkastore.testing.node import Node

__all__ = ["Broker", "Clock", "Cluster", "Faults", "Node"]

__getattr__, __dir__ = exported(
    __name__,
    {
        "Broker": "kafkastore.testing.broker",
        "Clock": "kafkastore.testing.clock",
        "Cluster": "kafkastore.testing.cluster",
        "Faults": "kafkastore.testing.faults",
        "Node": "kafkastore.testing.node",
    },
)
