"""Administrative requests reach the controller from any broker and end at their own timeout (KIP-590)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from member_world import running_member
from stepped import Request, taken
from world import run, until

from kafkastore._core import decode_request, message_encoder
from kafkastore.controller.controller import Controller
from kafkastore.errors import ErrorCode, NotControllerError, RequestTimedOutError
from kafkastore.interbroker.controller_connections import NotTakenError, OutcomeUnknownError
from kafkastore.interbroker.envelope import ForwardedRequest, passed_by, probe, request_of, response_body
from kafkastore.membership import member
from kafkastore.messages import OutgoingRequest
from kafkastore.metadata.image import BrokerImage
from kafkastore.metadata.nodes import encode_config
from kafkastore.metadata.store import SessionExpiredError
from kafkastore.requests import forwarding
from kafkastore.requests.context import RequestContext
from kafkastore.requests.registry import BY_KEY, BY_NAME
from kafkastore.server.broker import Broker
from kafkastore.topic import topics

SHORT_MS = 200
LONG_MS = 20_000
REQUEST_TIMED_OUT = int(ErrorCode.REQUEST_TIMED_OUT)
NONE = int(ErrorCode.NONE)


@pytest.fixture(autouse=True)
def _leaves_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(member, "SHUTDOWN_RETRY_S", 0)


def request(name: str, timeout_ms: int = LONG_MS, topic: str = "t") -> OutgoingRequest:
    """A request of an API that only the controller serves, in its newest version."""
    fields: dict[str, Any] = {"topics": None}
    if name == "CreateTopics":
        one = {"name": topic, "num_partitions": 1, "replication_factor": 1, "assignments": (), "configs": ()}
        fields = {"topics": [one]}
    elif name == "DeleteTopics":
        fields = {"topics": [{"name": topic, "topic_id": None}]}
    elif name == "CreatePartitions":
        fields = {"topics": [{"name": topic, "count": 3, "assignments": None}], "validate_only": False}
    elif name == "ElectLeaders":
        fields = {"election_type": 0, "topic_partitions": None}
    elif name == "AlterPartitionReassignments":
        fields = {"topics": [{"name": topic, "partitions": [{"partition_index": 0, "replicas": (1,)}]}]}
    return OutgoingRequest(name, BY_NAME[name].max_version, {**fields, "timeout_ms": timeout_ms})


FORWARDED = ("CreateTopics", "DeleteTopics", "CreatePartitions", "ElectLeaders", "AlterPartitionReassignments")


def code_of(answer: Any) -> int:
    """The error code of the whole answer, or of its only row."""
    if hasattr(answer, "error_code"):
        return int(answer.error_code)
    rows = next(getattr(answer, name) for name in ("topics", "responses", "results") if hasattr(answer, name))
    return int(rows[0].error_code)


class Asker:
    """A client of one broker over the stepped engine."""

    def __init__(self, broker: Broker) -> None:
        self.engine: Any = broker.services.engine
        self._token = 7000

    async def ask(self, asked: OutgoingRequest) -> Any:
        return asked.response(await self.ask_raw(asked))

    async def ask_raw(self, asked: OutgoingRequest) -> bytes:
        self._token += 1
        token = self._token
        self.engine.submit(Request(asked.api_key, asked.version, asked.body(), token, client_id="a client"))
        await until(lambda: token in self.engine.answers)
        found: bytes = self.engine.answers[token]
        assert found is not None
        return found


class OtherController:
    """Replaces the connections: records the requests and gives the test's outcomes in turn, and then hangs."""

    def __init__(self, *outcomes: bytes | Exception) -> None:
        self.outcomes = list(outcomes)
        self.asked: list[tuple[tuple[str, int], ForwardedRequest, bool]] = []

    async def pass_on(
        self, address: tuple[str, int], envelope: OutgoingRequest, limit_s: float, *, is_repeatable: bool
    ) -> bytes:
        assert 0 < limit_s <= forwarding.DEFAULT_TIMEOUT_MS / 1000 + 1
        assert asyncio.current_task() is not None
        is_flexible = lambda key, version: BY_KEY[key].is_flexible(version)  # noqa: E731
        self.asked.append((address, passed_by(envelope.decoded(), is_flexible), is_repeatable))
        outcome = self.outcomes.pop(0) if self.outcomes else asyncio.Event()
        if isinstance(outcome, asyncio.Event):  # it hangs
            await outcome.wait()
        if isinstance(outcome, Exception):
            raise outcome
        assert isinstance(outcome, bytes)
        return outcome

    async def close(self) -> None:
        return


