"""The content of the store's nodes: Kafka's JSON, one pair of functions per kind of node."""

from __future__ import annotations

import base64
import json
import os
from typing import TYPE_CHECKING

from kafkastore.metadata.node_content import InvalidNodeError, decimal, json_object, mapping, shown, text
from kafkastore.metadata.node_content import number as number_of
from kafkastore.metadata.store import Create

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kafkastore.metadata.image import BrokerImage


_ID_BYTES = 16


def new_id() -> bytes:
    """A random UUID (version 4) that does not begin with "-" as text, as Kafka makes topic, cluster and directory
    ids."""
    while True:
        raw = bytearray(os.urandom(16))
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        if raw[0] >> 2 != 62:  # the digit that URL-safe base64 writes as "-"
            return bytes(raw)


def topic_id_text(topic_id: bytes) -> str:
    """An id as Kafka prints it: URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(topic_id).rstrip(b"=").decode()


def parse_topic_id(given: str) -> bytes:
    """Raises InvalidNodeError."""
    try:
        topic_id = base64.b64decode(given + "=" * (-len(given) % 4), b"-_", validate=True)
    except ValueError:
        topic_id = b""
    if len(topic_id) != _ID_BYTES or not any(topic_id):
        raise InvalidNodeError(f"{shown(given)!r} is no id")
    return topic_id


# ---- /config/…
def encode_config(overrides: Mapping[str, str]) -> bytes:
    return _dump({"version": 1, "config": dict(overrides)})


def decode_config(data: bytes) -> dict[str, str]:
    """Raises InvalidNodeError; a node without content configures nothing."""
    found = mapping(json_object(data), "config") if data else {}
    return {name: str(value) for name, value in found.items()}


CONFIG_CHANGES = "/config/changes"


NAMES_A_NOTICE = 1000
"""How many names a notice has: with 249 bytes each they fit the largest node of an ensemble."""


def config_notice(kind: str, name: str) -> Create:
    """The notice to all brokers that ``/config/kind/name`` has changed, as Kafka writes it."""
    return _notice({"version": 2, "entity_path": f"{kind}/{name}"})


def config_notices(kind: str, names: Sequence[str]) -> list[Create]:
    """The notices for many names: one node names up to a thousand, where Kafka writes a node for each."""
    if len(names) == 1:
        return [config_notice(kind, names[0])]
    runs = [names[at : at + NAMES_A_NOTICE] for at in range(0, len(names), NAMES_A_NOTICE)]
    return [_notice({"version": 2, "entity_path": kind, "names": list(run)}) for run in runs]


def decode_config_notice(data: bytes) -> tuple[str, list[str]]:
    """(kind, names). Raises InvalidNodeError."""
    content = json_object(data)
    kind, slash, name = text(content, "entity_path").partition("/")
    names = [name] if slash else content.get("names")
    if not isinstance(names, list) or not all(isinstance(one, str) and _names_a_node(one) for one in names):
        raise InvalidNodeError(f"it names {shown(names)}, which are no names of nodes")
    return kind, names


def _names_a_node(name: str) -> bool:
    """Whether both stores take it below another node."""
    parts_are_right = all(part not in ("", ".", "..") for part in name.split("/"))
    return parts_are_right and "\0" not in name and not any("\ud800" <= one <= "\udfff" for one in name)


def _notice(content: Mapping[str, object]) -> Create:
    return Create(f"{CONFIG_CHANGES}/config_change_", _dump(content), is_sequential=True)


# ---- brokers, controller, cluster
def encode_broker(
    broker: BrokerImage,
    protocols: Mapping[str, str],
    now_ms: int,
    *,
    unclean: Mapping[str, Sequence[int]] | None = None,
    log_ends: Mapping[str, Mapping[str, int]] | None = None,
    topic_ids: Mapping[str, bytes] | None = None,
) -> bytes:
    """``/brokers/ids/N``. ``unclean`` has the partitions that may have lost records in an unclean shutdown, and then
    ``log_ends`` where their logs end now; ``topic_ids`` has the ids of topics that have none in the store."""
    name, host, port = broker.listeners[0]
    content: dict[str, object] = {
        "version": 5,
        "host": host if protocols.get(name) == "PLAINTEXT" else None,
        "port": port,
        "jmx_port": -1,
        "timestamp": str(now_ms),
        "endpoints": [f"{name}://{host}:{port}" for name, host, port in broker.listeners],
        "listener_security_protocol_map": dict(protocols),
        "features": {},
    }
    if broker.rack is not None:
        content["rack"] = broker.rack
    if unclean:
        content |= {"clean_shutdown": False, "unclean": unclean, "log_ends": log_ends or {}}
    if topic_ids:
        content["topic_ids"] = {topic: topic_id_text(topic_id) for topic, topic_id in topic_ids.items()}
    return _dump(content)


def encode_controller(node_id: int, now_ms: int) -> bytes:
    """``/controller``."""
    return _dump({"version": 2, "brokerid": node_id, "timestamp": str(now_ms), "kraftControllerEpoch": -1})


def decode_controller(data: bytes) -> int:
    """The node id in ``/controller``. Raises InvalidNodeError."""
    return number_of(json_object(data), "brokerid")


def decode_controller_epoch(data: bytes, version: int) -> int:
    """The epoch in ``/controller_epoch``. Each controller writes it once, one higher, so an epoch below the node's
    version was not written by a controller. Raises InvalidNodeError."""
    epoch = decimal(data, "the epoch")
    if epoch < version:
        raise InvalidNodeError(f"epoch {epoch} is lower than the number of times it was raised, {version}")
    return epoch


def encode_cluster_id(cluster_id: str) -> bytes:
    """``/cluster/id``."""
    return _dump({"version": "1", "id": cluster_id})


def decode_cluster_id(data: bytes) -> str:
    """Raises InvalidNodeError."""
    return text(json_object(data), "id")


def _dump(content: object) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode()
