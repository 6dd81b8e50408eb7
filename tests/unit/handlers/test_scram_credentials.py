"""AlterUserScramCredentials and DescribeUserScramCredentials (KIP-554)."""

from __future__ import annotations

from typing import Any

import pytest

from kafkastore.errors import ErrorCode

from .one_broker import OneBroker

SHA_256, SHA_512 = 1, 2


def upsertion(name: str = "alice", **changes: Any) -> dict[str, Any]:
    given = {"mechanism": SHA_256, "iterations": 4096, "salt": b"salt", "salted_password": b"p" * 32}
    return {"name": name, **given, **changes}


def alter(
    broker: OneBroker, upsertions: list[dict[str, Any]], deletions: tuple[tuple[str, int], ...] = ()
) -> dict[str, tuple[int, str | None]]:
    deleted = [{"name": name, "mechanism": mechanism} for name, mechanism in deletions]
    response = broker.ask("alter_user_scram_credentials", 0, {"deletions": deleted, "upsertions": upsertions})
    return {one.user: (one.error_code, one.error_message) for one in response.results}


def described(broker: OneBroker, *users: str) -> dict[str, tuple[int, dict[int, int]]]:
    named = [{"name": user} for user in users] or None
    response = broker.ask("describe_user_scram_credentials", 0, {"users": named})
    return {
        one.user: (one.error_code, {info.mechanism: info.iterations for info in one.credential_infos})
        for one in response.results
    }


def test_users_are_set_described_and_deleted(broker: OneBroker) -> None:
    both = [upsertion(), upsertion(mechanism=SHA_512, iterations=8192, salted_password=b"q" * 64), upsertion("bob")]
    assert alter(broker, both) == {"alice": (0, None), "bob": (0, None)}
    assert described(broker) == {"alice": (0, {SHA_256: 4096, SHA_512: 8192}), "bob": (0, {SHA_256: 4096})}
    assert alter(broker, [], (("alice", SHA_256), ("bob", SHA_256))) == {"alice": (0, None), "bob": (0, None)}
    assert described(broker, "alice", "bob") == {
        "alice": (0, {SHA_512: 8192}),
        "bob": (ErrorCode.RESOURCE_NOT_FOUND, {}),
    }


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        ({"iterations": 4095}, ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations"),
        ({"iterations": -1}, ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations"),
        ({"iterations": 16_385}, ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations"),
        ({"mechanism": 0}, ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"),
        ({"mechanism": 3}, ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"),
        ({"name": ""}, ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty"),
        ({"name": "a" * 4097}, ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be longer than 4096 bytes"),
        ({"salt": b""}, ErrorCode.UNACCEPTABLE_CREDENTIAL, "The salt must have 1 to 4096 bytes"),
        (
            {"salted_password": b""},
            ErrorCode.UNACCEPTABLE_CREDENTIAL,
            "The salted password for SCRAM-SHA-256 must have 32 bytes",
        ),
    ],
)
def test_what_is_not_acceptable_fails_its_user_alone(
    broker: OneBroker, change: dict[str, Any], code: int, message: str
) -> None:
    wrong = upsertion(**change)
    assert alter(broker, [wrong, upsertion("bob")]) == {wrong["name"]: (code, message), "bob": (0, None)}
    assert described(broker) == {"bob": (0, {SHA_256: 4096})}


def test_a_user_whose_changes_do_not_go_together_is_left_as_it_was(broker: OneBroker) -> None:
    assert alter(broker, [upsertion()]) == {"alice": (0, None)}
    twice = (ErrorCode.DUPLICATE_RESOURCE, "A user credential cannot be altered twice in the same request")
    assert alter(broker, [upsertion(iterations=5000)], (("alice", SHA_256),)) == {"alice": twice}
    assert alter(broker, [upsertion(), upsertion()]) == {"alice": twice}
    gone = (ErrorCode.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist")
    assert alter(broker, [upsertion(iterations=5000)], (("alice", SHA_512),)) == {"alice": gone}
    assert described(broker) == {"alice": (0, {SHA_256: 4096})}