def check(folder: Path, test: Callable[[Broker], Awaitable[None]]) -> None:
    async def body() -> None:
        async with running_member(folder) as broker:
            await test(broker)

    run(body)


async def other_controller(broker: Broker, *outcomes: bytes | Exception) -> OtherController:
    """Makes node 2 the controller."""
    services = broker.services
    await services.controller.stop()
    services.image.brokers[2] = BrokerImage(2, None, (("PLAINTEXT", "other.example", 9093),))
    services.controller.controller_id = 2
    found = OtherController(*outcomes)
    services.forwarding.connections = found  # type: ignore[assignment]
    return found


def test_request_and_answer_pass_unread(tmp_path: Path) -> None:
    async def test(broker: Broker) -> None:
        other = await other_controller(broker, b"\0\0\0\0\0" + b"an answer")
        asked = request("CreateTopics")
        assert await Asker(broker).ask_raw(asked) == b"an answer"
        ((address, passed, is_repeatable),) = other.asked
        assert address == ("other.example", 9093)
        assert passed[:3] == (19, 7, "a client")
        assert passed.body == asked.body()
        assert not is_repeatable

    check(tmp_path, test)


@pytest.mark.parametrize("name", FORWARDED)
def test_request_waits_for_the_next_controller_and_takes_along_the_time_that_is_left(tmp_path: Path, name: str) -> None:
    async def test(broker: Broker) -> None:
        other = await other_controller(broker, NotTakenError("refused"), b"\0\0\0\0\0done")
        assert await Asker(broker).ask_raw(request(name)) == b"done"
        first, second = (passed for _, passed, _ in other.asked)
        timeouts = [decode_request(one.api_key, one.api_version, one.body).timeout_ms for one in (first, second)]
        assert timeouts[0] == LONG_MS > timeouts[1] > LONG_MS / 2

    check(tmp_path, test)


def test_controllers_that_the_store_and_the_image_name_are_asked_in_turns(tmp_path: Path) -> None:
    async def test(broker: Broker) -> None:
        other = await other_controller(broker, *[NotTakenError("refused")] * 3, b"\0\0\0\0\0done")
        image = broker.services.image
        image.brokers[3] = BrokerImage(3, None, (("PLAINTEXT", "third.example", 9094),))
        image.controller_id = 3
        assert await Asker(broker).ask_raw(request("CreateTopics")) == b"done"
        assert [address[0] for address, _, _ in other.asked] == ["other.example", "third.example"] * 2

    check(tmp_path, test)


def test_request_is_done_here_when_this_broker_becomes_the_controller_meanwhile(tmp_path: Path) -> None:
    async def test(broker: Broker) -> None:
        services = broker.services
        other = await other_controller(broker, *[NotTakenError("refused")] * 1000)
        asking = asyncio.ensure_future(Asker(broker).ask(request("CreateTopics")))
        await until(lambda: len(other.asked) > 2)
        await services.controller.start()
        assert code_of(await asking) == NONE
        assert services.image.topic("t") is not None

    check(tmp_path, test)


@pytest.mark.parametrize("name", FORWARDED)
def test_request_that_may_have_been_done_is_asked_once_and_answered_with_request_timed_out(
    tmp_path: Path, name: str
) -> None:
    async def test(broker: Broker) -> None:
        other = await other_controller(broker, OutcomeUnknownError("reset"))
        assert code_of(await Asker(broker).ask(request(name))) == REQUEST_TIMED_OUT
        assert len(other.asked) == 1

    check(tmp_path, test)


