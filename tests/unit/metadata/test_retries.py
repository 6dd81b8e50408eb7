from __future__ import annotations

import asyncio

import pytest
from world import until

from kafkastore.errors import KafkastoreError
from kafkastore.metadata import retries
from kafkastore.metadata.retries import RetriedWork


def test_work_is_done_again_after_every_error_and_once_for_changes_that_come_together(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(retries, "RETRY_S", 0)
    ended: list[str] = []
    errors = [KafkastoreError("the store is away"), ZeroDivisionError("a bug"), None, None]

    async def work() -> None:
        error = errors.pop(0)
        await asyncio.sleep(0)
        if error is not None:
            raise error
        ended.append("done")

    async def body() -> None:
        it = RetriedWork(work, "/feature")
        for _ in range(3):
            it.ask()
        await until(lambda: bool(ended))
        await asyncio.sleep(0.01)
        assert ended == ["done"]
        it.ask()
        await until(lambda: len(ended) == 2)
        await it.stop()

    asyncio.run(asyncio.wait_for(body(), 20))
    assert errors == []
    assert "Changes of /feature cannot be read yet: the store is away" in caplog.text
    assert "Changes of /feature could not be taken over" in caplog.text


def test_change_while_the_work_is_done_is_not_missed() -> None:
    begun: list[int] = []

    async def body() -> None:
        async def work() -> None:
            begun.append(len(begun))
            if len(begun) == 1:
                it.ask()
            await asyncio.sleep(0)

        it = RetriedWork(work, "/feature")
        it.ask()
        await until(lambda: len(begun) == 2)
        await it.stop()

    asyncio.run(asyncio.wait_for(body(), 20))
    assert begun == [0, 1]
