"""A broker's registration as another broker reads it: the content of ``/brokers/ids/N``.

``clean_shutdown`` is not Kafka's: it is false when the broker's last life ended without a clean shutdown, so that
records that were not synced may be lost. Absent means clean. When it is false, ``unclean`` has the partitions that may
have lost records (topic → numbers; absent: all), and ``log_ends`` the ends of their logs: topic → partition → end of
the log. The controller sets ``clean_shutdown`` to true and removes the other two when it has drawn the consequences, so
that they are drawn once.

``topic_ids`` is not Kafka's either: the ids in the broker's logs, of topics whose node in the store has no id.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from kafkastore.metadata.leadership import MAX_OFFSET
from kafkastore.metadata.node_content import InvalidNodeError, decimal, ids, json_object, mapping, number, shown
from kafkastore.metadata.node_content import text as text_of
from kafkastore.metadata.nodes import parse_topic_id

if TYPE_CHECKING:
    from collections.abc import Mapping


class Endpoint(NamedTuple):
    listener: str
    host: str
    port: int
    security_protocol: str  # PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL


class Registration(NamedTuple):
    """A live broker in one of its lives."""

    node_id: int
    epoch: int  # ``created`` of the node: each life has a higher one
    endpoints: tuple[Endpoint, ...]
    rack: str | None = None
    is_clean: bool = True
    log_ends: Mapping[str, Mapping[str, int]] = {}
    """By topic and partition, the ends of the logs after an unclean shutdown."""
    unclean: Mapping[str, frozenset[int]] | None = None
    """The partitions that may have lost records then; None for all."""
    topic_ids: Mapping[str, bytes] = {}
    """The ids in the broker's logs, of topics without an id in the store."""

    def may_lack(self, topic: str, partition: int) -> bool:
        """Whether this broker may have lost records of the partition."""
        return not self.is_clean and (self.unclean is None or partition in self.unclean.get(topic, ()))

    def log_end(self, topic: str, partition: int) -> int:
        return self.log_ends.get(topic, {}).get(str(partition), 0)

    def endpoint(self, listener: str | None) -> Endpoint | None:
        """The endpoint of this listener; for None the first one."""
        for endpoint in self.endpoints:
            if listener is None or endpoint.listener == listener:
                return endpoint
        return None


def decode_registration(node_id: int, data: bytes, created: int) -> Registration:
    """Raises InvalidNodeError."""
    content = json_object(data)
    protocols = mapping(content, "listener_security_protocol_map")
    given = content.get("endpoints")
    if not isinstance(given, list) or not given or not all(isinstance(one, str) for one in given):
        raise InvalidNodeError(f"endpoints is {shown(given)}, which is no list of addresses")
    endpoints = []
    for text in given:
        listener, _, address = text.partition("://")
        host, _, port = address.rpartition(":")
        number_of_port = decimal(port, f"the port of {shown(text)}", 0, 65535)
        endpoints.append(Endpoint(listener, host.strip("[]"), number_of_port, str(protocols.get(listener, listener))))
    rack = content.get("rack")
    if not isinstance(rack, str | None):
        raise InvalidNodeError(f"rack is {shown(rack)}, which is no text")
    is_clean = content.get("clean_shutdown", True) is not False
    log_ends = {} if is_clean else _log_ends(content)
    unclean = None if is_clean else _unclean(content)
    encoded_ids = mapping(content, "topic_ids")
    topic_ids = {topic: parse_topic_id(text_of(encoded_ids, topic)) for topic in encoded_ids}
    return Registration(node_id, created, tuple(endpoints), rack, is_clean, log_ends, unclean, topic_ids)


def _unclean(content: dict[str, Any]) -> dict[str, frozenset[int]] | None:
    if content.get("unclean") is None:
        return None
    return {topic: frozenset(ids(ones, f"unclean of {topic}")) for topic, ones in mapping(content, "unclean").items()}


def _log_ends(content: dict[str, Any]) -> dict[str, dict[str, int]]:
    of_topics = mapping(content, "log_ends")
    return {
        topic: {partition: number(mapping(of_topics, topic), partition, 0, MAX_OFFSET) for partition in ends or ()}
        for topic, ends in of_topics.items()
    }


def settle_registration(data: bytes) -> bytes:
    """The registration after the consequences of an unclean shutdown were drawn. Raises InvalidNodeError."""
    content = json_object(data)
    content["clean_shutdown"] = True
    content.pop("log_ends", None)
    content.pop("unclean", None)
    return json.dumps(content, separators=(",", ":")).encode()