def test_request_that_only_looks_is_asked_again(tmp_path: Path) -> None:
    async def test(broker: Broker) -> None:
        other = await other_controller(broker, OutcomeUnknownError("reset"), b"\0\0\0\0\0done")
        assert await Asker(broker).ask_raw(request("ListPartitionReassignments")) == b"done"
        assert [is_repeatable for _, _, is_repeatable in other.asked] == [True, True]

    check(tmp_path, test)


@pytest.mark.parametrize("name", [*FORWARDED, "ListPartitionReassignments"])
@pytest.mark.parametrize("state", ["no controller", "controller hangs"])
def test_request_ends_at_its_own_time(tmp_path: Path, name: str, state: str) -> None:
    async def test(broker: Broker) -> None:
        await other_controller(broker)
        if state == "no controller":
            broker.services.controller.controller_id = broker.services.image.controller_id = -1
        began = broker.services.loop.time()
        assert code_of(await Asker(broker).ask(request(name, SHORT_MS))) == REQUEST_TIMED_OUT
        assert broker.services.loop.time() - began >= SHORT_MS / 1000

    check(tmp_path, test)


@pytest.mark.parametrize("name", [*FORWARDED, "ListPartitionReassignments"])
def test_request_ends_at_its_own_time_whatever_the_controller_waits_for_and_does_not_happen_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The store is away: the running event waits for it, and the requests wait for that event, or for the topic's
    lock."""

    async def test(broker: Broker) -> None:
        services, asker = broker.services, Asker(broker)
        await services.topics.create("t")
        store, gate = broker.store, asyncio.Event()
        multi = store.multi

        async def away(operations: Any) -> Any:
            await gate.wait()
            return await multi(operations)

        monkeypatch.setattr(store, "multi", away)
        stuck = asyncio.ensure_future(services.controller.set_topic_configs({"t": {}}))
        await asyncio.sleep(0)
        topic = "u" if name == "CreateTopics" else "t"
        twice = await asyncio.gather(*(asker.ask(request(name, SHORT_MS, topic)) for _ in range(2)))
        assert [code_of(one) for one in twice] == [REQUEST_TIMED_OUT] * 2
        assert not services.controller._events, "nothing waits that nobody waits for"
        assert not services.topics.locks.names, "locks are let go"
        gate.set()
        await stuck
        await services.controller.elect_leaders([])
        assert {one: len(found.partitions) for one, found in services.image.topics.items()} == {"t": 1}

    check(tmp_path, test)


def test_request_without_a_timeout_ends_at_kafkas_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forwarding, "DEFAULT_TIMEOUT_MS", SHORT_MS)

    async def test(broker: Broker) -> None:
        await broker.services.topics.create("t")
        other = await other_controller(broker)  # the other controller hangs
        assert code_of(await Asker(broker).ask(configuration(2, "t"))) == REQUEST_TIMED_OUT
        assert other.asked, "it was the controller that it waited for"

    check(tmp_path, test)


def configuration(kind: int, *names: str) -> OutgoingRequest:
    return mixed(*((kind, name) for name in names))


def mixed(*resources: tuple[int, str]) -> OutgoingRequest:
    configs = [{"name": "retention.ms", "config_operation": 0, "value": "5"}]
    asked = [{"resource_type": kind, "resource_name": name, "configs": configs} for kind, name in resources]
    return OutgoingRequest("IncrementalAlterConfigs", 1, {"resources": asked, "validate_only": False})


def test_configuration_of_topics_goes_to_the_controller_whole_and_is_in_effect_here(tmp_path: Path) -> None:
    async def test(broker: Broker) -> None:
        services = broker.services
        for name in ("t", "u"):
            await services.topics.create(name)
        other = await other_controller(broker, OutcomeUnknownError("reset"), b"\0\0\0\0\0done")
        for name in ("t", "u"):
            await broker.store.set(f"/config/topics/{name}", encode_config({"retention.ms": "5"}))
        asked = configuration(2, "t", "u", "gone", "no/name")
        assert await Asker(broker).ask_raw(asked) == b"done"
        assert [is_repeatable for _, _, is_repeatable in other.asked] == [True, True]
        assert other.asked[0][1].body == asked.body()
        assert [services.engine.topic_configs[name]["retention.ms"] for name in ("t", "u")] == ["5", "5"]

    check(tmp_path, test)


def configured(*outcomes: tuple[str, int]) -> bytes:
    """The controller's answer."""
    rows = [
        {"error_code": code, "error_message": f"of {name}", "resource_type": 2, "resource_name": name}
        for name, code in outcomes
    ]
    return bytes(5) + message_encoder("IncrementalAlterConfigsResponse", 1).row({"responses": rows})


