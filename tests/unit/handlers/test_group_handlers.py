"""The requests of groups and offsets: the conversation recorded from Apache Kafka 4.3, with a started broker, and
details of each handler."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fixtures.offsets.conversation import Conversation
from fixtures.offsets.wire_client import WireClient
from fixtures.offsets.wire_client import plain as plain_answer
from kafkastore._core import message_type
from kafkastore.errors import ErrorCode
from kafkastore.handlers.repeats import REPEATED_BYTES
from kafkastore.requests.registry import BY_NAME
from peer.broker_process import wait_until
from peer.kafkastore_broker import KafkastoreBroker
from unit.handlers.group_broker import GroupBroker
from unit.plain_messages import plain

FIXTURES = Path(__file__).parent.parent.parent / "fixtures" / "offsets"

LIMIT_S = 30.0
GROUP_APIS = [
    "FindCoordinator", "JoinGroup", "SyncGroup", "LeaveGroup", "OffsetDelete", "ListGroups", "DescribeGroups",
    "DeleteGroups",
]  # fmt: skip


def kafkas_answers() -> list[Any]:
    loaded: list[Any] = json.loads((FIXTURES / "answers.json").read_text())
    return loaded


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WireClient]:
    """A client of a new broker, as in the recording; the data plane answers a part of the conversation."""
    broker = KafkastoreBroker(tmp_path_factory.mktemp("groups"), {"group.max.size": "5"})
    try:
        broker.start()
        client = WireClient(broker.port)
        yield client
        client.close()
    finally:
        broker.kill()


@pytest.fixture(scope="module")
def our_answers(client: WireClient) -> list[Any]:
    topics = [{"name": "t", "num_partitions": 3, "replication_factor": 1, "assignments": [], "configs": []}]
    created = client.ask("create_topics", 7, topics=topics, timeout_ms=5000, validate_only=False)
    client.ask("find_coordinator", 4, key_type=0, coordinator_keys=["g"])
    wait_until(lambda: client.ask("list_groups", 0).error_code == ErrorCode.NONE, LIMIT_S, "the groups are loaded")
    conversation = Conversation(
        lambda *of, **fields: plain_answer(client.ask(*of, **fields)), created.topics[0].topic_id
    )
    through_json: list[Any] = json.loads(json.dumps(conversation.hold()))
    return through_json


@pytest.mark.parametrize("number", range(len(kafkas_answers())))
def test_answers_as_kafka_did(number: int, our_answers: list[Any]) -> None:
    assert our_answers[number] == kafkas_answers()[number]


def test_nothing_else_is_asked(our_answers: list[Any]) -> None:
    assert len(our_answers) == len(kafkas_answers())


@pytest.mark.parametrize("name", GROUP_APIS)
def test_every_advertised_version_is_answered_when_the_coordinator_is_elsewhere(name: str) -> None:
    api = BY_NAME[name]
    fields: dict[str, Any] = {
        "group_id": "g", "member_id": "m", "generation_id": 1, "generation_id_or_member_epoch": 1,
        "retention_time_ms": -1, "session_timeout_ms": 10_000, "rebalance_timeout_ms": 10_000,
        "protocol_type": "consumer", "protocol_name": "range", "protocols": [],
        "assignments": [], "members": [{"member_id": "m", "group_instance_id": None}],
        "topics": [], "groups": [], "groups_names": ["g"], "states_filter": [], "types_filter": [],
        "require_stable": False, "key": "g", "key_type": 0, "coordinator_keys": ["g"],
        "include_authorized_operations": False, "reason": None, "group_instance_id": None,
    }  # fmt: skip
    if name == "DescribeGroups":
        fields["groups"] = ["g"]
    known = message_type(f"{name}Request").__match_args__
    fields = {field: value for field, value in fields.items() if field in known}
    for version in range(api.min_version, api.max_version + 1):
        broker = GroupBroker()
        broker.world.coordinator.on_resignation(broker.world.partition_of("g"))
        answer = json.dumps(plain(broker.ask(api.module, version, **fields)), default=str)
        wanted = ErrorCode.NONE if name in ("FindCoordinator", "ListGroups") else ErrorCode.NOT_COORDINATOR
        assert f'"error_code": {wanted}' in answer, (version, answer)


def test_the_offsets_topic_is_made_when_it_is_first_asked_for_and_answered_at_once() -> None:
    broker = GroupBroker()
    assert broker.offsets_topic() is None
    answer = plain(broker.ask("find_coordinator", 4, key_type=0, coordinator_keys=["g", "h"]))
    assert [row["port"] for row in answer["coordinators"]] == [9092, 9092]  # of the listener that got the request
    assert broker.topics.created == ["__consumer_offsets"]


def test_a_topic_that_cannot_be_made_is_a_coordinator_that_is_not_available() -> None:
    broker = GroupBroker()
    broker.topics.is_refusing = True
    answer = plain(broker.ask("find_coordinator", 3, key="g", key_type=0))
    assert answer["error_code"] == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert answer["error_message"] == "The coordinator is not available."


def test_the_topic_of_transactions_is_made_when_a_transactional_id_is_first_asked_for() -> None:
    broker = GroupBroker()
    answer = plain(broker.ask("find_coordinator", 4, key_type=1, coordinator_keys=["tx", "ty"]))
    assert [(row["error_code"], row["node_id"], row["port"]) for row in answer["coordinators"]] == [(0, 1, 9092)] * 2
    assert [row["error_message"] for row in answer["coordinators"]] == ["", ""]
    assert broker.topics.created == ["__transaction_state"]
    answer = plain(broker.ask("find_coordinator", 3, key="tx", key_type=1))
    assert (answer["error_code"], answer["error_message"], answer["port"]) == (0, "NONE", 9092)
    assert broker.topics.created == ["__transaction_state"]


def test_a_transactional_id_whose_topic_cannot_be_made_has_no_coordinator_available() -> None:
    broker = GroupBroker()
    broker.topics.is_refusing = True
    answer = plain(broker.ask("find_coordinator", 4, key_type=1, coordinator_keys=["tx"]))
    assert [row["error_code"] for row in answer["coordinators"]] == [ErrorCode.COORDINATOR_NOT_AVAILABLE]


def test_a_share_group_has_no_coordinator_yet() -> None:
    broker = GroupBroker()
    answer = plain(broker.ask("find_coordinator", 6, key_type=2, coordinator_keys=["g:AAAAAAAAAAAAAAAAAAAAAA:0"]))
    assert [row["error_code"] for row in answer["coordinators"]] == [ErrorCode.INVALID_REQUEST]
    assert broker.topics.created == []


def test_a_join_without_rebalance_timeout_takes_the_session_timeout() -> None:
    broker = GroupBroker()
    protocols = [{"name": "range", "metadata": b""}]
    fields = {"group_id": "g", "member_id": "", "protocol_type": "consumer", "protocols": protocols}
    joined = broker.ask("join_group", 0, session_timeout_ms=7000, **fields)
    assert broker.world.group().members[joined.member_id].rebalance_timeout_ms == 7000


def test_a_group_that_is_named_again_is_described_again_for_one_megabyte() -> None:
    broker = GroupBroker()
    broker.world.stable_group(group_id="a", client_id="c" * 30_000)
    described = broker.ask("describe_groups", 5, groups=["a", "b"] * 100, include_authorized_operations=False).groups
    assert [group.group_id for group in described] == ["a", "b"] * 100
    codes = [group.error_code for group in described[::2]]
    answered = codes.count(ErrorCode.NONE)
    row_bytes = 90_000  # client id, member id and assignment; the first answer is no repeat
    assert (answered - 2) * row_bytes <= REPEATED_BYTES < answered * row_bytes
    assert codes == [ErrorCode.NONE] * answered + [ErrorCode.INVALID_REQUEST] * (100 - answered)


def test_a_long_list_of_leaving_members_is_answered_member_by_member() -> None:
    broker = GroupBroker()
    joined = broker.ask(
        "join_group", 3, group_id="g", member_id="", session_timeout_ms=10_000, rebalance_timeout_ms=10_000,
        protocol_type="consumer", protocols=[{"name": "range", "metadata": b"x"}],
    )  # fmt: skip
    members = [{"member_id": f"m{number}", "group_instance_id": None} for number in range(1000)]
    members[700]["member_id"] = joined.member_id
    left = broker.ask("leave_group", 3, group_id="g", members=members)
    assert left.error_code == ErrorCode.NONE
    assert [row.member_id for row in left.members] == [member["member_id"] for member in members]
    codes = [row.error_code for row in left.members]
    assert codes == [ErrorCode.UNKNOWN_MEMBER_ID] * 700 + [ErrorCode.NONE] + [ErrorCode.UNKNOWN_MEMBER_ID] * 299
