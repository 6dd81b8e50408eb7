"""Delegation tokens: passwords that a client hands on to others for a time (KIP-48, KIP-373).

The id of a token and its HMAC are the name and the password by which a client proves itself by SCRAM; it is the token's
owner then. The HMAC is made of the id with ``delegation.token.secret.key``, which all brokers share, and is not stored.
A token is a node ``/delegation_token/tokens/<id>`` in Kafka's layout; a change is written with the version that was
read, in one ``multi`` with its notice (``changes.py``), and is in effect here when it is answered. The data plane takes
no token after its end; nodes of ended tokens are deleted every ``delegation.token.expiry.check.interval.ms``.

Never: decides who may ask for a token (``handlers/delegation_token_rules.py``), logs an HMAC.
"""

from __future__ import annotations

import asyncio
import json
import logging
from base64 import b64encode, urlsafe_b64encode
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkastore.dynamic_config.config_nodes import ConcurrentChanges, read_nodes
from kafkastore.errors import ErrorCode, KafkastoreError
from kafkastore.metadata.node_content import InvalidNodeError, json_object
from kafkastore.metadata.nodes import config_notice, new_id
from kafkastore.metadata.store import BadVersionError, Create, Delete, NoNodeError, SetData, StoreError, child_in
from kafkastore.purgatory.turns import Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from kafkastore._core import Security
    from kafkastore.config import BrokerConfig
    from kafkastore.metadata.store import MetadataStore

logger = logging.getLogger("kafkastore.dynamic_config.delegation_tokens")

TOKENS: Final = "/delegation_token/tokens"
KIND: Final = "delegation_token"
"""The kind of the notices."""

USER: Final = "User:"
MAX_NAME: Final = 4096
MAX_MS: Final = 2**63 - 1
_VERSION: Final = 3


class DelegationTokensDisabledError(KafkastoreError):
    code = ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
    text = "Delegation Token feature is not enabled."


class DelegationTokenNotFoundError(KafkastoreError):
    code = ErrorCode.DELEGATION_TOKEN_NOT_FOUND
    text = "Delegation Token is not found on server."


class DelegationTokenOwnerMismatchError(KafkastoreError):
    code = ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
    text = "Specified Principal is not valid Owner/Renewer."


class DelegationTokenExpiredError(KafkastoreError):
    code = ErrorCode.DELEGATION_TOKEN_EXPIRED
    text = "Delegation Token is expired."


class Token(NamedTuple):
    """Principals as ``User:alice``, times in milliseconds."""

    token_id: str
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issued_ms: int
    max_ms: int
    expires_ms: int

    def may_be_changed_by(self, principal: str) -> bool:
        return principal == self.owner or principal in self.renewers


