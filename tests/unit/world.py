"""A broker over the stepped engine, for tests: made on a running loop, with its data under a folder of the
test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from stepped import Engine

from kafkastore.config import BrokerConfig
from kafkastore.requests.services import Provider
from kafkastore.server.broker import Broker
from kafkastore.server.surroundings import Surroundings

LIMIT_S = 30.0  # for what happens within moments


def broker_config(folder: Path, **properties: str) -> BrokerConfig:
    """The configuration of a test's broker. In keywords a dot is a double underscore: ``num__partitions="3"``."""
    given = {"log.dirs": str(folder / "data"), "listeners": "PLAINTEXT://127.0.0.1:9092", "node.id": "1"}
    return BrokerConfig(given | {name.replace("__", "."): value for name, value in properties.items()})


@asynccontextmanager
async def running_broker(
    folder: Path,
    prepare: Callable[[Engine], None] | None = None,
    end: Callable[[int], None] | None = None,
    **properties: str,
) -> AsyncIterator[Broker]:
    """Starts a broker and stops it; ``prepare`` gets the engine before its log directories are opened, ``end`` gets the
    exit status when the broker would end the process at once."""
    broker = await started_broker(folder, prepare, end, **properties)
    try:
        yield broker
    finally:
        await broker.stop()


async def started_broker(
    folder: Path,
    prepare: Callable[[Engine], None] | None = None,
    end: Callable[[int], None] | None = None,
    **properties: str,
) -> Broker:
    def make_engine(*arguments: Any) -> Engine:
        engine = Engine(*arguments)
        if prepare is not None:
            prepare(engine)
        return engine

    around: Any = {"make_engine": make_engine}
    broker = Broker(broker_config(folder, **properties), Surroundings(**around), end)
    await broker.start()
    return broker


def run(test: Callable[[], Awaitable[Any]]) -> Any:
    """Runs an async test body."""
    return asyncio.run(test())  # type: ignore[arg-type]


async def until(condition: Callable[[], object], *, pause_s: float = 0.001) -> None:
    """Lets the loop run until ``condition()`` holds (it may return an awaitable), which no event tells of."""
    async with asyncio.timeout(LIMIT_S):
        while True:
            found = condition()
            if await found if isinstance(found, Awaitable) else found:
                return
            await asyncio.sleep(pause_s)


async def deletions_end(services: Provider) -> None:
    """Returns when the logs and nodes of the topics that are being deleted are gone, or cannot be deleted now."""
    async with services.topics.locks.held(services.topics.locks.names):
        pass
