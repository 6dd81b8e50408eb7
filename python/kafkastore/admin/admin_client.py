"""Asks a running cluster, whoever runs it: each request goes to the broker that answers it, in the highest version that
both know (Kafka 2.1 and later).

What Kafka's own Admin does by itself is done here: the controller, coordinators and leaders are looked up, and a
request is sent again while its answer is an error that passes. What is asked is in the modules beside this one, a file
for each noun; they take an :class:`AdminClient` and return named tuples. Nothing here prints.
"""

from __future__ import annotations

import asyncio
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from kafkastore import errors
from kafkastore._core import error_codes
from kafkastore.admin.error_texts import TEXTS
from kafkastore.errors import ErrorCode, KafkastoreError, plain_name
from kafkastore.interbroker.cluster import TIMEOUT_MS, Brokers
from kafkastore.messages import OutgoingRequest
from kafkastore.scanning.broker_offsets import parse_servers

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence

    from kafkastore.interbroker.cluster import Fields
    from kafkastore.interbroker.command_config import CommandConfig

    Partition = tuple[str, int]

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")

LIMIT_S: Final = 60.0
"""Kafka's default.api.timeout.ms: how long a request is sent again."""
ANSWER_MS: Final = 5_000
"""How much longer than the brokers may take the answer is waited for."""
RETRY_S: Final = 0.1
"""Kafka's retry.backoff.ms."""
WORK_MS: Final = 30_000
"""How long a broker may take for a request that changes something (Kafka's request.timeout.ms)."""
GROUP_KEY: Final = 0
TRANSACTION_KEY: Final = 1
NONE: Final = ErrorCode.NONE
NOT_ANSWERED: Final = "the broker's answer leaves it out"
FIND_ONE: Final = 3
"""The last version of FindCoordinator for one key."""
FIND_AT_ONCE: Final = 1000
"""The most keys in one FindCoordinator request."""
QUIET: Final = {
    "allow_auto_topic_creation": False,
    "include_cluster_authorized_operations": False,
    "include_topic_authorized_operations": False,
}
"""Of Metadata: to ask for a topic does not make it, and nothing is asked beside it."""


class AdminError(KafkastoreError):
    """A failure that the command reports to its user in one sentence."""


class KafkaError(AdminError):
    """A broker's refusal: ``code`` is Kafka's error code, the message what the broker said, or Kafka's own text."""

    def __init__(self, code: int, message: str | None = None) -> None:
        super().__init__(message or kafka_text(code), int(code))

    @property
    def name(self) -> str:
        """Kafka's name of the error, such as ``TOPIC_ALREADY_EXISTS``."""
        return plain_name(self.code) or f"error {self.code}"

    @property
    def java_class(self) -> str:
        """The exception of Kafka's Java clients, without its package."""
        return _facts().get(self.code, _facts()[ErrorCode.UNKNOWN_SERVER_ERROR])[1]

    @property
    def passes(self) -> bool:
        """Whether the same request may get another answer soon: Kafka's clients send it again by themselves. That a
        topic is unknown does not pass: it is what was asked for."""
        return self.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and _facts().get(self.code, (False, ""))[0]


@cache
def _facts() -> dict[int, tuple[bool, str]]:
    return {code: (passes, exception) for code, _, passes, exception in error_codes()}


@cache
def _kafka_texts() -> dict[int, str]:
    kinds = (kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, KafkastoreError))
    return {kind.code: kind.text for kind in kinds}


def kafka_text(code: int) -> str:
    """What Kafka's clients say of an error that comes without a message."""
    return _kafka_texts().get(int(code)) or TEXTS.get(int(code)) or plain_name(int(code)) or f"error {code}"


class ClusterBroker(NamedTuple):
    host: str
    port: int
    rack: str | None


class ClusterMetadata(NamedTuple):
    """What Metadata says of the whole cluster. ``controller`` is the broker that takes requests for the controller;
    -1 when there is none."""

    cluster_id: str | None
    controller: int
    brokers: dict[int, ClusterBroker]


