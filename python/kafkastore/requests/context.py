"""The context of a request, which its handler gets. The handler reaches the broker by the context's ``broker``
(``services.py``).

A handler is ``async def handle(context: RequestContext, request: HeartbeatRequest) -> Unwritten`` in
``handlers/<api>.py``. kio has one dataclass per API and version; ``interbroker/request_types`` has the types of a
request over all versions, and ``context.row("CreatableTopicResult", ...)`` and ``context.answer(...)`` write the
classes of the version that was asked, so one handler serves all versions. An answer that may have many rows gives them
as :class:`~kafkastore.interbroker.encoding.Rows`: they are made while the answer is written, in slices of the loop.

A handler that walks more than it answers makes a ``context.turn()`` and gives way between two items.

A handler runs its first step outside of a task (most finish in it): it may await futures, locks and executors, but
``asyncio.timeout`` and ``asyncio.wait_for`` need a task, so a deadline is ``loop.call_later`` on a future. A handler
that waits for other clients returns a :class:`Later`, which takes no task at all.
"""

from __future__ import annotations

import asyncio
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from kafkastore.interbroker.encoding import Encoder, Unwritten, encoder_of
from kafkastore.purgatory.turns import Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from datetime import timedelta
    from types import ModuleType, SimpleNamespace

    from kafkastore._core import Request
    from kafkastore.configuration.mutation_quotas import MutationQuota
    from kafkastore.requests.admission import Admission, Ticket
    from kafkastore.requests.registry import Api
    from kafkastore.requests.services import BrokerServices

Result = TypeVar("Result")


class _ServedByDataPlane:
    __slots__ = ()


SERVED_BY_DATA_PLANE: Final = _ServedByDataPlane()
"""Returned by a handler that gave its request back with ``engine.serve_here(token)``: nothing is left to answer."""


_encoders: dict[tuple[int, int, str], Encoder] = {}
"""By the API's key, the version and the class."""


class AbandonedError(Exception):
    """The client of this request has gone, or the broker stops: no more work is done for the request."""


class Later(Generic[Result]):
    """The answer of a handler that waits for other clients. It is made of the result that :meth:`put` gets, once,
    before or after the handler has returned this object. A request that waits costs a callback and no task: a rebalance
    has thousands of them. A Later can be awaited, too."""

    __slots__ = ("_make", "_on_result", "_results")

    def __init__(self, make: Callable[[Result], Unwritten]) -> None:
        self._make: Callable[[Result], Unwritten] | None = make
        self._results: list[Result] = []
        self._on_result: Callable[[], None] | None = None

    @property
    def has_result(self) -> bool:
        return bool(self._results)

    def put(self, result: Result) -> None:
        assert self._make is not None, "answered twice"
        assert not self._results, "answered twice"
        self._results.append(result)
        # the callback holds this object; without the cycle, requests and results are freed at once
        callback, self._on_result = self._on_result, None
        if callback is not None:
            callback()

    def on_result(self, callback: Callable[[], None]) -> None:
        """``callback`` is called when the result comes. Must be called before that."""
        self._on_result = callback

    def response(self) -> Unwritten:
        """Makes the response of the result that has come. May be called once, since neither the result nor the function
        that makes the response is kept."""
        make, self._make = self._make, None
        assert make is not None
        return make(self._results.pop())

    def __await__(self) -> Generator[Any, None, Unwritten]:
        if not self._results:
            future = asyncio.get_running_loop().create_future()
            self.on_result(lambda: None if future.done() else future.set_result(None))  # the wait may be cancelled
            yield from future
        return self.response()


class RequestContext:
    """One request on its way through the control plane."""

    __slots__ = ("admission", "api", "broker", "decoded", "is_abandoned", "is_trusted", "request", "ticket")

    def __init__(self, request: Request, api: Api, broker: BrokerServices, *, is_trusted: bool = False) -> None:
        self.request = request
        self.api = api
        self.broker = broker
        self.is_trusted = is_trusted  # this broker's own request, or that of a broker that has proven the secret
        self.is_abandoned = False  # the client has gone, or the broker stops: the answer is not wanted any more
        self.decoded: Any = None  # the request as kio's object, until let_go
        self.admission: Admission | None = None
        self.ticket: Ticket | None = None

    @property
    def api_version(self) -> int:
        return self.request.api_version

    def turn(self) -> Turn:
        """A turn for work on this request. The work ends with AbandonedError at the end of a slice when the request is
        abandoned."""
        return Turn(self.check_wanted)

    def check_wanted(self) -> None:
        if self.is_abandoned:
            raise AbandonedError

    def mutation_quota(self, *, strict_from: int) -> MutationQuota:
        """The quota of partitions that this request may create or delete; the quota refuses from version
        ``strict_from`` on. A broker's own requests have none."""
        request = self.request
        principal = "" if self.is_own else request.principal
        return self.broker.quotas.mutations.of(principal, request.client_id, is_strict=self.api_version >= strict_from)

    @property
    def is_own(self) -> bool:
        """Whether no client asked, but this broker or another broker for itself."""
        return self.is_trusted or not self.request.client_host

    def let_go(self) -> None:
        """Drops the request's body and its weight in the admission. A handler calls this before it waits for other
        clients, when another part of the broker counts the request's content, or none keeps it: the requests of the
        other clients could not be admitted otherwise."""
        self.decoded = None
        if self.admission is not None and self.ticket is not None:
            self.request.forget_body()
            self.admission.leave(self.ticket)

    def encoder(self, name: str) -> Encoder:
        """The encoder of kio's class ``name`` of this response's version."""
        key = self.api.key, self.request.api_version, name
        found = _encoders.get(key)
        if found is None:
            module = schema_module(self.api, self.request.api_version, "response")
            found = _encoders[key] = encoder_of(getattr(module, name))
        return found

    def row(self, name: str, /, **fields: Any) -> bytes:
        """A row of the answer, as bytes: kio's class ``name`` of this response's version. Fields that only other
        versions have are left out, a field that no version has raises UnknownFieldError; an error code may be an int, a
        time in milliseconds an int, a topic id 16 bytes, an array any collection."""
        return self.encoder(name).row(fields)

    def unwritten_row(self, name: str, /, **fields: Any) -> Unwritten:
        """As :meth:`row`, for a row with an array of many rows, given as ``Rows``: it is encoded when the answer is
        written."""
        return self.encoder(name).unwritten(fields)

    def answer(self, **fields: Any) -> Unwritten:
        """The response itself, like :meth:`row`; ``throttle_time`` need not be given."""
        return self.encoder(f"{self.api.name}Response").unwritten(fields)

    def response_class(self) -> type[Any]:
        """kio's response dataclass for this API and version, imported at first use."""
        return schema_class(self.api, self.request.api_version, "response")

    def as_entity(self, response: Any) -> Any:
        """A handler's response as kio's object, for a caller within this process."""
        from kafkastore.interbroker.codec import entity_reader

        if type(response) is not Unwritten:
            return response
        return entity_reader(self.response_class())(b"".join(response.pieces()), 0)[0]


