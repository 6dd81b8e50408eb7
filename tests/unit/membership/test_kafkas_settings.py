"""What Kafka's metadata says and is not known here: counted, or a refusal where it may have denied something."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from pathlib import Path

import pytest

from kafkastore.config import BrokerConfig
from kafkastore.errors import StartupError
from kafkastore.membership.kafkas_settings import take_over
from kafkastore.metadata.sqlite import SqliteStore
from unit.metadata.test_kafka_metadata import batch, compact, config_record, write

TOPIC, WRITE, DENY, ALLOW = 2, 4, 2, 3
AUTHORIZER = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}


def acl(resource_type: int, operation: int, permission: int, number: int = 0) -> bytes:
    names = compact("t"), compact("User:a"), compact("*")
    what = bytes([resource_type]), b"\x03", bytes([operation, permission])
    return b"\x01\x12\x00" + bytes([number] * 16) + what[0] + names[0] + what[1] + names[1] + names[2] + what[2] + b"\0"


def taken(folder: Path, *values: bytes, config: dict[str, str] | None = None) -> list[str]:
    """The paths below the root of a new store that has taken over these records."""
    write(folder, f"{0:020d}.log", *(batch(offset, value) for offset, value in enumerate(values)))

    async def run() -> list[str]:
        store = SqliteStore(str(folder / "metadata.sqlite"))
        await store.connect()
        try:
            await take_over(store, BrokerConfig({"log.dirs": str(folder), **(config or {})}))
            return [path for path, data, _ in await store.get_tree("/") if data]
        finally:
            await store.close()

    return asyncio.run(run())


def test_rule_that_may_deny_and_is_not_known_refuses_the_start(tmp_path: Path) -> None:
    for unknown in (acl(99, WRITE, DENY), acl(TOPIC, 99, DENY), acl(TOPIC, WRITE, 9)):
        with pytest.raises(StartupError, match=r"may deny something to User:a .* delete it with kafka-acls"):
            taken(tmp_path, unknown)


def test_what_is_not_known_otherwise_is_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    known, unknown = acl(TOPIC, WRITE, DENY), acl(99, WRITE, ALLOW, 1)
    group = config_record(32, "a/..", "consumer.session.timeout.ms", "50000")
    metrics = config_record(16, "..", "interval.ms", "1000")
    paths = ["/config/client-metrics/%2E%2E", "/config/groups/a%2F..", "/kafka-acl/Topic/t"]
    with caplog.at_level(logging.INFO):
        assert taken(tmp_path, known, unknown, group, metrics) == paths
    assert [record.getMessage() for record in caplog.records] == [
        "Taken over from Kafka's metadata: 1 ACLs, 1 configurations of groups, 1 subscriptions to clients' metrics",
        "Left out of Kafka's metadata, since this version does not have them: 1 ACLs",
        "1 ACLs have no effect without authorizer.class.name",
    ]


def test_nothing_is_taken_over_while_another_process_has_the_directory(tmp_path: Path) -> None:
    (tmp_path / ".lock").touch()
    holds = "import fcntl, sys; file = open(sys.argv[1], 'ab'); fcntl.lockf(file, fcntl.LOCK_EX); print(); input()"
    command = [sys.executable, "-c", holds, str(tmp_path / ".lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as kafka:
        assert kafka.stdout is not None
        kafka.stdout.readline()
        with pytest.raises(StartupError, match="is in use by a running broker; stop it first"):
            taken(tmp_path, acl(TOPIC, WRITE, DENY))
        kafka.kill()
    assert taken(tmp_path, acl(TOPIC, WRITE, DENY)) == ["/kafka-acl/Topic/t"]


def test_damaged_metadata_refuses_the_start_of_a_broker_with_an_authorizer(tmp_path: Path) -> None:
    damaged = acl(TOPIC, WRITE, DENY)[:20]
    with pytest.raises(StartupError, match="may have ACLs that this broker would not know: a record of kind 18"):
        taken(tmp_path, damaged, config=AUTHORIZER)
    assert taken(tmp_path, damaged) == []
