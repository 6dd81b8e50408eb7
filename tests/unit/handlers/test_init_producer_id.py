"""InitProducerId: new ids at every version; the answer for a transactional id while there is no transaction
coordinator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .one_broker import OneBroker

COORDINATOR_LOAD_IN_PROGRESS, INVALID_REQUEST, INVALID_TRANSACTION_TIMEOUT = 14, 42, 50
TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53


def ask(broker: OneBroker, version: int = 5, **given: Any) -> tuple[int, int, int]:
    answer = broker.ask("init_producer_id", version, {"transactional_id": None, "transaction_timeout": 60000, **given})
    return int(answer.error_code), answer.producer_id, answer.producer_epoch


@pytest.mark.parametrize("version", range(6))
def test_gives_a_new_id_at_every_version(broker: OneBroker, version: int) -> None:
    assert [ask(broker, version) for _ in range(3)] == [(0, 0, 0), (0, 1, 0), (0, 2, 0)]


@pytest.mark.parametrize("epoch", [0, 5, 32766, 32767])
def test_an_idempotent_producer_gets_a_new_id_whatever_it_had(broker: OneBroker, epoch: int) -> None:
    ask(broker)
    assert ask(broker, producer_id=0, producer_epoch=epoch) == (0, 1, 0)


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"producer_id": 7}, INVALID_REQUEST),
        ({"producer_epoch": 7}, INVALID_REQUEST),
        ({"transactional_id": ""}, INVALID_REQUEST),
        ({"transactional_id": "t", "producer_id": 7}, INVALID_REQUEST),
        ({"transactional_id": "t", "transaction_timeout": 0}, INVALID_TRANSACTION_TIMEOUT),
        ({"transactional_id": "t", "transaction_timeout": -1}, INVALID_TRANSACTION_TIMEOUT),
        ({"transactional_id": "t", "transaction_timeout": 900_001}, INVALID_TRANSACTION_TIMEOUT),
        ({"transactional_id": "t"}, TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        ({"transactional_id": "t", "transaction_timeout": 900_000}, TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
    ],
)
def test_a_refused_producer_gets_no_id(broker: OneBroker, given: dict[str, Any], code: int) -> None:
    assert ask(broker, **given) == (code, -1, -1)
    assert ask(broker) == (0, 0, 0)


def test_failure_of_the_store_is_answered_coordinator_load_in_progress(
    broker: OneBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kafkastore.metadata.store import SessionExpiredError

    async def fail(path: str, watch: object = None) -> Any:
        raise SessionExpiredError(path)

    monkeypatch.setattr(broker.store, "get", fail)
    assert ask(broker) == (COORDINATOR_LOAD_IN_PROGRESS, -1, -1)


def test_refused_transactional_ids_are_logged_once(broker: OneBroker, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(3):
        ask(broker, transactional_id=f"id-{number}")
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 1, lines
    assert lines[0].startswith("transactional.id id-0 of ")
