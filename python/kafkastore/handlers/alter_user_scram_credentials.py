"""AlterUserScramCredentials (51): sets and deletes users' credentials of SCRAM (KIP-554).

Each user's changes are done together or not at all; one user's error never fails another's. Kafka's checks, in its
order: (A) a mechanism twice for one user; (B) an empty user, or a name that is too long; (C) an unknown mechanism; (D)
too few or too many iterations; (E) no salt, or a salted password of the wrong length. The client sends the salted
password, so the broker never has the password.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkastore._core import LazyRows
from kafkastore.acl_words import ALTER
from kafkastore.dynamic_config.scram_credentials import MECHANISMS, MIN_ITERATIONS, Credential, CredentialChanges
from kafkastore.errors import ErrorCode, KafkastoreError
from kafkastore.requests.authorization import require_cluster

if TYPE_CHECKING:
    from kafkastore._core import Unwritten
    from kafkastore.protocol.alter_user_scram_credentials import (
        AlterUserScramCredentialsRequest,
        ScramCredentialDeletion,
        ScramCredentialUpsertion,
    )
    from kafkastore.requests.context import RequestContext

MAX_ITERATIONS: Final = 16_384
MAX_USER_BYTES: Final = 4096
"""Of a user's name: as a part of a path its encoding is three times as long."""

_KEY_BYTES: Final = {1: 32, 2: 64}


class UnacceptableCredentialError(KafkastoreError):
    code = ErrorCode.UNACCEPTABLE_CREDENTIAL
    text = "Requested credential would not meet criteria for acceptability."


class _UserChanges:
    """What a request wants for one user."""

    __slots__ = ("deletions", "upsertions")

    def __init__(self) -> None:
        self.deletions: list[ScramCredentialDeletion] = []
        self.upsertions: list[ScramCredentialUpsertion] = []


async def handle(context: RequestContext, request: AlterUserScramCredentialsRequest) -> Unwritten:
    require_cluster(context, ALTER)
    users: dict[str, _UserChanges] = {}
    for deletion in request.deletions:
        users.setdefault(deletion.name, _UserChanges()).deletions.append(deletion)
    for upsertion in request.upsertions:
        users.setdefault(upsertion.name, _UserChanges()).upsertions.append(upsertion)
    refused: dict[str, KafkastoreError] = {}
    changes: dict[str, CredentialChanges] = {}
    async for user, wish in context.turn().each(users.items()):
        try:
            changes[user] = _changes(context, user, wish)
        except KafkastoreError as error:
            refused[user] = error.with_traceback(None)
    refused |= await context.broker.scram_credentials.alter(changes)

    def row(user: str) -> bytes:
        error = refused.get(user)
        code, message = (ErrorCode.NONE, None) if error is None else (error.code, error.client_message)
        return context.row("AlterUserScramCredentialsResult", user=user, error_code=code, error_message=message)

    return context.answer(results=LazyRows(users, row))


def _changes(context: RequestContext, user: str, wish: _UserChanges) -> CredentialChanges:
    _check(user, wish)
    scram_keys = context.broker.engine.security().scram_keys
    upserted = {
        one.mechanism: Credential(one.salt, *scram_keys(one.mechanism, one.salted_password), one.iterations)
        for one in wish.upsertions
    }
    return CredentialChanges(upserted, {one.mechanism for one in wish.deletions})


def _check(user: str, wish: _UserChanges) -> None:
    named = [one.mechanism for one in wish.deletions] + [one.mechanism for one in wish.upsertions]
    if len(set(named)) != len(named):  # A
        raise KafkastoreError(
            "A user credential cannot be altered twice in the same request", ErrorCode.DUPLICATE_RESOURCE
        )
    if not user:  # B
        raise UnacceptableCredentialError("Username must not be empty")
    if user in (".", ".."):  # B: no node of ZooKeeper has such a name
        raise UnacceptableCredentialError(f"The user {user} is no name that the metadata store can keep")
    if len(user.encode()) > MAX_USER_BYTES:  # B
        raise UnacceptableCredentialError(f"Username must not be longer than {MAX_USER_BYTES} bytes")
    if not MECHANISMS.keys() >= set(named):  # C
        raise KafkastoreError("Unknown SCRAM mechanism", ErrorCode.UNSUPPORTED_SASL_MECHANISM)
    for one in wish.upsertions:
        if one.iterations < MIN_ITERATIONS:  # D
            raise UnacceptableCredentialError("Too few iterations")
        if one.iterations > MAX_ITERATIONS:  # D
            raise UnacceptableCredentialError("Too many iterations")
        if not one.salt or len(one.salt) > MAX_USER_BYTES:  # E
            raise UnacceptableCredentialError(f"The salt must have 1 to {MAX_USER_BYTES} bytes")
        if len(one.salted_password) != _KEY_BYTES[one.mechanism]:  # E
            raise UnacceptableCredentialError(
                f"The salted password for {MECHANISMS[one.mechanism]} must have {_KEY_BYTES[one.mechanism]} bytes"
            )
