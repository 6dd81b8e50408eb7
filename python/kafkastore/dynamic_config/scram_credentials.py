"""The users of SCRAM, in the store in Kafka's layout (KIP-84, KIP-554).

``/config/users/<user>`` has, beside the user's quotas, a key for each mechanism, as Kafka writes it::

    "SCRAM-SHA-256": "salt=...,stored_key=...,server_key=...,iterations=4096"

with the salt and the keys in base64. A change is in effect here when :meth:`ScramCredentials.alter` returns
(``config_nodes.py``), on other brokers when they hear of it (``changes.py``). Never: has a password, logs a credential.
"""

from __future__ import annotations

import logging
from base64 import b64decode, b64encode
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkastore.dynamic_config.config_nodes import ConcurrentChanges, edit_nodes, take_over
from kafkastore.dynamic_config.entity_names import desanitize, sanitize
from kafkastore.dynamic_config.quota_entities import DEFAULT_NODE
from kafkastore.errors import ErrorCode, KafkastoreError
from kafkastore.metadata.node_content import InvalidNodeError
from kafkastore.metadata.nodes import decode_config
from kafkastore.purgatory.turns import Turn

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from collections.abc import Set as AbstractSet

    from kafkastore._core import Security
    from kafkastore.metadata.store import MetadataStore

logger = logging.getLogger("kafkastore.dynamic_config.scram_credentials")

USERS: Final = "/config/users"
MECHANISMS: Final = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
"""Kafka's numbers of the mechanisms."""

MIN_ITERATIONS: Final = 4096
MAX_STORED_ITERATIONS: Final = 2**31 - 1
"""With fewer iterations nobody logs in, as in Kafka; more than an int has, no store can have from Kafka."""

_NUMBERS: Final = {name: number for number, name in MECHANISMS.items()}


class CredentialNotFoundError(KafkastoreError):
    code = ErrorCode.RESOURCE_NOT_FOUND
    text = "Attempt to delete a user credential that does not exist"


class Credential(NamedTuple):
    """What is kept of a password, for one mechanism."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __repr__(self) -> str:
        return "Credential(hidden)"


class CredentialChanges(NamedTuple):
    """A user's changes, by mechanism: all are made, or none."""

    upserted: Mapping[int, Credential]
    deleted: AbstractSet[int]


class ScramCredentials:
    """See the module. Runs on the loop. The follower's methods are :meth:`take` and :meth:`reload_all`."""

    def __init__(self, store: MetadataStore, security: Security) -> None:
        self._store = store
        self._security = security
        self._known: dict[str, dict[int, Credential]] = {}
        self._meanwhile = ConcurrentChanges()

    @property
    def known(self) -> Mapping[str, Mapping[int, Credential]]:
        """The credentials by user and mechanism; users without any are left out."""
        return self._known

    async def alter(self, changes: Mapping[str, CredentialChanges]) -> dict[str, KafkastoreError]:
        """Changes the credentials of users. Returns why users were refused: CredentialNotFoundError when one that is to
        be deleted does not exist, KafkastoreError when the user's node cannot be read or written."""
        edits = {sanitize(user): partial(_changed, of_user) for user, of_user in changes.items()}
        outcomes = await edit_nodes(self._store, "users", edits)
        failed = {name: one for name, one in outcomes.items() if isinstance(one, KafkastoreError)}
        written = {name: one for name, one in outcomes.items() if not isinstance(one, KafkastoreError)}
        await take_over(self._store, USERS, written, self.take)
        return {desanitize(name): error for name, error in failed.items()}

    def take(self, found: Mapping[str, bytes | None]) -> None:
        """Takes over what nodes have now."""
        own = {name: data or b"" for name, data in found.items() if _is_of_user(name)}
        self._meanwhile.note(own)
        for name, data in own.items():
            user, credentials = desanitize(name), _credentials_at(name, data)
            if credentials:
                self._known[user] = credentials
            else:
                self._known.pop(user, None)
        self._publish([desanitize(name) for name in own])

    async def reload_all(self) -> None:
        """Takes over the credentials of all users."""
        found: dict[str, dict[int, Credential]] = {}
        with self._meanwhile.names() as taken:
            async for path, data, _ in Turn().each(await self._store.get_tree(USERS)):
                name = path[len(USERS) + 1 :]
                if name and _is_of_user(name) and (credentials := _credentials_at(name, data)):
                    found[desanitize(name)] = credentials
            newer = {desanitize(name) for name in taken}
        found = {user: own for user, own in found.items() if user not in newer}
        self._known = found | {user: own for user, own in self._known.items() if user in newer}
        self._publish(self._known, is_whole=True)

    def _publish(self, users: Collection[str], *, is_whole: bool = False) -> None:
        if users or is_whole:
            rows = [(number, user, self._known.get(user, {}).get(number)) for user in users for number in MECHANISMS]
            self._security.publish_scram_credentials(rows, is_whole=is_whole)


def _changed(changes: CredentialChanges, content: dict[str, str]) -> dict[str, str]:
    for mechanism in changes.deleted:
        if content.pop(MECHANISMS[mechanism], None) is None:
            raise CredentialNotFoundError
    return content | {MECHANISMS[mechanism]: encode_credential(one) for mechanism, one in changes.upserted.items()}


def _is_of_user(node: str) -> bool:
    """Not quotas of a user's clients or of the default user."""
    return "/" not in node and node != DEFAULT_NODE


def _credentials_at(node: str, data: bytes) -> dict[int, Credential]:
    """By mechanism; what is malformed is logged and left out."""
    path, found = f"{USERS}/{node}", {}
    for name, text in _content(path, data).items():
        if name not in _NUMBERS:
            continue
        try:
            found[_NUMBERS[name]] = decode_credential(text)
        except (ValueError, KeyError):  # without the error, which has a part of the credential
            logger.warning("The credential %s of %s is malformed: the user cannot log in with it", name, path)
    return found


def _content(path: str, data: bytes) -> dict[str, str]:
    try:
        return decode_config(data)
    except InvalidNodeError:  # without the error, which has a part of the node
        logger.warning("%s is malformed: the user has no credentials and no quotas", path)
        return {}


def encode_credential(one: Credential) -> str:
    """As the store has it."""
    salt, stored_key, server_key = (b64encode(part).decode() for part in one[:3])
    return f"salt={salt},stored_key={stored_key},server_key={server_key},iterations={one.iterations}"


def decode_credential(text: str) -> Credential:
    """Raises ValueError or KeyError for one that lets nobody in."""
    parts = dict(part.split("=", 1) for part in text.split(","))
    salt, stored_key, server_key = (
        b64decode(parts[key], validate=True) for key in ("salt", "stored_key", "server_key")
    )
    iterations = int(parts["iterations"])
    if not MIN_ITERATIONS <= iterations <= MAX_STORED_ITERATIONS:
        raise ValueError
    return Credential(salt, stored_key, server_key, iterations)
