"""Requests whose strings are not UTF-8: a client that writes another encoding names things in the same way every time,
and Kafka reads each malformed byte as U+FFFD."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parity.batch import record_batch
from parity.cases import GROUP, SET, TOPIC, Case
from parity.raw_client import RawClient

NOT_TEXT: list[Case] = []
MARK, WRONG = b"\x01", b"\xe9"
NAME = "caf\x01"
ODD = "\x01\x01x\x01"


class WrongSocket:
    """Sends WRONG for each MARK of a request's names."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def sendall(self, data: bytes) -> None:
        for name in (NAME, ODD):
            marked = name.encode()
            data = data.replace(marked, marked.replace(MARK, WRONG))
        self._connection.sendall(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


class NotTextClient(RawClient):
    """Also its client id is none."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(host, port, client_id=NAME)
        self._socket = WrongSocket(self._socket)  # type: ignore[assignment]


def case(name: str, api: str, versions: int | tuple[int, ...], awaited: str = "", **given: Any) -> None:
    chosen = (versions,) if isinstance(versions, int) else versions
    NOT_TEXT.append(Case(name, api, chosen, given, is_settled=bool(awaited), awaited=awaited))


def topic_of(name: str) -> Mapping[str, Any]:
    return {"name": name, "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}


def commits(group: str, metadata: str = "") -> dict[str, Any]:
    partition = {"partition_index": 0, "committed_offset": 5, "committed_leader_epoch": -1}
    topics = [{"name": "t", "partitions": [{**partition, "committed_metadata": metadata}]}]
    who = {"generation_id_or_member_epoch": -1, "member_id": "", "group_instance_id": None}
    return {"group_id": group, **who, "topics": topics}


case("", "create_topics", 5, topics=[topic_of("t")], timeout_ms=5000, validate_only=False)
case("", "create_topics", 5, topics=[topic_of("u")], timeout_ms=5000, validate_only=False)
for name in (NAME, ODD):
    case(f"create: {name!r}", "create_topics", (2, 7), topics=[topic_of(name)], timeout_ms=5000, validate_only=False)
    case(f"delete: {name!r}", "delete_topics", 5, topic_names=[name], timeout_ms=5000)
    case(f"metadata: {name!r}", "metadata", (1, 8), topics=[{"name": name}, {"name": "t"}])
    sent = {"name": name, "partition_data": [{"index": 0, "records": record_batch(1)}]}
    case(f"produce: {name!r}", "produce", (3, 9), transactional_id=None, acks=1, timeout_ms=5000, topic_data=[sent])
case("list: a topic", "list_offsets", 6, replica_id=-1, isolation_level=0, topics=[
    {"name": name, "partitions": [{"partition_index": 0, "current_leader_epoch": -1, "timestamp": -1}]}
    for name in (NAME, "t")
])  # fmt: skip
case("", "find_coordinator", 2, awaited='"error_code": 0', key="first", key_type=0)
case("", "offset_commit", 7, awaited='"error_code": 0', **commits("first"))
for version in (7, 8):
    case("commit: a group", "offset_commit", version, **commits(NAME))
    case("commit: metadata", "offset_commit", version, **commits("plain", ODD))
for group in (NAME, "caf\ufffd", "plain", ODD):
    asked = {"group_id": group, "topics": [{"name": "t", "partition_indexes": [0]}]}
    case(f"fetch: offsets of {group!r}", "offset_fetch", 7, **asked, require_stable=False)
    case(f"fetch: offsets of {group!r} with groups", "offset_fetch", 8, groups=[asked], require_stable=False)
case("groups: described", "describe_groups", (0, 5), groups=[NAME, ODD, "caf\ufffd"])
case("groups: listed", "list_groups", 4, states_filter=[])
case("groups: deleted", "delete_groups", 2, groups_names=[NAME, ODD])
case("groups: none is left of them", "offset_fetch", 7, group_id="caf\ufffd", topics=None, require_stable=False)
case("configs: of a topic", "describe_configs", 4, resources=[
    {"resource_type": TOPIC, "resource_name": NAME, "configuration_keys": None}
])  # fmt: skip
case("configs: of a group", "incremental_alter_configs", 1, resources=[{
    "resource_type": GROUP, "resource_name": NAME,
    "configs": [{"name": "consumer.session.timeout.ms", "config_operation": SET, "value": "50000"}],
}])  # fmt: skip
case("configs: groups", "list_config_resources", 1, resource_types=[GROUP])
case("configs: a value", "incremental_alter_configs", 1, resources=[{
    "resource_type": TOPIC, "resource_name": "t",
    "configs": [{"name": "cleanup.policy", "config_operation": SET, "value": NAME}],
}])  # fmt: skip
case("versions: a client", "api_versions", 3, client_software_name=NAME, client_software_version="1")
