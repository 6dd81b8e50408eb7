"""Logs that lack durable records: which replicas may lose them, and what the start logs."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from kafkastore.config import BrokerConfig
from kafkastore.errors import StartupError
from kafkastore.metadata.assignment import ReplicaAssignment
from kafkastore.metadata.leadership import Leadership
from kafkastore.metadata.stored_topics import StoredTopic
from kafkastore.server import log_losses

ID = bytes(range(16))
ALONE: dict[str, str] = {"log.dirs": "/data"}
MEMBER = {**ALONE, "kafkastore.metadata.path": "/shared/metadata.sqlite"}


class _Recovery:
    def __init__(
        self, notes: Sequence[tuple[bool, str]] = (), missing: Sequence[tuple[str, int, str, int]] = ()
    ) -> None:
        self.notes = [SimpleNamespace(is_loss=is_loss, text=text) for is_loss, text in notes]
        names = "topic", "partition", "log_dir", "log_end_offset"
        self.missing = [SimpleNamespace(**dict(zip(names, log, strict=True))) for log in missing]
        self.is_put_back = False

    def take_notes(self) -> list[SimpleNamespace]:
        return self.notes

    def missing_logs(self) -> list[SimpleNamespace]:
        return self.missing

    def put_back_shutdown(self) -> None:
        self.is_put_back = True


def _topic(*in_sync: tuple[int, ...]) -> dict[str, StoredTopic]:
    """A topic with one partition for each in-sync set, on brokers 1 and 2."""
    states: dict[int, Any] = {number: Leadership(isr[0], 0, isr) for number, isr in enumerate(in_sync)}
    return {"t": StoredTopic("t", ID, [ReplicaAssignment((1, 2))] * len(in_sync), states, {})}


def test_accepted_losses_name_partition_and_offset() -> None:
    config = BrokerConfig({**ALONE, log_losses.ACCEPT_KEY: "a-b.c-3:5120, d-0:0"})
    assert log_losses.accepted(config) == [("a-b.c", 3, 5120), ("d", 0, 0)]
    assert log_losses.accepted(BrokerConfig(ALONE)) == []


@pytest.mark.parametrize("text", ["orders", "orders-3", "orders-3:", "orders:5", "-3:5", "orders-3:-5", "orders-x:1"])
def test_accepted_loss_that_names_no_offset_is_refused_with_the_key(text: str) -> None:
    with pytest.raises(StartupError, match=f"kafkastore.accept.log.loss={text}: "):
        log_losses.accepted(BrokerConfig({**ALONE, log_losses.ACCEPT_KEY: text}))


def test_partition_counts_as_replicated_only_with_another_in_sync_replica_in_a_cluster() -> None:
    topics = _topic((1, 2), (1,), (2,))
    assert log_losses.replicated(BrokerConfig(MEMBER), topics) == [("t", [0, 2])]
    assert log_losses.replicated(BrokerConfig(ALONE), topics) == []


def test_missing_partition_refuses_the_start_unless_others_have_it_or_it_is_accepted_or_deleted() -> None:
    topics = _topic((1, 2), (1,))
    missing = [("t", 0, "/data", 7), ("t", 1, "/data", 9), ("t", 5, "/data", 3), ("gone", 0, "/data", 4)]
    recovery = _Recovery(missing=missing)
    with pytest.raises(StartupError) as refusal:
        log_losses.refuse_missing(BrokerConfig(MEMBER), recovery, topics)  # type: ignore[arg-type]
    assert str(refusal.value) == (
        "/data/t-1 is missing, which had the records up to offset 8; restore what is missing, or accept the loss, "
        "after which each begins anew at offset 0, with kafkastore.accept.log.loss=t-1:0"
    )
    assert recovery.is_put_back
    recovery = _Recovery(missing=missing)
    config = BrokerConfig({**MEMBER, log_losses.ACCEPT_KEY: "t-1:0"})
    log_losses.refuse_missing(config, recovery, topics)  # type: ignore[arg-type]
    assert not recovery.is_put_back
    alone = _Recovery(missing=missing)
    with pytest.raises(StartupError, match=r"and 1 more partitions.*=t-0:0,t-1:0$"):
        log_losses.refuse_missing(BrokerConfig(ALONE), alone, topics)  # type: ignore[arg-type]


def test_thousands_of_notes_become_few_lines_that_name_every_partition(caplog: pytest.LogCaptureFixture) -> None:
    notes = [(False, f"t-{number}: a torn tail") for number in range(3000)]
    notes += [(True, f"t-{number}: offsets 0 to 9 are gone") for number in range(3000, 3400)]
    caplog.set_level(logging.INFO, "kafkastore.server.log_losses")
    log_losses.tell(_Recovery(notes=notes))  # type: ignore[arg-type]
    assert len(caplog.records) < 300
    text = "\n".join(record.getMessage() + "," for record in caplog.records)
    assert all(f"t-{number}," in text or f"t-{number}:" in text for number in range(3400))
    assert [record.levelname for record in caplog.records[:200]] == ["WARNING"] * 200
