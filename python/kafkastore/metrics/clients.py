"""The metric families of clients that have a limit, and of new connections, by the names that Prometheus' JMX exporter
gives Kafka's (``kafka.server:type=Produce,user=...,client-id=...``). Reads a :class:`ClientSnapshot` and nothing else.

Users stand as in Kafka's tags, percent-encoded. Whoever takes the snapshot bounds the number of rows: the clients with
the highest rates have rows, the others are counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from prometheus_client.core import GaugeMetricFamily

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from prometheus_client import Metric


class MutationFigures(NamedTuple):
    """Clients that share a quota of controller mutations."""

    user: str
    client_id: str
    rate: float
    """Partitions a second that were created or deleted."""
    tokens: float
    throttle_time_ms: float


class ClientSnapshot(NamedTuple):
    """The figures of one scrape."""

    clients: Sequence[tuple[str, str, str, float, float]] = ()
    """(kind, user, client id, rate, throttle time in ms)."""
    mutations: Sequence[MutationFigures] = ()
    left_out: Mapping[str, int] = {}
    """By kind, how many clients have no row; ``ip`` stands for addresses."""
    connections: Sequence[tuple[str, str, float, float, float]] = ()
    """(label, name, connections a second, throttle time in ms, that of addresses)."""


_RATES: Final = {
    "Produce": ("byte_rate", "Bytes a second of Produce requests"),
    "Fetch": ("byte_rate", "Bytes a second of answers to Fetch"),
    "Request": ("request_time", "Percent of one thread's time that requests take"),
}
_CLIENT: Final = ("user", "client_id")
_ACCEPT: Final = "kafka_server_socket_server_metrics_"


def client_families(snapshot: ClientSnapshot) -> Iterator[Metric]:
    """See the module."""
    for kind, (name, text) in _RATES.items():
        rates = _family(f"kafka_server_{kind.lower()}_{name}", text, *_CLIENT)
        throttled = _family(f"kafka_server_{kind.lower()}_throttle_time", _THROTTLED, *_CLIENT)
        for _, user, client_id, rate, throttle_time_ms in (row for row in snapshot.clients if row[0] == kind):
            rates.add_metric([user, client_id], rate)
            throttled.add_metric([user, client_id], throttle_time_ms)
        yield from (rates, throttled)
    yield from _mutations(snapshot)
    left_out = _family(
        "kafkastore_metrics_clients_left_out", "Clients with a limit that have no figures of their own here", "quota"
    )
    for quota, count in snapshot.left_out.items():
        left_out.add_metric([quota], count)
    yield left_out
    yield from _connections(snapshot)


_THROTTLED: Final = "Average time for which answers held a client back, in ms, in the last one or two windows"


def _family(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, labels=labels)


def _mutations(snapshot: ClientSnapshot) -> Iterator[Metric]:
    prefix = "kafka_server_controllermutation_"
    rates = _family(f"{prefix}mutation_rate", "Partitions a second that were created or deleted", *_CLIENT)
    tokens = _family(f"{prefix}tokens", "Partitions that may be created or deleted now", *_CLIENT)
    throttled = _family(f"{prefix}throttle_time", _THROTTLED, *_CLIENT)
    for one in snapshot.mutations:
        client = [one.user, one.client_id]
        rates.add_metric(client, one.rate)
        tokens.add_metric(client, one.tokens)
        throttled.add_metric(client, one.throttle_time_ms)
    yield from (rates, tokens, throttled)


def _connections(snapshot: ClientSnapshot) -> Iterator[Metric]:
    broker = _family(f"{_ACCEPT}broker_connection_accept_rate", "New connections a second, on all listeners")
    rates = _family(f"{_ACCEPT}connection_accept_rate", "New connections a second: on a listener, from an address")
    throttled = _family(
        f"{_ACCEPT}connection_accept_throttle_time", "Average time that the listener waits, in ms", "listener"
    )
    of_ips = _family(
        f"{_ACCEPT}ip_connection_accept_throttle_time",
        "Average time after which connections above the rate of their address are closed, in ms",
        "listener",
    )
    for label, name, rate, throttle_time_ms, ip_throttle_time_ms in snapshot.connections:
        if not label:
            broker.add_metric([], rate)
            continue
        rates.add_sample(rates.name, {label: name}, rate)
        if label == "listener":
            throttled.add_metric([name], throttle_time_ms)
            of_ips.add_metric([name], ip_throttle_time_ms)
    yield from (broker, rates, throttled, of_ips)
