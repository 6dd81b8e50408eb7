"""InitProducerId as bytes: thousands of ids over several connections at once, none twice, across the ends of blocks."""

from __future__ import annotations

import struct
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from peer.wire_socket import WireSocket, frame, request_header

if TYPE_CHECKING:
    from peer.broker_process import BrokerProcess

INIT_PRODUCER_ID = 22
CONNECTIONS = 4
REQUESTS = 1_500
BODY = struct.pack(">hi", -1, 60_000)  # v1: no transactional id, its time-out
ANSWER = struct.Struct(">iihqh")  # correlation id, throttle time, error, producer id, producer epoch


def drawn(port: int) -> list[int]:
    with WireSocket(port) as connection:
        connection.send(
            b"".join(frame(request_header(INIT_PRODUCER_ID, 1, number) + BODY) for number in range(REQUESTS))
        )
        answers = [ANSWER.unpack(connection.receive_exactly(4 + ANSWER.size)[4:]) for _ in range(REQUESTS)]
    assert [answer[0] for answer in answers] == list(range(REQUESTS)), "answers come in the order of their requests"
    assert {(answer[2], answer[4]) for answer in answers} == {(0, 0)}
    return [answer[3] for answer in answers]


def test_no_producer_id_is_given_twice_beyond_the_end_of_a_block(broker: BrokerProcess) -> None:
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        found = [one for ids in pool.map(drawn, [broker.port] * CONNECTIONS) for one in ids]
    assert len(set(found)) == CONNECTIONS * REQUESTS
