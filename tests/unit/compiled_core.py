"""A broker in this process over the compiled data plane, where other unit tests use the double (``conftest``)."""

from __future__ import annotations

import sys
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

import fake_engine
from world import broker_config

from kafkastore.server.broker import Broker
from kafkastore.server.surroundings import Surroundings
from peer.broker_process import free_port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path
    from types import ModuleType

CORE = "kafkastore._core"


def _swap(before: ModuleType, after: Any) -> None:
    """Replaces in every kafkastore module the classes and functions of ``before`` by those of ``after``."""
    double = [
        name for name, each in vars(fake_engine).items() if getattr(each, "__module__", "") == fake_engine.__name__
    ]
    names = [name for name in double if hasattr(before, name) and hasattr(after, name) and not name.startswith("_")]
    others = {id(getattr(before, name)): getattr(after, name) for name in names}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "kafkastore" and name != CORE:
            for key, each in list(vars(module).items()):
                if id(each) in others:
                    setattr(module, key, others[id(each)])
    sys.modules[CORE] = after


@contextmanager
def compiled_core() -> Iterator[Any]:
    import kafkastore

    compiled = kafkastore._core
    assert compiled is not fake_engine
    _swap(fake_engine, compiled)
    try:
        yield compiled
    finally:
        _swap(compiled, fake_engine)


@asynccontextmanager
async def broker_of_the_engine(folder: Path, **properties: str) -> AsyncIterator[tuple[Broker, int]]:
    """A running broker over the compiled engine, and the port it listens on; the broker is stopped at the end."""
    port = free_port()
    with compiled_core() as core:
        config = broker_config(folder, listeners=f"PLAINTEXT://127.0.0.1:{port}", **properties)
        broker = Broker(config, Surroundings(make_engine=core.Engine))
        await broker.start()
        try:
            yield broker, port
        finally:
            await broker.stop()
