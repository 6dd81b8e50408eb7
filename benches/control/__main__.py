"""``python -m control``: the longest hold of the loop by API, over a broker in this process; ends with 1 when one is
above ``--limit-ms``.

Every API that Python serves to clients, groups included, in its most expensive forms (``tests/unit/expensive.py``),
over ``--topics`` topics and as many groups with offsets. Each request is sent by a client of its own; meanwhile another
one sends heartbeats, both from processes of their own. The hold is the CPU time of the longest callback of the loop,
the stall the longest that a heartbeat waited. ``--forms`` prints each request, ``--what`` the callback too.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from control.measure import Asker, Heartbeats, Holds
from kafkastore.cli.broker_process import collect_seldom
from kafkastore.config import BrokerConfig
from kafkastore.requests.registry import APIS, BY_NAME
from kafkastore.server.broker import Broker
from unit import expensive

LAST: Final = ("OffsetDelete", "DeleteGroups", "DeleteTopics")
"""Measured last, because they delete what the other requests ask about."""

MEMBERS: Final = 300

JOINS_AT_ONCE: Final = 3
"""The last version of JoinGroup that does not answer a new member with MEMBER_ID_REQUIRED."""

OFFSETS: Final = 90_000


class Measured(NamedTuple):
    form: str
    request_bytes: int
    answer: str
    took_s: float
    hold_s: float
    what: str
    heartbeat_s: float
    memory_mb: float


class Bench:
    """One broker, and the requests measured on it."""

    def __init__(self, port: int, holds: Holds) -> None:
        self.holds = holds
        self.asker = Asker(port)
        self.heartbeats = Heartbeats(port)
        self.found: dict[str, list[Measured]] = {}

    def ask(self, one: expensive.Expensive, count: int = 1) -> str:
        return self.asker.ask(one.api.key, one.version, one.body, count)

    async def look(self) -> float:
        """The longest heartbeat since the last call."""
        return await asyncio.get_running_loop().run_in_executor(None, self.heartbeats.look)

    async def measure(self, api: str, form: str, size: int, run: Callable[[], str]) -> Measured:
        self.holds.look()
        await self.look()
        before_mb, begun = _rss_mb(), time.monotonic()
        answer = await asyncio.get_running_loop().run_in_executor(None, run)
        took_s = time.monotonic() - begun
        await asyncio.sleep(0.05)
        held_s = self.holds.look()
        found = Measured(form, size, answer, took_s, held_s, self.holds.what, await self.look(), _rss_mb() - before_mb)
        self.found.setdefault(api, []).append(found)
        return found


def _rss_mb() -> float:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 1e6


def _made(api: str, form: expensive.Form, version: int | None = None) -> expensive.Expensive:
    found = BY_NAME[api]
    version = found.max_version if version is None else version
    return expensive.Expensive(found, version, form.name, expensive.body_of(found, version, form))


def _topic_after(start: int, number: int) -> str:
    return f"t{start + number}"


def _always(name: str) -> Callable[[int], str]:
    return lambda _: name


async def _prepare(bench: Bench, topics: int) -> None:
    """Makes topics t0, t1 ..., and for each topic a group of its name with one offset; the group t0 gets many."""
    loop = asyncio.get_running_loop()
    for start in range(0, topics, 1000):
        name = partial(_topic_after, start)
        some = expensive.Form("", min(1000, topics - start), False, name)
        await loop.run_in_executor(None, bench.ask, _made("CreateTopics", some))
    find = _made("FindCoordinator", expensive.Form("", 1, False, lambda _: "t0"))
    commit = _made("OffsetCommit", expensive.Form("", 1, False, lambda _: "t0"))
    for one in (find, commit, commit):  # the first request creates __consumer_offsets
        await loop.run_in_executor(None, bench.ask, one)
        await asyncio.sleep(1.0)
    for number in range(topics):
        named = _made("OffsetCommit", expensive.Form("", 1, False, _always(f"t{number}")))
        await loop.run_in_executor(None, bench.ask, named)
    many = _made("OffsetCommit", expensive.Form("", OFFSETS, True, lambda _: "t0"))
    await loop.run_in_executor(None, bench.ask, many)


async def _run(arguments: argparse.Namespace, folder: str, made: list[expensive.Expensive]) -> bool:
    """Measures all requests. Returns whether no hold was above the limit."""
    holds = Holds()
    broker = Broker(
        BrokerConfig({"log.dirs": folder, "listeners": "PLAINTEXT://127.0.0.1:0", "node.id": "1", **_PROPERTIES})
    )
    await broker.start()
    collect_seldom()
    bench = Bench(broker.ports[0], holds)
    begun = time.monotonic()
    await _prepare(bench, arguments.topics)
    print(f"{arguments.topics} topics and groups in {time.monotonic() - begun:.1f} s, memory {_rss_mb():.0f} MB")
    await asyncio.sleep(0.2)
    if arguments.forms:
        print("| API | form | request | answer | took | longest hold | heartbeat | memory |")
        print("|---|---|---|---|---|---|---|---|")
    for one in made:
        found = await bench.measure(one.api.name, one.form, len(one.body), partial(bench.ask, one))
        _show(arguments, one.api.name, found)
    if not arguments.api or "JoinGroup" in arguments.api:
        joins = [
            _made("JoinGroup", form, JOINS_AT_ONCE)
            for form in expensive.forms(1, 1)
            if form.name in ("repeats", "large values")
        ]
        for one in joins:
            form = f"{MEMBERS} at once, {one.form}"
            found = await bench.measure("JoinGroup", form, len(one.body), partial(bench.ask, one, MEMBERS))
            _show(arguments, "JoinGroup", found)
    is_quick = _print_table(bench, arguments.limit_ms / 1000)
    print(f"memory {_rss_mb():.0f} MB after")
    bench.heartbeats.stop()
    bench.asker.shutdown()
    await broker.stop()
    return is_quick


def _show(arguments: argparse.Namespace, api: str, one: Measured) -> None:
    if arguments.forms:
        print(
            f"| {api} | {one.form} | {one.request_bytes:,} B | {one.answer} | {one.took_s * 1000:.0f} ms |"
            f" {one.hold_s * 1000:.1f} ms | {one.heartbeat_s * 1000:.0f} ms | {one.memory_mb:+.0f} MB |",
            flush=True,
        )
    if arguments.what:
        print(one.what)


def _print_table(bench: Bench, limit_s: float) -> bool:
    print("\n| API | longest hold | in the form | longest heartbeat beside | |\n|---|---|---|---|---|")
    is_quick = True
    for api in APIS:
        forms = bench.found.get(api.name)
        if forms is not None:
            worst = max(forms, key=lambda one: one.hold_s)
            beside_s = max(one.heartbeat_s for one in forms)
            is_late = worst.hold_s > limit_s
            is_quick &= not is_late
            print(
                f"| {api.name} | {worst.hold_s * 1000:.1f} ms | {worst.form} | {beside_s * 1000:.0f} ms |"
                f" {'**above**' if is_late else ''} |"
            )
    return is_quick


_PROPERTIES: Final = {
    "num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
    "auto.create.topics.enable": "false",
    "num.network.threads": "1",
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="control", description=__doc__)
    parser.add_argument("--topics", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=90_000)
    parser.add_argument("--limit-ms", type=float, default=50.0)
    parser.add_argument("--api", action="append")
    parser.add_argument("--forms", action="store_true", help="a row for each request")
    parser.add_argument("--what", action="store_true", help="show the callback that held the loop longest")
    arguments = parser.parse_args()
    logging.getLogger().setLevel(logging.CRITICAL)
    folder = tempfile.mkdtemp(prefix="control-")
    try:
        names = frozenset(arguments.api) if arguments.api else None
        made = list(expensive.requests(arguments.rows, arguments.topics, names))
        made.sort(key=lambda one: LAST.index(one.api.name) if one.api.name in LAST else -1)
        return 0 if asyncio.run(_run(arguments, folder, made)) else 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
