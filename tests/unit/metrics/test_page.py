"""The page of the metrics over HTTP: its answers, and the bounds on many or hanging scrapers."""

from __future__ import annotations

import gc
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest

from kafkastore.errors import StartupError
from kafkastore.metrics import page as page_module
from kafkastore.metrics.page import MAX_CONNECTIONS, MetricsPage
from peer.broker_process import wait_until

LIMIT_S = 10.0


@contextmanager
def serving(make_page: Callable[[], bytes]) -> Iterator[MetricsPage]:
    page = MetricsPage("127.0.0.1", 0, make_page)
    page.start()
    try:
        yield page
    finally:
        page.stop()


def ask(page: MetricsPage, request: bytes) -> bytes:
    """The whole answer; empty when the connection was closed instead."""
    with socket.create_connection(("127.0.0.1", page.port), LIMIT_S) as connection:
        try:
            connection.sendall(request)
            return b"".join(iter(lambda: connection.recv(65536), b""))
        except ConnectionError:
            return b""


def get(page: MetricsPage, path: str = "/metrics") -> bytes:
    return ask(page, f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())


@pytest.mark.parametrize(
    ("request_line", "status", "body"),
    [
        (b"GET /metrics HTTP/1.1", b"200 OK", b"a 1\n"),
        (b"GET /metrics?name[]=a HTTP/1.0", b"200 OK", b"a 1\n"),
        (b"HEAD /metrics HTTP/1.1", b"200 OK", b""),
        (b"GET / HTTP/1.1", b"404 Not Found", b"the metrics are at /metrics\n"),
        (b"POST /metrics HTTP/1.1", b"405 Method Not Allowed", b"GET /metrics\n"),
        (b"\x00\x01", b"405 Method Not Allowed", b"GET /metrics\n"),
    ],
)
def test_answers(request_line: bytes, status: bytes, body: bytes) -> None:
    with serving(lambda: b"a 1\n") as page:
        head, _, found = ask(page, request_line + b"\r\n\r\n").partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 " + status + b"\r\n")
    assert b"Connection: close" in head
    assert found == body


def test_head_beyond_the_limit_closes_the_connection() -> None:
    with serving(lambda: b"a 1\n") as page:
        assert ask(page, b"GET /metrics HTTP/1.1\r\n" + b"x" * 100_000) == b""
        assert get(page).endswith(b"a 1\n")


def has_ended(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def connect(page: MetricsPage, count: int, held: ExitStack) -> list[socket.socket]:
    return [held.enter_context(socket.create_connection(("127.0.0.1", page.port), LIMIT_S)) for _ in range(count)]


def test_of_many_scrapers_that_hang_a_few_are_kept_and_the_others_closed_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(page_module, "HEAD_LIMIT_S", 60.0)
    with serving(lambda: b"a 1\n") as page, ExitStack() as held:
        kept = connect(page, MAX_CONNECTIONS, held)
        assert all(has_ended(one) for one in connect(page, 200, held))
        for one in kept:
            one.setblocking(False)
            with pytest.raises(BlockingIOError):
                one.recv(1)


def test_scraper_that_hangs_is_closed_when_its_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_module, "HEAD_LIMIT_S", 0.2)
    with serving(lambda: b"a 1\n") as page, ExitStack() as held:
        assert all(has_ended(one) for one in connect(page, MAX_CONNECTIONS, held))
        assert get(page).endswith(b"a 1\n")


def test_scraper_that_takes_nothing_of_a_large_page_is_closed_when_its_time_is_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(page_module, "SEND_LIMIT_S", 0.2)
    large = b"a 1\n" * 8_000_000
    with serving(lambda: large) as page, ExitStack() as held:
        crowd = connect(page, MAX_CONNECTIONS, held)
        for one in crowd:
            one.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
        wait_until(lambda: page._open == MAX_CONNECTIONS, LIMIT_S, "all are served")
        wait_until(lambda: page._open == 0, LIMIT_S, "their places are free again")
        assert get(page, "/").endswith(b"at /metrics\n")
        for one in crowd:
            assert len(_taken(one)) < len(large), "the rest was not kept for it"


def _taken(connection: socket.socket) -> bytes:
    taken = bytearray()
    with suppress(ConnectionResetError):
        while piece := connection.recv(1 << 20):
            taken += piece
    return bytes(taken)


def test_page_is_made_once_for_scrapes_meanwhile_and_just_after() -> None:
    begun, go_on, made = threading.Event(), threading.Event(), []

    def make() -> bytes:
        made.append(1)
        begun.set()
        assert go_on.wait(LIMIT_S)
        return b"a 1\n"

    answers: list[bytes] = []
    with serving(make) as page:
        threads = [threading.Thread(target=lambda: answers.append(get(page))) for _ in range(4)]
        for thread in threads:
            thread.start()
        assert begun.wait(LIMIT_S)
        go_on.set()
        for thread in threads:
            thread.join(LIMIT_S)
        answers.append(get(page))
    assert [one.endswith(b"a 1\n") for one in answers] == [True] * 5
    assert made == [1]


@pytest.mark.parametrize(("error", "is_logged"), [(TimeoutError(), False), (KeyError("x"), True)])
def test_page_that_cannot_be_made_is_unavailable_and_the_next_is_made(
    error: Exception, is_logged: bool, caplog: pytest.LogCaptureFixture
) -> None:
    failures = [error]

    def make() -> bytes:
        if failures:
            raise failures.pop()
        return b"a 1\n"

    with serving(make) as page:
        assert get(page).startswith(b"HTTP/1.1 503 ")
        assert get(page).endswith(b"a 1\n")
    assert ("The metrics could not be collected" in caplog.text) is is_logged


def test_stop_does_not_wait_for_a_page_that_is_being_made() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def make() -> bytes:
        begun.set()
        go_on.wait(LIMIT_S)
        return b""

    page = MetricsPage("127.0.0.1", 0, make)
    page.start()
    with socket.create_connection(("127.0.0.1", page.port), LIMIT_S) as connection:
        connection.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
        assert begun.wait(LIMIT_S)
        page.stop()
        assert not go_on.is_set()
        go_on.set()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", page.port), LIMIT_S)


def test_page_that_was_never_started_gives_its_address_back() -> None:
    page = MetricsPage("127.0.0.1", 0, bytes)
    page.stop()
    again = MetricsPage("127.0.0.1", page.port, bytes)
    again.stop()


def test_address_in_use_is_refused_in_one_sentence() -> None:
    with (
        serving(bytes) as page,
        pytest.raises(StartupError, match=r"^kafkastore\.metrics\.listener=127\.0\.0\.1:\d+: "),
    ):
        MetricsPage("127.0.0.1", page.port, bytes)


def test_a_page_that_is_stopped_while_it_starts_ends_without_an_error(caplog: pytest.LogCaptureFixture) -> None:
    """An exception in its thread, or a socket that it leaves open, fails the test by a warning of pytest."""
    for _ in range(50):
        page = MetricsPage("127.0.0.1", 0, bytes)
        page.start()
        page.stop()
    gc.collect()
    assert not caplog.records
