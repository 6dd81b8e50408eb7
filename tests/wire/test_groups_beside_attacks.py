"""An honest member's heartbeats and the broker's memory during expensive requests about groups."""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Iterator

import pytest

from peer.broker_factory import BrokerFactory
from peer.broker_process import BrokerProcess, wait_until
from peer.wire_socket import WireSocket

JOIN_GROUP, HEARTBEAT, LEAVE_GROUP, SYNC_GROUP, DESCRIBE_GROUPS = 11, 12, 13, 14, 15
LIST_GROUPS, FIND_COORDINATOR, OFFSET_FETCH, DELETE_GROUPS = 16, 10, 9, 42
NAMES = 30_000
BEATS = 10  # the least during an attack; once the attack held the loop all the time
MB = 1024 * 1024
BEYOND_IDLE = 64 * MB
GROUP_MAX_SIZE_REACHED = 81


def text(value: bytes) -> bytes:
    return struct.pack(">h", len(value)) + value


def blob(value: bytes) -> bytes:
    return struct.pack(">i", len(value)) + value


def array(items: list[bytes]) -> bytes:
    return struct.pack(">i", len(items)) + b"".join(items)


def join_body(group: bytes, member: bytes, metadata: bytes, rebalance_timeout_ms: int = 60_000) -> bytes:
    protocols = array([text(b"range") + blob(metadata)])
    return text(group) + struct.pack(">ii", 30_000, rebalance_timeout_ms) + text(member) + text(b"consumer") + protocols


def joined(answer: bytes) -> tuple[int, int, bytes]:
    """(error code, generation, own member id) of JoinGroup version 2."""
    error_code, generation = struct.unpack_from(">hi", answer, 4)
    position = 10
    for _ in range(3):
        (size,) = struct.unpack_from(">h", answer, position)
        found = answer[position + 2 : position + 2 + size]
        position += 2 + size
    return error_code, generation, found


class Member:
    """The only member of a stable group."""

    def __init__(self, port: int, group: bytes) -> None:
        self.connection = WireSocket(port, timeout_s=60.0)
        self.group = group
        find = text(group) + b"\0"

        def is_found() -> bool:
            return self.connection.ask(FIND_COORDINATOR, 1, find)[4:6] == b"\0\0"

        wait_until(is_found, 30.0, "a coordinator")
        answers: list[tuple[int, int, bytes]] = []

        def has_joined() -> bool:
            answers.append(joined(self.connection.ask(JOIN_GROUP, 2, join_body(group, b"", b"x"))))
            return answers[-1][0] == 0

        wait_until(has_joined, 30.0, "the group")
        _, self.generation, self.member_id = answers[-1]
        part = array([text(self.member_id) + blob(b"part")])
        answer = self.connection.ask(SYNC_GROUP, 1, self._named() + part)
        assert answer[4:6] == b"\0\0"

    def _named(self) -> bytes:
        return text(self.group) + struct.pack(">i", self.generation) + text(self.member_id)

    def beat(self) -> None:
        assert self.connection.ask(HEARTBEAT, 1, self._named())[4:] == b"\0\0"

    def beats_while(self, work: Callable[[], None]) -> int:
        thread = threading.Thread(target=work)
        thread.start()
        beats = 0
        while thread.is_alive():
            self.beat()
            beats += 1
        thread.join()
        return beats


@pytest.fixture
def own_broker(broker_factory: BrokerFactory) -> BrokerProcess:
    return broker_factory()


@pytest.fixture
def member(own_broker: BrokerProcess) -> Iterator[Member]:
    found = Member(own_broker.port, b"honest")
    with found.connection:
        yield found


def resident_bytes(pid: int) -> int:
    """The process's resident memory without mapped files."""
    with open(f"/proc/{pid}/status") as status:
        (line,) = [line for line in status if line.startswith("RssAnon:")]
    return int(line.split()[1]) * 1024


FAST_REQUESTS = 40  # repeats of a request that the data plane serves in a millisecond or two


def names(prefix: bytes) -> list[bytes]:
    return [text(prefix + str(number).encode()) for number in range(NAMES)]


ATTACKS = {
    "describe many groups": (DESCRIBE_GROUPS, 0, array(names(b"g"))),
    "delete many groups": (DELETE_GROUPS, 0, array(names(b"g"))),
    "members that are not there leave": (
        LEAVE_GROUP,
        3,
        text(b"honest") + array([name + b"\xff\xff" for name in names(b"m")]),
    ),
    "offsets of many partitions": (
        OFFSET_FETCH,
        1,
        text(b"honest") + array([text(b"t") + array([struct.pack(">i", number) for number in range(NAMES)])]),
    ),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_heartbeats_are_answered_while_a_large_request_is_served(
    own_broker: BrokerProcess, member: Member, attack: str
) -> None:
    api_key, version, body = ATTACKS[attack]
    idle = resident_bytes(own_broker.pid)
    largest = 0

    def ask() -> None:
        with WireSocket(own_broker.port, timeout_s=60.0) as connection:
            for _ in range(FAST_REQUESTS if api_key == OFFSET_FETCH else 2):
                connection.ask(api_key, version, body)

    def ask_and_look() -> None:
        nonlocal largest
        ask()
        largest = resident_bytes(own_broker.pid)

    assert member.beats_while(ask_and_look) >= BEATS
    assert largest - idle < BEYOND_IDLE


def test_megabytes_of_metadata_are_bounded_and_come_back(own_broker: BrokerProcess, member: Member) -> None:
    idle = resident_bytes(own_broker.pid)
    largest = idle
    connections = [WireSocket(own_broker.port, timeout_s=60.0) for _ in range(80)]
    body = join_body(b"big", b"", b"x" * MB, 2000)
    try:
        for connection in connections:
            connection.send(_frame(JOIN_GROUP, 2, body))
            member.beat()
            largest = max(largest, resident_bytes(own_broker.pid))
        codes = {joined(connection.receive()[4:])[0] for connection in connections}
        largest = max(largest, resident_bytes(own_broker.pid))
    finally:
        for connection in connections:
            connection.socket.close()
    assert codes == {0, GROUP_MAX_SIZE_REACHED}
    assert largest - idle < BEYOND_IDLE
    wait_until(lambda: resident_bytes(own_broker.pid) - idle < 32 * MB, 30.0, "the memory back")


def _frame(api_key: int, version: int, body: bytes) -> bytes:
    from peer.wire_socket import frame, request_header

    return frame(request_header(api_key, version) + body)
