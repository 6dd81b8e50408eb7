"""Dispatch: from a request's bytes to the bytes of its answer, and the failures on the way."""

from __future__ import annotations

import asyncio
import gc
import sys
import time
import types
import weakref
from typing import TYPE_CHECKING, Any

import pytest
from fake_engine import AppendDone, EngineError, Request, RequestAbandoned
from world import run, running_broker

from kafkastore._core import LazyRows
from kafkastore.errors import CoordinatorNotAvailableError, InvalidRequestError
from kafkastore.requests.context import Later, RequestContext
from kafkastore.requests.registry import BY_NAME, MAX_ROWS
from kafkastore.server.kafka_apis import LARGE_BYTES, SLICE_S
from unit.plain_messages import request_body, response

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from kafkastore.server.broker import Broker

HEARTBEAT = BY_NAME["Heartbeat"]
REASSIGNMENTS, DESCRIBE_CONFIGS = BY_NAME["ListPartitionReassignments"], BY_NAME["DescribeConfigs"]


def encode(api: str, version: int, **fields: Any) -> bytes:
    return request_body(BY_NAME[api], version, fields)


def decode(api: str, version: int, body: bytes | None) -> Any:
    return response(BY_NAME[api], version, body)


def heartbeat(token: int = 1, member: str = "m") -> Request:
    body = encode("Heartbeat", 4, group_id="g", generation_id=1, member_id=member, group_instance_id=None)
    return Request(HEARTBEAT.key, 4, body, token)


