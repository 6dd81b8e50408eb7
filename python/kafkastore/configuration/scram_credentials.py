"""The users of SCRAM, in the store in Kafka's layout (KIP-84, KIP-554).

``/config/users/<user>`` has, beside the user's quotas, a key for each mechanism, as Kafka writes it::

    "SCRAM-SHA-256": "salt=...,stored_key=...,server_key=...,iterations=4096"

with the salt and the keys in base64. A change is written with the version that was read, in one ``multi`` with its
notice (``changes.py``), and is in effect here when :meth:`ScramCredentials.alter` returns. Never: has a password, logs
a credential.
"""

from __future__ import annotations

import logging
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkastore.configuration.entity_names import desanitize, sanitize
from kafkastore.errors import ErrorCode, KafkastoreError
from kafkastore.metadata.node_content import InvalidNodeError
from kafkastore.metadata.nodes import config_notice, decode_config, encode_config
from kafkastore.metadata.store import BadVersionError, Create, NodeExistsError, NoNodeError, SetData

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from kafkastore._core import Security
    from kafkastore.metadata.store import MetadataStore

logger = logging.getLogger("kafkastore.configuration.scram_credentials")

USERS: Final = "/config/users"
MECHANISMS: Final = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
"""Kafka's numbers of the mechanisms."""

MIN_ITERATIONS: Final = 4096
MAX_STORED_ITERATIONS: Final = 2**31 - 1
"""With fewer iterations nobody logs in, as in Kafka; more than an int has, no store can have from Kafka."""

_KEYS: Final = ("salt", "stored_key", "server_key")
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


class ScramCredentials:
    """See the module. Runs on the loop. The followers' methods are :meth:`reload` and :meth:`reload_all`."""

    def __init__(self, store: MetadataStore, security: Security) -> None:
        self._store = store
        self._security = security
        self._known: dict[str, dict[int, Credential]] = {}

    @property
    def known(self) -> Mapping[str, Mapping[int, Credential]]:
        """The credentials by user and mechanism; users without any are left out."""
        return self._known

    async def alter(self, user: str, upserted: Mapping[int, Credential], deleted: AbstractSet[int]) -> None:
        """Changes the credentials of ``user``, all or none. Raises CredentialNotFoundError when one that is to be
        deleted does not exist, KafkastoreError when the user's node cannot be read."""
        name = sanitize(user)
        path = f"{USERS}/{name}"
        while True:
            try:
                node = await self._store.get(path)
            except NoNodeError:
                await self._store.ensure_path(USERS)
                content: dict[str, str] = {}
                version = None
            else:
                try:
                    content, version = decode_config(node.data), node.version
                except InvalidNodeError:
                    raise KafkastoreError(f"{path} in the metadata store is malformed; repair or delete it") from None
            for mechanism in deleted:
                if content.pop(MECHANISMS[mechanism], None) is None:
                    raise CredentialNotFoundError
            content |= {MECHANISMS[mechanism]: encode_credential(one) for mechanism, one in upserted.items()}
            data = encode_config(content)
            write = Create(path, data) if version is None else SetData(path, data, version)
            try:
                await self._store.multi([write, config_notice("users", name)])
            except (BadVersionError, NodeExistsError, NoNodeError):
                continue  # another change came first
            await self.reload(name)
            return

    async def reload(self, name: str) -> None:
        """Takes over ``/config/users/<name>``."""
        if "/" in name:
            return  # quotas of one of the user's clients
        path = f"{USERS}/{name}"
        try:
            data = (await self._store.get(path)).data
        except NoNodeError:
            data = b""
        self._take(path, data)
        self._publish()

    async def reload_all(self) -> None:
        """Takes over the credentials of all users."""
        tree = await self._store.get_tree(USERS)
        self._known.clear()
        for path, data, _ in tree:
            if path.count("/") == USERS.count("/") + 1:
                self._take(path, data)
        self._publish()

    def _take(self, path: str, data: bytes) -> None:
        user = desanitize(path.rpartition("/")[2])
        found = {}
        for name, text in _content(path, data).items():
            if name not in _NUMBERS:
                continue
            try:
                found[_NUMBERS[name]] = _decode(text)
            except (ValueError, KeyError):  # without the error, which has a part of the credential
                logger.warning("The credential %s of %s is malformed: the user cannot log in with it", name, path)
        if found:
            self._known[user] = found
        else:
            self._known.pop(user, None)

    def _publish(self) -> None:
        self._security.publish_scram_credentials(
            [(number, user, *one) for user, found in self._known.items() for number, one in found.items()]
        )


async def store_credential(store: MetadataStore, user: str, mechanism: int, credential: Credential) -> None:
    """Writes the first credential of a user into a store that no broker uses yet."""
    content = encode_config({MECHANISMS[mechanism]: encode_credential(credential)})
    await store.create(f"{USERS}/{sanitize(user)}", content)


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


def _decode(text: str) -> Credential:
    parts = dict(part.split("=", 1) for part in text.split(","))
    salt, stored_key, server_key = (
        b64decode(parts[key], validate=True) for key in ("salt", "stored_key", "server_key")
    )
    iterations = int(parts["iterations"])
    if not MIN_ITERATIONS <= iterations <= MAX_STORED_ITERATIONS:
        raise ValueError
    return Credential(salt, stored_key, server_key, iterations)
