"""Users of SCRAM: which credentials there are, and setting and deleting them. See ``admin_client.py``.

A password is salted and hashed here: brokers never see it, and nothing here shows it.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkastore.admin.admin_client import NONE, WORK_MS, KafkaError, check, refusals
from kafkastore.config.sasl import SCRAM_SHA_256, SCRAM_SHA_512
from kafkastore.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kafkastore.admin.admin_client import AdminClient

MECHANISMS: Final = {1: SCRAM_SHA_256, 2: SCRAM_SHA_512}
"""org.apache.kafka.clients.admin.ScramMechanism"""
DIGESTS: Final = {SCRAM_SHA_256: "sha256", SCRAM_SHA_512: "sha512"}
NUMBERS: Final = {name: number for number, name in MECHANISMS.items()}
ITERATIONS: Final = 4096
"""Kafka's default, and the fewest that it takes."""
MOST_ITERATIONS: Final = 16384
SALT_BYTES: Final = 24
DUPLICATE: Final = ErrorCode.DUPLICATE_RESOURCE
EMPTY: Final = KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Password must not be empty")
"""Refused here: a broker sees a salted hash, and cannot tell."""


class ScramCredential(NamedTuple):
    mechanism: str
    iterations: int


class Upsertion(NamedTuple):
    user: str
    mechanism: str
    password: str
    iterations: int = ITERATIONS


class Deletion(NamedTuple):
    user: str
    mechanism: str


async def describe_users(
    client: AdminClient, users: Sequence[str] | None = None
) -> dict[str, list[ScramCredential] | KafkaError]:
    """The credentials of these users, or of all that have some; or why they are not told. Raises KafkaError."""

    async def attempt() -> dict[str, list[ScramCredential] | KafkaError]:
        names = None if users is None else [{"name": user} for user in users]
        answer = await client.ask_any("DescribeUserScramCredentials", {"users": names})
        check(answer)
        found: dict[str, list[ScramCredential] | KafkaError] = {}
        for row in answer.results:
            if row.error_code == NONE:
                found[row.user] = [
                    ScramCredential(MECHANISMS.get(one.mechanism, "UNKNOWN"), one.iterations)
                    for one in row.credential_infos
                ]
            else:
                found[row.user] = KafkaError(row.error_code, row.error_message)
        return found

    return await client.until_done(attempt)


async def alter_users(
    client: AdminClient, upsertions: Sequence[Upsertion] = (), deletions: Sequence[Deletion] = ()
) -> dict[str, KafkaError]:
    """Sets and deletes credentials; the users that were refused, with the reasons. Of a user with several changes all
    are made or none, but for KRaft's controllers, which take one of a user at a time."""
    changes: dict[str, list[Upsertion | Deletion]] = {}
    every: list[Upsertion | Deletion] = [*deletions, *upsertions]
    for one in every:
        changes.setdefault(one.user, []).append(one)
    empty = {one.user for one in upsertions if not one.password}
    refused = dict.fromkeys(empty, EMPTY) | await _alter(
        client, {user: meant for user, meant in changes.items() if user not in empty}
    )
    singly = [user for user, error in refused.items() if error.code == DUPLICATE and len(changes[user]) > 1]
    for user in singly:
        del refused[user]
        for change in changes[user]:
            if user not in refused:
                refused |= await _alter(client, {user: [change]})
    return refused


async def _alter(client: AdminClient, changes: Mapping[str, Sequence[Upsertion | Deletion]]) -> dict[str, KafkaError]:
    """In one request."""

    async def attempt(asked: list[str]) -> dict[str, KafkaError]:
        meant = [one for user in asked for one in changes[user]]
        fields = {
            "deletions": [_deletion(one) for one in meant if isinstance(one, Deletion)],
            "upsertions": [_upsertion(one) for one in meant if isinstance(one, Upsertion)],
        }
        answer = await client.ask_controller("AlterUserScramCredentials", fields, timeout_ms=WORK_MS)
        return refusals((row.user, row) for row in answer.results)

    return await client.settled(changes, attempt)


def _deletion(one: Deletion) -> dict[str, Any]:
    return {"name": one.user, "mechanism": NUMBERS[one.mechanism]}


def _upsertion(one: Upsertion) -> dict[str, Any]:
    salt = secrets.token_bytes(SALT_BYTES)
    salted = hashlib.pbkdf2_hmac(DIGESTS[one.mechanism], one.password.encode(), salt, one.iterations)
    number = NUMBERS[one.mechanism]
    return {
        "name": one.user,
        "mechanism": number,
        "iterations": one.iterations,
        "salt": salt,
        "salted_password": salted,
    }


def is_missing(error: object) -> bool:
    """Whether there is no such credential, and nothing else is wrong."""
    return isinstance(error, KafkaError) and error.code == ErrorCode.RESOURCE_NOT_FOUND