MIXED = ((2, "t"), (4, "1"), (2, "u"), (2, "gone"))


def test_topics_among_other_resources_go_to_the_controller_in_one_request(tmp_path: Path) -> None:
    async def test(broker: Broker) -> None:
        for name in ("t", "u"):
            await broker.services.topics.create(name)
        other = await other_controller(broker, configured(("gone", 3), ("u", 0), ("t", 0)))
        answer = await Asker(broker).ask(mixed(*MIXED))
        found = [(one.resource_type, one.resource_name, int(one.error_code)) for one in answer.responses]
        assert found == [(2, "t", 0), (4, "1", 42), (2, "u", 0), (2, "gone", 3)]
        assert answer.responses[3].error_message == "of gone"
        ((_, passed, is_repeatable),) = other.asked
        assert is_repeatable
        assert passed.body == configuration(2, "t", "u", "gone").body()

    check(tmp_path, test)


def test_forwarded_topics_among_other_resources_time_out_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test(broker: Broker) -> None:
        other = await other_controller(broker)
        monkeypatch.setattr(forwarding, "DEFAULT_TIMEOUT_MS", SHORT_MS)
        answer = await Asker(broker).ask(mixed(*MIXED))
        codes = [int(one.error_code) for one in answer.responses]
        assert codes == [REQUEST_TIMED_OUT, 42, REQUEST_TIMED_OUT, REQUEST_TIMED_OUT]
        assert len(other.asked) == 1

    check(tmp_path, test)


def test_configuration_of_this_broker_is_not_passed_on(tmp_path: Path) -> None:
    async def test(broker: Broker) -> None:
        other = await other_controller(broker)
        answer = await Asker(broker).ask(configuration(4, "1"))
        assert [int(one.error_code) for one in answer.responses] == [42]  # a key of topics
        assert other.asked == []

    check(tmp_path, test)


def test_client_that_needs_a_topic_gets_its_error_in_time_without_a_controller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FindCoordinator and Metadata create the topic on the client's behalf."""
    monkeypatch.setattr(topics, "CREATE_LIMIT_MS", SHORT_MS)

    async def test(broker: Broker) -> None:
        await other_controller(broker)
        with pytest.raises(RequestTimedOutError):
            await broker.services.topics.create_if_absent("__consumer_offsets")

    check(tmp_path, test)


@pytest.mark.parametrize(
    ("error", "is_asked_again"),
    [(NotControllerError(), True), (SessionExpiredError("/"), False)],
    ids=["before it began", "while it was under way"],
)
def test_controller_that_loses_its_seat_does_not_answer_not_controller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, is_asked_again: bool
) -> None:
    create, calls = Controller.create_topics, []

    async def failing(self: Controller, asked: Any) -> Any:
        calls.append(asked)
        if len(calls) == 1:
            raise error
        return await create(self, asked)

    monkeypatch.setattr(Controller, "create_topics", failing)

    async def test(broker: Broker) -> None:
        answer = await Asker(broker).ask(request("CreateTopics"))
        assert code_of(answer) == (NONE if is_asked_again else REQUEST_TIMED_OUT)
        assert len(calls) == 1 + is_asked_again

    check(tmp_path, test)


def test_own_request_of_the_broker_waits_for_a_controller_and_is_repeated(tmp_path: Path) -> None:
    async def test(broker: Broker) -> None:
        other = await other_controller(broker, OutcomeUnknownError("reset"), NotTakenError("none"))
        asking = asyncio.ensure_future(broker.services.forwarding.ask(request("CreateTopics", topic="u"), LONG_MS))
        await until(lambda: len(other.asked) == 3)
        assert {is_repeatable for _, _, is_repeatable in other.asked} == {True}
        asking.cancel()
        with suppress(asyncio.CancelledError):
            await asking
        with pytest.raises(RequestTimedOutError):
            await broker.services.forwarding.ask(request("CreateTopics", topic="u"), SHORT_MS)

    check(tmp_path, test)