class AdminClient(Brokers):
    """See the module. Used as ``async with AdminClient(...).within() as client``."""

    key = "--bootstrap-server"
    client_id = "kafkastore-admin"
    error = AdminError

    def __init__(
        self, bootstrap_servers: str, command_config: CommandConfig = None, *, limit_s: float = LIMIT_S
    ) -> None:
        """Raises AdminError or ConfigError for servers and keys that mean nothing; connects to nothing."""
        try:
            servers = parse_servers(bootstrap_servers)
        except ValueError as error:
            raise AdminError(f"{self.key}: {str(error).removeprefix('bootstrap_servers: ')}") from None
        super().__init__(servers, command_config)
        self.limit_s = limit_s
        self._known: ClusterMetadata | None = None
        self._coordinators: dict[tuple[int, str], int] = {}

    # ---- who answers
    async def cluster(self, *, is_fresh: bool = False) -> ClusterMetadata:
        """The brokers that are alive. Raises AdminError."""
        if self._known is None or is_fresh:
            answer = await self.ask_any("Metadata", {"topics": (), **QUIET})
            self.learn_cluster(answer)
        assert self._known is not None
        return self._known

    def learn_cluster(self, metadata: Any) -> None:
        """What an answer to Metadata says of the brokers."""
        self._learn(metadata.brokers)
        brokers = {one.node_id: ClusterBroker(one.host, one.port, one.rack) for one in metadata.brokers}
        self._known = ClusterMetadata(metadata.cluster_id, metadata.controller_id, brokers)

    async def ask_any(
        self, api: str, fields: Fields, *, timeout_ms: int = TIMEOUT_MS, highest: int | None = None
    ) -> Any:
        """The answer of the first server that gives one, in a version up to ``highest``. Raises AdminError."""
        return await self._first_answer(
            lambda server: self._ask_broker_at(server, api, fields, timeout_ms=timeout_ms, highest=highest)
        )

    async def ask_broker(
        self,
        node: int,
        api: str,
        fields: Fields,
        *,
        timeout_ms: int = TIMEOUT_MS,
        lowest: int = 0,
        highest: int | None = None,
    ) -> Any:
        """The answer of one broker, in a version from ``lowest`` to ``highest``. Raises AdminError, also when it is not
        alive."""
        broker = (await self.cluster()).brokers.get(node) or (await self.cluster(is_fresh=True)).brokers.get(node)
        if broker is None:
            alive = ", ".join(map(str, sorted((await self.cluster()).brokers)))
            raise AdminError(f"broker {node} is not alive (alive are {alive})")
        at = (broker.host, broker.port)
        return await self._ask_broker_at(at, api, fields, timeout_ms=timeout_ms, lowest=lowest, highest=highest)

    async def ask_controller(self, api: str, fields: Fields, *, timeout_ms: int = TIMEOUT_MS) -> Any:
        """The answer of the controller, or of the broker that passes requests on to it. Raises AdminError."""
        controller = (await self.cluster()).controller
        if controller < 0:
            raise KafkaError(ErrorCode.NOT_CONTROLLER, "the cluster has no controller")
        return await self.ask_broker(controller, api, fields, timeout_ms=timeout_ms)

    async def ask_controller_to(self, api: str, fields: Mapping[str, Any]) -> Any:
        """As :meth:`ask_controller`, of a request that says how long it may take."""
        timed = {**fields, "timeout_ms": WORK_MS}
        return await self.ask_controller(api, timed, timeout_ms=WORK_MS + ANSWER_MS)

    async def serves(self, api: str, version: int) -> bool:
        """Whether the controller takes a request in this version. Raises AdminError."""
        cluster = await self.cluster()
        controller = cluster.brokers.get(cluster.controller)
        if controller is None:
            return False
        try:
            served = await self.served_by(controller.host, controller.port)
        except AdminError:  # it is gone; the others do not know yet
            served = await self._first_answer(lambda server: self.served_by(*server))
        return served.get(OutgoingRequest(api, version, {}).api_key, (0, -1))[1] >= version

    async def coordinator(self, kind: int, key: str) -> int:
        """The broker that coordinates a group (:data:`GROUP_KEY`) or a transactional id (:data:`TRANSACTION_KEY`).
        Raises KafkaError, also while there is none."""
        known = self._coordinators.get((kind, key))
        if known is not None:
            return known
        found = (await self.coordinators(kind, [key]))[key]
        if isinstance(found, KafkaError):
            raise found
        return found

    async def coordinators(self, kind: int, keys: Sequence[str]) -> dict[str, int | KafkaError]:
        """The same for several keys, a refusal in the place of a coordinator that is not found."""
        found: dict[str, int | KafkaError] = {}
        for start in range(0, len(keys), FIND_AT_ONCE):
            some = keys[start : start + FIND_AT_ONCE]
            found |= await self._find_coordinators(kind, some)
        self._coordinators |= {(kind, key): node for key, node in found.items() if not isinstance(node, KafkaError)}
        return found

    async def _find_coordinators(self, kind: int, keys: Sequence[str]) -> dict[str, int | KafkaError]:
        def fields(version: int) -> dict[str, Any]:
            asked = {"key": keys[0]} if version <= FIND_ONE else {"coordinator_keys": tuple(keys)}
            return {"key_type": kind, **asked}

        answer = await self.ask_any("FindCoordinator", fields)
        rows = [(row.key, row) for row in answer.coordinators] or [(keys[0], answer)]
        rows += [  # of a broker that finds one at a time
            (key, await self.ask_any("FindCoordinator", {"key_type": kind, "key": key}, highest=FIND_ONE))
            for key in keys[len(rows) :]
        ]
        return complete(keys, {key: row.node_id for key, row in rows} | refusals(rows))

    async def ask_coordinator(
        self, kind: int, key: str, api: str, fields: Fields, *, lowest: int = 0, highest: int | None = None
    ) -> Any:
        """The answer of a group's or a transactional id's coordinator. Raises KafkaError, AdminError."""
        node = await self.coordinator(kind, key)
        return await self.ask_broker(node, api, fields, lowest=lowest, highest=highest)

    # ---- again
    async def until_done(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """What ``attempt`` returns at last: it is called again while it raises a KafkaError that passes, after the
        controller and the coordinators are looked up anew, for ``limit_s``. Raises its last error."""
        deadline = asyncio.get_running_loop().time() + self.limit_s
        while True:
            try:
                return await attempt()
            except KafkaError as error:
                if not error.passes or asyncio.get_running_loop().time() > deadline:
                    raise
            await self._before_next_attempt()

    async def settled(
        self, keys: Iterable[K], attempt: Callable[[list[K]], Awaitable[dict[K, KafkaError]]]
    ) -> dict[K, KafkaError]:
        """What of the keys is refused at last: ``attempt`` returns the refusals of those that it gets, and gets those
        again whose refusal passes, as :meth:`until_done`."""
        deadline = asyncio.get_running_loop().time() + self.limit_s
        refused: dict[K, KafkaError] = {}
        asked = list(keys)
        while asked:
            answer = await attempt(asked)
            is_late = asyncio.get_running_loop().time() > deadline
            asked = [] if is_late else [key for key in asked if key in answer and answer[key].passes]
            refused |= {key: error for key, error in answer.items() if key not in asked}
            if asked:
                await self._before_next_attempt()
        return refused

    async def _before_next_attempt(self) -> None:
        self._coordinators.clear()
        self._known = None
        await asyncio.sleep(RETRY_S)

    async def of_every_broker(
        self, api: str, fields: Fields, nodes: Collection[int] | None = None, *, lowest: int = 0
    ) -> dict[int, Any]:
        """The answers of these brokers, or of all that are alive, asked at the same time. Raises AdminError when one
        does not answer."""
        asked = sorted((await self.cluster()).brokers) if nodes is None else list(nodes)
        answers = await asyncio.gather(*(self.ask_broker(node, api, fields, lowest=lowest) for node in asked))
        return dict(zip(asked, answers, strict=True))


def complete(names: Iterable[K], answer: Mapping[K, V | KafkaError]) -> dict[K, V | KafkaError]:
    """What an answer says of each name that was asked for; a broker that leaves one out has refused it."""
    missing = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, NOT_ANSWERED)
    return {name: answer.get(name, missing) for name in names}


def refusals(rows: Iterable[tuple[K, Any]]) -> dict[K, KafkaError]:
    """Those of the rows of an answer that are refusals, by their keys."""
    return {
        key: KafkaError(row.error_code, getattr(row, "error_message", None))
        for key, row in rows
        if row.error_code != NONE
    }


def check(answer: Any) -> None:
    """Raises KafkaError when the answer, or a row of one, is a refusal."""
    if answer.error_code != NONE:
        raise KafkaError(answer.error_code, getattr(answer, "error_message", None))