def schema_class(api: Api, version: int, direction: str) -> type[Any]:
    """kio's class for the ``direction`` ("request" or "response") of ``api`` at ``version``."""
    module = schema_module(api, version, direction)
    found: type[Any] = getattr(module, f"{api.name}{direction.capitalize()}")
    return found


_NOT_IN_KIO = frozenset(("adopt_segments", "controlled_shutdown", "leader_and_isr", "stop_replica", "update_metadata"))
"""APIs that Kafka 4 dropped, and kio with it, and our own; Kafkastore has schemas of its own for them, in kio's
style."""


def schema_module(api: Api, version: int, direction: str) -> ModuleType | SimpleNamespace:
    """kio's classes for the ``direction`` of ``api`` at ``version``, or those of a version that kio does not have."""
    if version < api.kafka_4_from:
        from kafkastore.interbroker.older_versions import older_module  # no client of the last years needs it

        return older_module(api.module, version, direction)
    root = "kafkastore.interbroker.schema" if api.module in _NOT_IN_KIO else "kio.schema"
    module_name = f"{root}.{api.module}.v{version}.{direction}"
    return sys.modules.get(module_name) or import_module(module_name)


def milliseconds(value: timedelta | int) -> int:
    """A kio timedelta (or plain milliseconds) as milliseconds."""
    return value if isinstance(value, int) else round(value.total_seconds() * 1000)


_builders: dict[type[Any], dict[str, Callable[[Any], Any] | None]] = {}


def build_entity(entity_class: type[Any], fields: dict[str, Any]) -> Any:
    """Makes an instance of a kio dataclass from plain values, as :meth:`RequestContext.row` takes them."""
    known = _builders.get(entity_class)
    if known is None:
        known = _builders[entity_class] = _converters(entity_class)
    arguments = {}
    for name, value in fields.items():
        convert = known.get(name)  # an unknown name fails below
        arguments[name] = value if convert is None else convert(value)
    if "throttle_time" in known and "throttle_time" not in arguments:
        arguments["throttle_time"] = _to_timedelta(0)
    return entity_class(**arguments)


def _converters(entity_class: type[Any]) -> dict[str, Callable[[Any], Any] | None]:
    from dataclasses import fields

    found: dict[str, Callable[[Any], Any] | None] = {}
    for field in fields(entity_class):
        name = field.name
        kind = field.metadata.get("kafka_type")
        if _is_array(field.type):
            found[name] = _to_uuid_tuple if kind == "uuid" else _to_tuple
        else:
            found[name] = _CONVERTERS.get(kind)
    return found


def _is_array(field_type: Any) -> bool:
    if getattr(field_type, "__origin__", None) is tuple:
        return True
    return any(_is_array(member) for member in getattr(field_type, "__args__", ()))


def _to_tuple(value: Any) -> Any:
    return value if value is None or type(value) is tuple else tuple(value)


def _to_uuid_tuple(value: Any) -> Any:
    return None if value is None else tuple(_to_uuid(one) for one in value)


def _to_error_code(value: Any) -> Any:
    if type(value) is not int:
        return value
    from kio.schema.errors import ErrorCode

    return ErrorCode(value)


def _to_timedelta(value: Any) -> Any:
    if not isinstance(value, int):
        return value
    from datetime import timedelta

    return timedelta(milliseconds=value)


def _to_datetime(value: Any) -> Any:
    if not isinstance(value, int):
        return value
    from datetime import UTC, datetime, timedelta

    return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=value)


def _to_uuid(value: Any) -> Any:
    if not isinstance(value, bytes):
        return value
    from uuid import UUID

    return UUID(bytes=value)


_CONVERTERS: dict[Any, Callable[[Any], Any]] = {
    "error_code": _to_error_code,
    "timedelta_i32": _to_timedelta,
    "timedelta_i64": _to_timedelta,
    "datetime_i64": _to_datetime,
    "uuid": _to_uuid,
}
