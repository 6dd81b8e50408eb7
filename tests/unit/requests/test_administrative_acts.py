"""The audit log of administrative requests, through the broker that reads and answers them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from stepped import Request
from world import run, running_broker

from kafkastore.authorization.audit_log import LINES, AuditLog
from kafkastore.config.secret import write_secret
from kafkastore.requests.administrative_acts import AUDITED
from kafkastore.requests.registry import APIS, BY_NAME
from unit.plain_messages import request_body

SECRET = "a-secret-of-20-bytes"
LOGGER = "kafka.authorizer.logger"
TOPIC = {"name": "new", "num_partitions": 3, "replication_factor": 1, "assignments": (), "configs": ()}
SCRAM = {"name": "alice", "mechanism": 2, "iterations": 4096, "salt": b"salt", "salted_password": SECRET.encode()}

READ_ONLY = frozenset(
    (
        "ApiVersions", "Fetch", "FindCoordinator", "ListOffsets", "Metadata", "OffsetFetch", "OffsetForLeaderEpoch",
        "DescribeAcls", "DescribeClientQuotas", "DescribeCluster", "DescribeConfigs", "DescribeDelegationToken",
        "DescribeGroups", "DescribeLogDirs", "DescribeProducers", "DescribeQuorum", "DescribeTopicPartitions",
        "DescribeTransactions", "DescribeUserScramCredentials", "ListConfigResources", "ListGroups",
        "ListPartitionReassignments", "ListTransactions",
    )
)  # fmt: skip
OF_CLIENTS = frozenset(
    (
        "Produce", "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit", "InitProducerId",
        "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn", "WriteTxnMarkers",
    )
)  # fmt: skip
LOGGED_BY_CHANGE = frozenset(("CreateAcls", "DeleteAcls"))


def configured(kind: int, name: str, **configs: str) -> dict[str, Any]:
    entries = [{"name": key.replace("_", "."), "config_operation": 0, "value": value} for key, value in configs.items()]
    return {"resources": [{"resource_type": kind, "resource_name": name, "configs": entries}], "validate_only": False}


def lines_of(
    folder: Path,
    caplog: pytest.LogCaptureFixture,
    *asked: tuple[str, dict[str, Any]],
    config: dict[str, str] | None = None,
    **more: Any,
) -> list[str]:
    """The audit log of requests that are sent one after the other."""
    caplog.set_level(logging.INFO, LOGGER)

    async def body() -> None:
        async with running_broker(folder, **(config or {})) as broker:
            engine = broker.services.engine
            for token, (name, given) in enumerate(asked, start=1):
                api = BY_NAME[name]
                body = request_body(api, api.max_version, given)
                fields = {"principal": "User:alice", "client_host": "/10.0.0.1", **more}
                engine.submit(Request(api.key, api.max_version, body, token, **fields))
                async with asyncio.timeout(10):
                    while token not in engine.answers:  # noqa: ASYNC110 - the engine has no event for its calls
                        await asyncio.sleep(0)

    run(body)
    return [record.getMessage() for record in caplog.records if record.name == LOGGER]


@pytest.mark.parametrize(
    ("name", "given", "operation", "resource", "result"),
    [
        ("CreateTopics", {"topics": [TOPIC]}, "CREATE", "Topic:LITERAL:new (partitions = 3)", "NONE"),
        ("DeleteTopics", {"topics": [{"name": "gone", "topic_id": None}]}, "DELETE", "Topic:LITERAL:gone",
         "UNKNOWN_TOPIC_OR_PARTITION"),
        ("DeleteTopics", {"topics": [{"name": None, "topic_id": bytes([1] * 16)}]}, "DELETE",
         "Topic:LITERAL: (id = AQEBAQEBAQEBAQEBAQEBAQ)", "UNKNOWN_TOPIC_ID"),
        ("CreatePartitions", {"topics": [{"name": "gone", "count": 4, "assignments": None}]}, "ALTER",
         "Topic:LITERAL:gone (partitions = 4)", "UNKNOWN_TOPIC_OR_PARTITION"),
        ("DeleteRecords", {"topics": [{"name": "gone", "partitions": [{"partition_index": 1, "offset": 7}]}]}, "DELETE",
         "Topic:LITERAL:gone (partition 1 before offset 7)", "UNKNOWN_TOPIC_OR_PARTITION"),
        ("AlterConfigs", {"resources": [{"resource_type": 2, "resource_name": "gone", "configs": [
            {"name": "retention.ms", "value": "5"}]}], "validate_only": False}, "ALTER_CONFIGS",
         "Topic:LITERAL:gone (retention.ms set 5)", "UNKNOWN_TOPIC_OR_PARTITION"),
        ("IncrementalAlterConfigs", configured(4, "", ssl_keystore_password=SECRET, log_retention_hours="5"),
         "ALTER_CONFIGS",
         "Broker:LITERAL: (ssl.keystore.password set [hidden], log.retention.hours set 5)", "INVALID_REQUEST"),
        ("IncrementalAlterConfigs", configured(4, "", what_nobody_knows=SECRET), "ALTER_CONFIGS",
         "Broker:LITERAL: (what.nobody.knows set [hidden])", "INVALID_REQUEST"),
        ("IncrementalAlterConfigs", configured(32, "g", consumer_session_timeout_ms="1", else_x=SECRET),
         "ALTER_CONFIGS",
         "Group:LITERAL:g (consumer.session.timeout.ms set 1, else.x set [hidden])", "INVALID_CONFIG"),
        ("IncrementalAlterConfigs", configured(16, "m", interval_ms="1", metrics="x"), "ALTER_CONFIGS",
         "ClientMetrics:LITERAL:m (interval.ms set 1, metrics set x)", "INVALID_REQUEST"),
        ("IncrementalAlterConfigs", configured(8, "1", kafka_authorizer_logger="LOUD"), "ALTER_CONFIGS",
         "BrokerLogger:LITERAL:1 (kafka.authorizer.logger set [hidden])", "INVALID_CONFIG"),
        ("AlterReplicaLogDirs", {"dirs": [{"path": "/x", "topics": [{"name": "gone", "partitions": [0, 2]}]}]}, "ALTER",
         "Topic:LITERAL:gone (partitions 0 2, to /x)", "LOG_DIR_NOT_FOUND"),
        ("ElectLeaders", {"election_type": 1, "topic_partitions": [{"topic": "gone", "partitions": [0]}]}, "ALTER",
         "Topic:LITERAL:gone (unclean leaders, partitions 0)", "UNKNOWN_TOPIC_OR_PARTITION"),
        ("ElectLeaders", {"election_type": 0, "topic_partitions": None}, "ALTER",
         "Cluster:LITERAL:kafka-cluster (preferred leaders of all partitions)", "NONE"),
        ("AlterPartitionReassignments", {"topics": [{"name": "gone", "partitions": [
            {"partition_index": 0, "replicas": [1]}, {"partition_index": 1, "replicas": None}]}]}, "ALTER",
         "Topic:LITERAL:gone (partition 0 to 1, partition 1 cancelled)", "UNKNOWN_TOPIC_OR_PARTITION"),
        ("DeleteGroups", {"groups_names": ["g", "h"]}, "DELETE", "Group:LITERAL:g, Group:LITERAL:h", ""),
        ("OffsetDelete", {"group_id": "g", "topics": [{"name": "t", "partitions": [{"partition_index": 3}]}]}, "DELETE",
         "Group:LITERAL:g (offsets of t partitions 3)", ""),
        ("AlterClientQuotas", {"entries": [{"entity": [{"entity_type": "user", "entity_name": None}], "ops": [
            {"key": "producer_byte_rate", "value": 5.0, "remove": False},
            {"key": "consumer_byte_rate", "value": 0.0, "remove": True}]}], "validate_only": False}, "ALTER_CONFIGS",
         "Cluster:LITERAL:kafka-cluster (quotas of user by default, producer_byte_rate set 5, consumer_byte_rate "
         "deleted)", "NONE"),
        ("AlterUserScramCredentials", {"deletions": [{"name": "bob", "mechanism": 1}], "upsertions": [SCRAM]}, "ALTER",
         "User:LITERAL:bob (SCRAM-SHA-256 deleted), User:LITERAL:alice (SCRAM-SHA-512 set)", ""),
        ("UpdateFeatures", {"feature_updates": [{"feature": "f", "max_version_level": 3, "upgrade_type": 1}]}, "ALTER",
         "Cluster:LITERAL:kafka-cluster (feature f to 3)", ""),
        ("CreateDelegationToken", {"owner_principal_type": "User", "owner_principal_name": "carol",
                                   "renewers": [{"principal_type": "User", "principal_name": "dan"}],
                                   "max_lifetime_ms": -1}, "CREATE_TOKENS",
         "User:LITERAL:User:carol (renewer User:dan)", "DELEGATION_TOKEN_AUTHORIZATION_FAILED"),
        ("RenewDelegationToken", {"hmac": SECRET.encode(), "renew_period_ms": 1}, "ALTER",
         "DelegationToken:LITERAL: (not known)", ""),
        ("ExpireDelegationToken", {"hmac": SECRET.encode(), "expiry_time_period_ms": 1}, "ALTER",
         "DelegationToken:LITERAL: (not known)", ""),
    ],
)  # fmt: skip
def test_each_administrative_act_has_a_line_without_secrets(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str, given: dict[str, Any], operation: str, resource: str,
    result: str,
) -> None:  # fmt: skip
    (line,) = lines_of(tmp_path, caplog, (name, given))
    decided = "Denied" if result == "DELEGATION_TOKEN_AUTHORIZATION_FAILED" else "Allowed"
    before = f"Principal = User:alice is {decided} operation = {operation} from host = 10.0.0.1 on resource = "
    assert line.startswith(f"{before}{resource} for request = {name} with resourceRefCount = ")
    assert line.partition(" and result = ")[2] == result or not result
    assert SECRET not in caplog.text
    assert SECRET.encode().hex() not in caplog.text


def test_every_api_is_audited_or_changes_nothing_of_the_cluster() -> None:
    assert {api.name for api in APIS} == READ_ONLY | OF_CLIENTS | LOGGED_BY_CHANGE | AUDITED


def test_requests_that_only_validate_and_those_of_brokers_have_no_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert lines_of(tmp_path / "a", caplog, ("CreateTopics", {"topics": [TOPIC], "validate_only": True})) == []
    assert lines_of(tmp_path / "b", caplog, ("CreateTopics", {"topics": [TOPIC]}), client_host="") == []


def test_names_of_clients_neither_break_a_line_nor_make_it_long(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    names = [f"\n{number}{'x' * 5000}" for number in range(100)]
    (line,) = lines_of(tmp_path, caplog, ("DeleteGroups", {"groups_names": names}))
    assert line.isprintable()
    assert "\\n0xxx" in line
    assert ", and 98 more for request = DeleteGroups with resourceRefCount = 100" in line
    assert len(line) < 1000


def written(caplog: pytest.LogCaptureFixture, log: AuditLog, times_s: Iterable[float]) -> list[str]:
    caplog.clear()
    for time_s in times_s:
        log.write("done", time_s)
    return [record.getMessage() for record in caplog.records]


def test_lines_beyond_the_rate_are_left_out_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, LOGGER)
    log = AuditLog()
    assert written(caplog, log, [5.0] * (LINES + 7)) == ["done"] * LINES
    assert written(caplog, log, [5.9]) == []
    assert written(caplog, log, [6.0, 6.0]) == ["done (8 more lines before it are left out)", "done"]


def test_request_of_a_super_user_on_the_listener_of_the_brokers_has_a_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    secret = tmp_path / "secret"
    write_secret(secret, SECRET)
    asked = "CreateTopics", {"topics": [TOPIC]}
    config = {"kafkastore__inter__broker__secret__file": str(secret)}
    (line,) = lines_of(tmp_path / "broker", caplog, asked, config=config, is_broker=True)
    assert "User:alice is Allowed operation = CREATE" in line