@pytest.mark.parametrize("name", [*FORWARDED, "ListPartitionReassignments"])
def test_request_without_time_is_answered_at_once_and_not_forwarded(tmp_path: Path, name: str) -> None:
    async def test(broker: Broker) -> None:
        other = await other_controller(broker)
        assert code_of(await Asker(broker).ask(request(name, 0))) == REQUEST_TIMED_OUT
        assert other.asked == []

    check(tmp_path, test)


def test_broker_that_stops_does_not_wait_for_a_controller(tmp_path: Path) -> None:
    async def test(broker: Broker) -> None:
        other = await other_controller(broker, *[NotTakenError("refused")] * 10_000)
        asking = asyncio.ensure_future(Asker(broker).ask(request("CreateTopics")))
        await until(lambda: len(other.asked) > 1)
        await broker.services.forwarding.close()
        assert code_of(await asking) == REQUEST_TIMED_OUT

    check(tmp_path, test)


# ---- the controller's side
async def pass_to(broker: Broker, envelope: OutgoingRequest) -> Any:
    """Sends the envelope as broker 2 does; returns the answer."""
    services: Any = broker.services
    handle = import_module("kafkastore.handlers.envelope").handle
    asked = taken(Request(58, 0, b"", 1, client_id="broker-2"))
    context = RequestContext(asked, BY_NAME["Envelope"], services)
    return context.as_object(await services.loop.create_task(handle(context, envelope.decoded())))


def enclosed(asked: OutgoingRequest) -> OutgoingRequest:
    passed = ForwardedRequest(asked.api_key, asked.version, "a client", "/127.0.0.1", asked.body(), None)
    return request_of(passed, is_flexible=asked.is_flexible)


def test_controller_answers_a_forwarded_request_once_the_forwarding_broker_has_the_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[int] = []

    async def wait_sent(_: Controller, node_id: int, limit_s: float) -> None:
        assert limit_s > 0
        told.append(node_id)

    monkeypatch.setattr(Controller, "wait_sent", wait_sent)

    async def test(broker: Broker) -> None:
        assert (await pass_to(broker, probe())).error_code == NONE
        asked = request("CreateTopics")
        answer = await pass_to(broker, enclosed(asked))
        assert answer.error_code == NONE
        assert code_of(asked.response(response_body(answer.response_data, is_flexible=True))) == NONE
        assert broker.services.image.topic("t") is not None
        assert told == [2]

    check(tmp_path, test)


def test_broker_that_is_no_controller_takes_nothing_and_passes_nothing_on(tmp_path: Path) -> None:
    async def test(broker: Broker) -> None:
        other = await other_controller(broker)
        for envelope in (probe(), enclosed(request("CreateTopics"))):
            answer = await pass_to(broker, envelope)
            assert (answer.error_code, answer.response_data) == (ErrorCode.NOT_CONTROLLER, None)
        assert other.asked == []

    check(tmp_path, test)


@pytest.mark.parametrize(
    "passed",
    [
        ForwardedRequest(0, 11, None, "", b"", None),
        ForwardedRequest(999, 0, None, "", b"", None),
        ForwardedRequest(19, 99, None, "", b"", None),
        ForwardedRequest(58, 0, None, "", b"", None),
        ForwardedRequest(19, 7, None, "", b"\xff\xff\xff", None),
    ],
    ids=["Produce", "unknown", "another version", "an envelope", "malformed"],
)
def test_envelope_of_a_request_that_is_not_forwarded_is_refused(tmp_path: Path, passed: ForwardedRequest) -> None:
    async def test(broker: Broker) -> None:
        is_flexible = passed.api_key in BY_KEY and BY_KEY[passed.api_key].is_flexible(passed.api_version)
        answer = await pass_to(broker, request_of(passed, is_flexible=is_flexible))
        assert (answer.error_code, answer.response_data) == (ErrorCode.INVALID_REQUEST, None)

    check(tmp_path, test)