class DelegationTokens:
    """See the module. Runs on the loop. The follower's methods are :meth:`take` and :meth:`reload_all`."""

    def __init__(
        self, config: BrokerConfig, store: MetadataStore, security: Security, now_ms: Callable[[], int]
    ) -> None:
        secret: str | None = config.get("delegation.token.secret.key")
        self._secret = secret or None
        self._max_ms = config.get_int("delegation.token.max.lifetime.ms")
        self._default_ms = config.get_int("delegation.token.expiry.time.ms")
        self._check_s = config.get_int("delegation.token.expiry.check.interval.ms") / 1000
        self._store = store
        self._security = security
        self._now_ms = now_ms
        self._known: dict[str, Token] = {}
        self._by_hmac: dict[bytes, str] = {}
        self._hmacs: dict[str, bytes] = {}
        self._meanwhile = ConcurrentChanges()
        self._task: asyncio.Task[None] | None = None

    @property
    def are_enabled(self) -> bool:
        return self._secret is not None

    @property
    def known(self) -> Iterable[Token]:
        """Every token that has not been deleted."""
        return self._known.values()

    def with_hmac(self, hmac: bytes) -> Token | None:
        return self._known.get(self._by_hmac.get(hmac, ""))

    def hmac(self, token_id: str) -> bytes:
        """64 bytes."""
        return self._security.delegation_token_hmac(self._required_secret(), token_id)

    def _required_secret(self) -> str:
        if self._secret is None:
            raise DelegationTokensDisabledError
        return self._secret

    # ---- changes
    async def create(self, owner: str, requester: str, renewers: Sequence[str], max_lifetime_ms: int) -> Token:
        """A new token; a lifetime of 0 or less is the longest that is allowed."""
        self._required_secret()
        now = self._now_ms()
        lifetime_ms = min(self._max_ms, max_lifetime_ms) if max_lifetime_ms > 0 else self._max_ms
        max_ms = min(now + lifetime_ms, MAX_MS)
        token_id = urlsafe_b64encode(new_id()).rstrip(b"=").decode()
        token = Token(token_id, owner, requester, tuple(renewers), now, max_ms, min(max_ms, now + self._default_ms))
        await self._store.ensure_path(TOKENS)
        await self._store.multi([Create(f"{TOKENS}/{token_id}", encode_token(token)), config_notice(KIND, token_id)])
        await self._reload(token_id)
        return token

    async def renew(self, hmac: bytes, principal: str, period_ms: int) -> int:
        """Returns when the token ends; a period of 0 or less is the default."""
        period_ms = min(self._default_ms, period_ms) if period_ms > 0 else self._default_ms
        return await self._change(hmac, principal, period_ms)

    async def expire(self, hmac: bytes, principal: str, period_ms: int) -> int:
        """Returns when the token ends; a negative period ends it now, also when it has ended already."""
        return await self._change(hmac, principal, period_ms)

    async def _change(self, hmac: bytes, principal: str, period_ms: int) -> int:
        """Has the token end after ``period_ms``; deletes it when that is negative."""
        self._required_secret()
        token_id = self._by_hmac.get(hmac)
        if token_id is None:
            raise DelegationTokenNotFoundError
        path = f"{TOKENS}/{token_id}"
        while True:
            try:
                node = await self._store.get(path)
            except NoNodeError:
                raise DelegationTokenNotFoundError from None
            token, now = _decode(path, node.data), self._now_ms()
            if token is None:
                raise DelegationTokenNotFoundError
            if period_ms >= 0 and min(token.max_ms, token.expires_ms) < now:
                raise DelegationTokenExpiredError
            if not token.may_be_changed_by(principal):
                raise DelegationTokenOwnerMismatchError
            if period_ms < 0:
                write: Delete | SetData = Delete(path, node.version)
                ends_ms = now
            else:
                ends_ms = min(token.max_ms, now + period_ms)
                write = SetData(path, encode_token(token._replace(expires_ms=ends_ms)), node.version)
            try:
                await self._store.multi([write, config_notice(KIND, token_id)])
            except (BadVersionError, NoNodeError):
                continue  # another change came first
            await self._reload(token_id)
            return ends_ms

    # ---- what the store has
    async def _reload(self, name: str) -> None:
        async for found in read_nodes(self._store, TOKENS, [name]):
            self.take(found)

    def take(self, found: Mapping[str, bytes | None]) -> None:
        """Takes over what nodes have now."""
        self._meanwhile.note(found)
        for name, data in found.items():
            self._put(name, None if data is None else _decode(f"{TOKENS}/{name}", data))
        self._publish(list(found))

    async def reload_all(self) -> None:
        """Takes over all tokens."""
        found: dict[str, Token | None] = {}
        with self._meanwhile.names() as taken:
            async for path, data, _ in Turn().each(await self._store.get_tree(TOKENS)):
                if name := child_in(TOKENS, path):
                    found[name] = _decode(path, data)
            gone = self._known.keys() - found.keys() - taken
            newer = set(taken)
        turn = Turn()
        async for name in turn.each(gone):
            self._put(name, None)
        async for name, token in turn.each(found.items()):
            if name not in newer:
                self._put(name, token)
        self._publish(list(self._known), is_whole=True)

    def _put(self, name: str, token: Token | None) -> None:
        if token is not None and token.token_id == name and self.are_enabled:
            if name not in self._known:
                self._hmacs[name] = hmac = self.hmac(name)
                self._by_hmac[hmac] = name
            self._known[name] = token
        elif self._known.pop(name, None) is not None:
            del self._by_hmac[self._hmacs.pop(name)]

    def _publish(self, names: Sequence[str], *, is_whole: bool = False) -> None:
        rows = [(name, self._shown(name)) for name in names]
        self._security.publish_delegation_tokens(rows, is_whole=is_whole)

    def _shown(self, name: str) -> tuple[str, str, int] | None:
        """A token as the data plane has it: the owner, the password, the end."""
        token = self._known.get(name)
        if token is None:
            return None
        password = b64encode(self._hmacs[name]).decode()
        return token.owner.removeprefix(USER), password, min(token.expires_ms, token.max_ms)

    # ---- ended tokens
    def begin(self) -> None:
        """From now on nodes of ended tokens are deleted."""
        if self.are_enabled:
            self._task = asyncio.get_running_loop().create_task(self._sweep())

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(self._check_s)
            now = self._now_ms()
            for token in [one for one in self._known.values() if min(one.expires_ms, one.max_ms) < now]:
                with suppress(StoreError):  # renewed meanwhile, or deleted by another broker
                    await self._delete_ended(token.token_id, now)

    async def _delete_ended(self, token_id: str, now: int) -> None:
        path = f"{TOKENS}/{token_id}"
        node = await self._store.get(path)
        token = _decode(path, node.data)
        if token is not None and min(token.expires_ms, token.max_ms) < now:
            await self._store.multi([Delete(path, node.version), config_notice(KIND, token_id)])
            await self._reload(token_id)
            logger.info("Delegation token %s has ended and is deleted", token_id)


def encode_token(token: Token) -> bytes:
    """The content of a token's node."""
    content = {
        "version": _VERSION,
        "owner": token.owner,
        "tokenRequester": token.requester,
        "renewers": list(token.renewers),
        "issueTimestamp": token.issued_ms,
        "maxTimestamp": token.max_ms,
        "expiryTimestamp": token.expires_ms,
        "tokenId": token.token_id,
    }
    return json.dumps(content, separators=(",", ":")).encode()


def _time(value: Any) -> int:
    """Milliseconds since 1970. Raises ValueError for what no long of Kafka has."""
    time_ms = int(value)
    if not 0 <= time_ms < 2**63:
        raise ValueError(f"{time_ms} is no time")
    return time_ms


def _decode(path: str, data: bytes) -> Token | None:
    """None, with a log line, for a node that is malformed."""
    try:
        content = json_object(data)
        owner = str(content["owner"])
        token = Token(
            token_id=str(content["tokenId"]),
            owner=owner,
            requester=str(content.get("tokenRequester", owner)),
            renewers=tuple(str(one) for one in content["renewers"]),
            issued_ms=_time(content["issueTimestamp"]),
            max_ms=_time(content["maxTimestamp"]),
            expires_ms=_time(content["expiryTimestamp"]),
        )
        for text in (token.token_id, token.owner, token.requester, *token.renewers):
            text.encode()  # half of a pair of UTF-16 is no name
    except (InvalidNodeError, ValueError, KeyError, TypeError, AttributeError):
        logger.warning("%s is malformed: the token is not taken", path)
        return None
    return token