@pytest.fixture
def handler(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """A module that replaces ``handlers.heartbeat``; tests set its ``handle``."""
    module = types.ModuleType("kafkastore.handlers.heartbeat")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


def check(folder: Path, test: Callable[[Broker], Awaitable[None]]) -> None:
    async def body() -> None:
        async with running_broker(folder) as broker:
            await test(broker)

    run(body)


async def answered(broker: Broker, *requests: Request) -> list[bytes | None]:
    """Submits the requests and waits for the answers."""
    engine = broker.services.engine
    engine.submit(*requests)
    await _until(lambda: all(request.token in engine.answers for request in requests))
    return [engine.answers[request.token] for request in requests]


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - the double has no event for its calls
            await asyncio.sleep(0)


def test_request_is_decoded_handled_and_its_answer_encoded(tmp_path: Path, handler: types.ModuleType) -> None:
    async def handle(context: RequestContext, request: Any) -> Any:
        assert (context.api.name, context.api_version, request.member_id) == ("Heartbeat", 4, "m")
        return context.answer(error_code=27)

    handler.handle = handle

    async def test(broker: Broker) -> None:
        (body,) = await answered(broker, heartbeat())
        assert decode("Heartbeat", 4, body).error_code == 27

    check(tmp_path, test)


def test_handlers_that_do_not_wait_are_answered_in_one_pass(tmp_path: Path, handler: types.ModuleType) -> None:
    async def handle(context: RequestContext, request: Any) -> Any:
        return context.answer(error_code=0)

    handler.handle = handle

    async def test(broker: Broker) -> None:
        engine = broker.services.engine
        await answered(
            broker, heartbeat(99)
        )  # the first request imports what it needs, which takes longer than a slice
        batches: list[int] = []
        respond = engine.respond
        engine.respond = lambda answers: (batches.append(len(answers)), respond(answers))  # type: ignore[method-assign]
        await answered(broker, *(heartbeat(token) for token in range(1, 11)))
        assert batches == [10]

    check(tmp_path, test)


def test_slow_handler_does_not_delay_others(tmp_path: Path, handler: types.ModuleType) -> None:
    async def test(broker: Broker) -> None:
        gate = asyncio.Event()
        steps: list[str] = []

        async def handle(context: RequestContext, request: Any) -> Any:
            if request.member_id == "slow":
                await gate.wait()
                await asyncio.get_running_loop().run_in_executor(None, steps.append, "waited twice")
            return context.answer(error_code=0)

        handler.handle = handle
        broker.services.engine.submit(heartbeat(1, "slow"))
        await answered(broker, heartbeat(2, "fast"))
        assert 1 not in broker.services.engine.answers
        gate.set()
        await _until(lambda: 1 in broker.services.engine.answers)
        assert decode("Heartbeat", 4, broker.services.engine.answers[1]).error_code == 0
        assert steps == ["waited twice"]

    check(tmp_path, test)


def test_answers_that_come_later_take_no_task_and_no_time_of_others(tmp_path: Path, handler: types.ModuleType) -> None:
    """As in a rebalance of a thousand members."""
    waiting: dict[str, Later[int]] = {}

    async def handle(context: RequestContext, request: Any) -> Any:
        later = Later[int](lambda code: context.answer(error_code=code))
        if request.member_id == "now":
            later.put(7)
        else:
            waiting[request.member_id] = later
        return later

    handler.handle = handle

    async def test(broker: Broker) -> None:
        engine = broker.services.engine
        before = len(asyncio.all_tasks())
        engine.submit(*(heartbeat(token, str(token)) for token in range(100, 200)))
        (now,) = await answered(broker, heartbeat(1, "now"))
        assert decode("Heartbeat", 4, now).error_code == 7
        await _until(lambda: len(waiting) == 100)
        assert len(asyncio.all_tasks()) == before
        assert list(engine.answers) == [1]
        for token in range(100, 200):
            waiting[str(token)].put(token % 20)
        await _until(lambda: len(engine.answers) == 101)
        assert all(decode("Heartbeat", 4, engine.answers[token]).error_code == token % 20 for token in range(100, 200))
        assert "Heartbeat" in broker.observed().holds.recent()

    check(tmp_path, test)


def test_request_that_was_answered_later_leaves_nothing_to_the_collector_of_cycles(
    tmp_path: Path, handler: types.ModuleType
) -> None:
    """Full collections are rare: the garbage of a rebalance of a thousand members would stay in memory for long."""

    class Result:
        code = 7

    waiting: list[Later[Result]] = []
    made: list[weakref.ref[Any]] = []

    async def handle(context: RequestContext, request: Any) -> Any:
        def make(result: Result) -> Any:
            return context.answer(error_code=result.code)

        made.extend((weakref.ref(make), weakref.ref(context.request)))
        waiting.append(Later(make))
        return waiting[-1]

    handler.handle = handle

    async def test(broker: Broker) -> None:
        engine = broker.services.engine
        engine.submit(heartbeat(1))
        await _until(lambda: bool(waiting))
        result = Result()
        made.append(weakref.ref(result))
        waiting.pop().put(result)
        del result
        await _until(lambda: 1 in engine.answers)
        assert decode("Heartbeat", 4, engine.answers[1]).error_code == 7
        await asyncio.sleep(0)
        assert [one() for one in made] == [None, None, None]

    gc.disable()
    try:
        check(tmp_path, test)
    finally:
        gc.enable()


def test_later_answer_that_cannot_be_made_is_an_unknown_server_error(tmp_path: Path, handler: types.ModuleType) -> None:
    waiting: list[Later[int]] = []

    async def handle(context: RequestContext, request: Any) -> Any:
        def make(code: int) -> Any:
            raise ValueError(code)

        waiting.append(Later[int](make))
        if request.member_id == "now":
            waiting[-1].put(1)
        return waiting[-1]

    handler.handle = handle

    async def test(broker: Broker) -> None:
        engine = broker.services.engine
        engine.submit(heartbeat(1, "now"), heartbeat(2, "later"))
        await _until(lambda: len(waiting) == 2)
        waiting[1].put(1)
        await _until(lambda: len(engine.answers) == 2)
        assert [decode("Heartbeat", 4, engine.answers[token]).error_code for token in (1, 2)] == [-1, -1]

    check(tmp_path, test)


def test_request_whose_answer_has_not_come_when_the_broker_stops_closes_its_connection(
    tmp_path: Path, handler: types.ModuleType
) -> None:
    waiting: list[Later[int]] = []

    async def handle(context: RequestContext, request: Any) -> Any:
        waiting.append(Later[int](lambda code: context.answer(error_code=code)))
        return waiting[-1]

    handler.handle = handle

    async def body() -> None:
        async with running_broker(tmp_path) as broker:
            engine = broker.services.engine
            engine.submit(heartbeat(1))
            await _until(lambda: bool(waiting))
        assert engine.answers == {1: None}
        waiting[0].put(0)  # too late, and harmless
        assert engine.answers == {1: None}

    run(body)


def test_large_request_may_be_answered_later(tmp_path: Path, handler: types.ModuleType) -> None:
    waiting: list[Later[int]] = []

    async def handle(context: RequestContext, request: Any) -> Any:
        waiting.append(Later[int](lambda code: context.answer(error_code=code)))
        return waiting[-1]

    handler.handle = handle

    async def test(broker: Broker) -> None:
        engine = broker.services.engine
        engine.submit(heartbeat(1, "m" * (LARGE_BYTES + 1)))
        await _until(lambda: bool(waiting))
        waiting[0].put(5)
        await _until(lambda: 1 in engine.answers)
        assert decode("Heartbeat", 4, engine.answers[1]).error_code == 5

    check(tmp_path, test)


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize(
    ("error", "code"),
    [(CoordinatorNotAvailableError(), 15), (EngineError(6, "not here"), 6), (RuntimeError("our bug"), -1)],
)
def test_errors_of_handlers_become_the_apis_error_response(
    tmp_path: Path,
    handler: types.ModuleType,
    error: Exception,
    code: int,
    waits: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def handle(context: RequestContext, request: Any) -> Any:
        if waits:
            await asyncio.sleep(0)
        raise error

    handler.handle = handle

    async def test(broker: Broker) -> None:
        (body,) = await answered(broker, heartbeat())
        assert decode("Heartbeat", 4, body).error_code == code

    check(tmp_path, test)
    tracebacks = [record for record in caplog.records if record.exc_info]
    assert len(tracebacks) == (1 if code == -1 else 0)
    assert all("Heartbeat v4" in record.getMessage() for record in tracebacks)


def test_kept_error_holds_no_reference_to_its_request(tmp_path: Path, handler: types.ModuleType) -> None:
    class Large:
        pass

    held: list[weakref.ref[Large]] = []
    kept: list[Exception] = []

    async def handle(context: RequestContext, request: Any) -> Any:
        large = Large()
        held.append(weakref.ref(large))
        await asyncio.sleep(0)
        kept.append(CoordinatorNotAvailableError())
        raise kept[0]

    handler.handle = handle

    async def test(broker: Broker) -> None:
        (body,) = await answered(broker, heartbeat())
        assert decode("Heartbeat", 4, body).error_code == 15
        await asyncio.sleep(0)

    gc.disable()
    try:
        check(tmp_path, test)
    finally:
        gc.enable()
    assert [one() for one in held] == [None]


def test_handler_that_waits_sees_cancellation_when_the_broker_stops(tmp_path: Path, handler: types.ModuleType) -> None:
    ended: list[str] = []

    async def handle(context: RequestContext, request: Any) -> Any:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.append(request.member_id)

    handler.handle = handle

    async def test(broker: Broker) -> None:
        broker.services.engine.submit(heartbeat(1, "forever"))
        await _until(lambda: not broker.services.engine._queue)

    check(tmp_path, test)
    assert ended == ["forever"]


def test_malformed_body_closes_the_connection_with_one_log_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def test(broker: Broker) -> None:
        answers = await answered(
            broker,
            Request(HEARTBEAT.key, 4, b"MALFORMED", 1),
            Request(HEARTBEAT.key, 4, b"\x05g", 2),
            Request(HEARTBEAT.key, 99, b"", 3),
            Request(999, 0, b"", 4),
        )
        assert answers == [None] * 4

    check(tmp_path, test)
    lines = [line for record in caplog.records if "Closing" in (line := record.getMessage())]
    assert len(lines) == 4
    assert "/127.0.0.1" in lines[0]
    assert "malformed Heartbeat v4" in lines[0]


def test_request_that_the_codec_fails_on_closes_its_connection(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> bytes:
        raise RuntimeError("panic: index out of bounds")

    monkeypatch.setattr("kafkastore.server.kafka_apis.decode_request", fail)

    async def test(broker: Broker) -> None:
        assert await answered(broker, heartbeat()) == [None]

    check(tmp_path, test)
    (record,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert record.getMessage() == "API key 12 v4 could not be read"
    assert record.exc_info is not None


def test_response_that_cannot_be_encoded_is_an_unknown_server_error(tmp_path: Path, handler: types.ModuleType) -> None:
    async def handle(context: RequestContext, request: Any) -> Any:
        return context.answer(error_code="not a number")

    handler.handle = handle

    async def test(broker: Broker) -> None:
        (body,) = await answered(broker, heartbeat())
        assert decode("Heartbeat", 4, body).error_code == -1

    check(tmp_path, test)


def test_event_that_fails_does_not_take_those_behind_it_along(
    tmp_path: Path, handler: types.ModuleType, caplog: pytest.LogCaptureFixture
) -> None:
    async def handle(context: RequestContext, request: Any) -> Any:
        return context.answer(error_code=0)

    handler.handle = handle

    async def test(broker: Broker) -> None:
        def fail(_: AppendDone) -> None:
            raise IndexError

        broker.services.replica_manager.on_append_done = fail  # type: ignore[method-assign]
        broker.services.engine.submit(AppendDone(1, 0, 0, 0))
        (body,) = await answered(broker, heartbeat())
        assert decode("Heartbeat", 4, body).error_code == 0
        assert "AppendDone could not be handled" in caplog.text

    check(tmp_path, test)


def test_request_whose_error_cannot_be_answered_closes_its_connection(
    tmp_path: Path, handler: types.ModuleType, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def handle(context: RequestContext, request: Any) -> Any:
        raise InvalidRequestError

    def fail(*_: object) -> None:
        raise AssertionError

    handler.handle = handle
    monkeypatch.setattr("kafkastore.requests.error_response.error_answer", fail)

    async def test(broker: Broker) -> None:
        assert await answered(broker, heartbeat()) == [None]
        assert "Request could not be handled" in caplog.text

    check(tmp_path, test)


def _hold(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def test_pass_of_the_loop_begins_no_more_requests_when_its_slice_is_over(
    tmp_path: Path, handler: types.ModuleType
) -> None:
    begun: list[str] = []

    async def handle(context: RequestContext, request: Any) -> Any:
        begun.append(request.member_id)
        _hold(SLICE_S)
        return context.answer(error_code=0)

    handler.handle = handle

    async def test(broker: Broker) -> None:
        tokens = range(1, 11)
        broker.services.engine.submit(*(heartbeat(token, str(token)) for token in tokens))
        most = 0
        while len(begun) < len(tokens):
            before = len(begun)
            await asyncio.sleep(0)
            most = max(most, len(begun) - before)
        assert most == 1
        assert begun == [str(token) for token in tokens]

    check(tmp_path, test)


def test_large_requests_are_read_one_in_a_pass_and_small_ones_pass_them(
    tmp_path: Path, handler: types.ModuleType
) -> None:
    begun: list[str] = []

    async def handle(context: RequestContext, request: Any) -> Any:
        begun.append(request.member_id[:5])
        return context.answer(error_code=0)

    handler.handle = handle

    async def test(broker: Broker) -> None:
        large = [heartbeat(token, f"large{'x' * LARGE_BYTES}") for token in range(1, 6)]
        broker.services.engine.submit(*large, heartbeat(6, "small"))
        most = 0
        while len(begun) < 6:
            before = len(begun)
            await asyncio.sleep(0)
            most = max(most, len(begun) - before)
        assert most == 1
        assert begun == ["small", *["large"] * 5]
        await _until(lambda: len(broker.services.engine.answers) == 6)

    check(tmp_path, test)


def describe_configs(token: int) -> Request:
    body = encode("DescribeConfigs", 4, resources=(), include_synonyms=False, include_documentation=False)
    return Request(BY_NAME["DescribeConfigs"].key, 4, body, token)


class _Described:
    """Replaces ``handlers.describe_configs``: answers ``count`` results, each of which takes a slice to make."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
        module = types.ModuleType("kafkastore.handlers.describe_configs")
        module.handle = self.handle  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)
        self.count = count
        self.made = 0

    async def handle(self, context: RequestContext, request: Any) -> Any:
        def make(number: int) -> Any:
            self.made += 1
            _hold(SLICE_S)
            return context.row(
                "DescribeConfigsResult",
                error_code=0,
                error_message=None,
                resource_type=2,
                resource_name=str(number),
                configs=(),
            )

        return context.answer(results=LazyRows(range(self.count), make))


def test_long_answer_is_written_in_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    described = _Described(monkeypatch, 10)

    async def test(broker: Broker) -> None:
        broker.services.engine.submit(describe_configs(1))
        most = 0
        while 1 not in broker.services.engine.answers:
            before = described.made
            await asyncio.sleep(0)
            most = max(most, described.made - before)
        assert most == 1
        answer = decode("DescribeConfigs", 4, broker.services.engine.answers[1])
        assert [one.resource_name for one in answer.results] == [str(number) for number in range(10)]

    check(tmp_path, test)


def test_long_answer_is_given_up_when_the_broker_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    described = _Described(monkeypatch, 10_000)

    async def test(broker: Broker) -> None:
        broker.services.engine.submit(describe_configs(1))
        await _until(lambda: described.made > 0)

    check(tmp_path, test)
    assert 0 < described.made < 100


def test_request_whose_client_has_gone_ends_at_its_next_turn(tmp_path: Path, handler: types.ModuleType) -> None:
    walked = 0

    async def handle(context: RequestContext, request: Any) -> Any:
        nonlocal walked
        async for _ in context.turn().each(range(10_000)):
            _hold(SLICE_S)
            walked += 1
        return context.answer(error_code=0)

    handler.handle = handle

    async def test(broker: Broker) -> None:
        engine = broker.services.engine
        engine.submit(heartbeat(1))
        await _until(lambda: walked > 2)
        engine.submit(RequestAbandoned(1), RequestAbandoned(77))
        await _until(lambda: 1 in engine.answers)
        assert engine.answers[1] is None
        assert walked < 100

    check(tmp_path, test)


def test_request_of_too_many_rows_is_refused_or_its_connection_closed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def test(broker: Broker) -> None:
        topics, resources = [{"name": "t"}] * (MAX_ROWS + 1), [{"resource_type": 2, "resource_name": "t"}] * MAX_ROWS
        answers = await answered(
            broker,
            Request(REASSIGNMENTS.key, 0, encode(REASSIGNMENTS.name, 0, topics=topics), 1),
            Request(DESCRIBE_CONFIGS.key, 4, encode(DESCRIBE_CONFIGS.name, 4, resources=resources), 2),
            heartbeat(3),
        )
        refused = decode("ListPartitionReassignments", 0, answers[0])
        assert (refused.error_code, refused.topics) == (42, ())
        assert refused.error_message == "the request has more rows than this API takes at once"
        assert answers[1] is None
        assert answers[2] is not None

    check(tmp_path, test)
    (line,) = [line for record in caplog.records if "Closing" in (line := record.getMessage())]
    assert "DescribeConfigs v4: the request has more rows" in line


def test_metadata_creates_what_is_missing_and_goes_back_to_the_data_plane(tmp_path: Path) -> None:
    async def test(broker: Broker) -> None:
        engine = broker.services.engine
        for token, allowed in ((1, False), (2, True), (3, True)):
            fields = {"allow_auto_topic_creation": allowed}
            topics = [{"name": name} for name in ("new", "bad name", "__consumer_offsets")]
            engine.submit(Request(3, 5, encode("Metadata", 5, topics=topics, **fields), token))
            await _until(lambda token=token: token in engine.served_here)
            assert ("new" in broker.services.image.topics) is allowed
        assert sorted(broker.services.image.topics) == ["new"]  # offsets.topic.replication.factor is 3 here, as Kafka's
        assert engine.answers == {}

    check(tmp_path, test)
