"""Brokers in this process, one after another, as `kfake/main.go` has them: ``python in_python.py kafkastore``, or
``librdkafka`` for the mock cluster of librdkafka that confluent-kafka has.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def kafkastore() -> Iterator[str]:
    from kafkastore.testing import Broker

    with Broker(topics={"t": 1}) as broker:
        yield broker.bootstrap_servers


@contextmanager
def librdkafka() -> Iterator[str]:
    """It ends with the client that it belongs to; asked for a topic, it makes it."""
    from confluent_kafka import Producer

    producer = Producer({"test.mock.num.brokers": 1, "log_level": 0})
    (broker,) = producer.list_topics("t", 10).brokers.values()
    yield f"{broker.host}:{broker.port}"


KINDS = {"kafkastore": kafkastore, "librdkafka": librdkafka}


def main() -> None:
    kind = KINDS[sys.argv[1]]
    while True:
        with kind() as address:
            print(address, flush=True)
            if not sys.stdin.readline():
                return
        print("ended", flush=True)
        if not sys.stdin.readline():
            return


if __name__ == "__main__":
    main()
