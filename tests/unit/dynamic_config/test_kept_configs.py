"""The topics' configurations beside their logs: which lines are added, how damaged files are treated."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from kafkastore.dynamic_config import kept_configs
from kafkastore.dynamic_config.kept_configs import FILE_NAME, SPARE_LINES, KeptConfigs
from kafkastore.metadata.image import TopicImage
from kafkastore.metadata.marks import StoreMark

FOREVER = {"retention.ms": "-1"}
ID, OTHER_ID = b"t" * 16, b"o" * 16


class Placed:
    """Stands for a LogManager whose directories all have all topics."""

    def __init__(self, *directories: Path) -> None:
        self.online = [str(one) for one in directories]
        for one in directories:
            one.mkdir(exist_ok=True)

    def directories_of(self, _: str) -> set[str]:
        return set(self.online)


class Store:
    generation = 0

    async def stamp(self) -> StoreMark:
        self.generation += 1
        return StoreMark("s", self.generation)


def topic(name: str = "t", configs: dict[str, str] | None = None, topic_id: bytes = ID) -> TopicImage:
    return TopicImage(name, topic_id, [], dict(configs or {}))


async def opened(placed: Placed, store: Store | None = None) -> KeptConfigs:
    kept = KeptConfigs(placed, store or Store())  # type: ignore[arg-type]
    await kept.load()
    return kept


async def test_configuration_is_found_again_in_every_directory_and_only_for_the_same_topic(tmp_path: Path) -> None:
    placed = Placed(tmp_path / "a", tmp_path / "b")
    kept = await opened(placed)
    await kept.keep([topic("t", FOREVER), topic("plain")])
    await kept.keep([topic("t", FOREVER)])  # nothing new
    await kept.stop()
    assert (tmp_path / "a" / FILE_NAME).read_bytes().count(b"\n") == 1
    for directory in ("a", "b"):
        again = await opened(Placed(tmp_path / directory))
        found = again.find("t", ID)
        assert found is not None
        assert (found.configs, found.mark) == (FOREVER, StoreMark("s", 1))
        assert again.find("t", OTHER_ID) is None
        assert again.find("plain", ID) is None


async def test_last_configuration_of_a_topic_counts_also_when_it_is_empty(tmp_path: Path) -> None:
    placed = Placed(tmp_path / "a")
    kept = await opened(placed)
    for configs in (FOREVER, {"retention.ms": "5"}, {}):
        await kept.keep([topic("t", configs)])
    await kept.keep([topic("t", {"flush.ms": "1"}, OTHER_ID)])  # another topic of the same name
    await kept.stop()
    found = (await opened(placed)).find("t", OTHER_ID)
    assert found is not None
    assert found.configs == {"flush.ms": "1"}


async def test_file_that_is_damaged_anywhere_is_named_and_counts_for_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The unreadable line may be the newest one of a topic: an older line may have all records deleted."""
    placed = Placed(tmp_path / "a")
    path = tmp_path / "a" / FILE_NAME
    kept = await opened(placed)
    await kept.keep([topic("t", {"retention.ms": "1"})])
    await kept.keep([topic("t", FOREVER)])
    await kept.stop()
    whole = path.read_bytes()
    for damaged in (
        whole[:-5],
        whole[: len(whole) // 2 - 3],
        whole.replace(b"-1", b"-2"),
        whole.replace(b"\n", b"", 1),
    ):
        path.write_bytes(damaged)
        caplog.clear()
        assert (await opened(placed)).find("t", ID) is None
        (record,) = caplog.records
        assert record.levelno == logging.WARNING
        assert str(path) in record.getMessage()


@pytest.mark.parametrize("is_damaged", [False, True])
async def test_file_is_rewritten_when_much_of_it_is_stale(tmp_path: Path, is_damaged: bool) -> None:
    placed = Placed(tmp_path / "a")
    path = tmp_path / "a" / FILE_NAME
    kept = await opened(placed)
    last = topic("t")
    for number in range(SPARE_LINES + 10):
        last = topic("t", {"retention.ms": str(number)})
        await kept.keep([last, topic("gone", {"retention.ms": str(number)})])
    await kept.stop()
    if is_damaged:
        path.write_bytes(path.read_bytes()[:-3])
    again = await opened(placed)
    await again.tidy({"t": last})
    await again.keep([last])
    await again.stop()
    assert path.read_bytes().count(b"\n") == 1
    found = (await opened(placed)).find("t", ID)
    assert found is not None
    assert found.configs == last.configs


async def test_directory_that_cannot_be_written_to_is_named_once_and_the_others_go_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    placed = Placed(tmp_path / "a", tmp_path / "b")
    (tmp_path / "a" / FILE_NAME).mkdir()
    kept = KeptConfigs(placed, Store())  # type: ignore[arg-type]
    for number in range(3):
        await kept.keep([topic("t", {"retention.ms": str(number)})])
    await kept.stop()
    assert (await opened(Placed(tmp_path / "b"))).find("t", ID) is not None
    assert len(caplog.records) == 1


async def test_line_that_could_not_be_written_is_written_when_it_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a full disk. Otherwise the older line would be used in its place after the store is lost."""
    monkeypatch.setattr(kept_configs, "SYNC_DELAY_S", 0.0)
    monkeypatch.setattr(kept_configs, "RETRY_S", 0.01)
    placed, path = Placed(tmp_path / "a"), tmp_path / "a" / FILE_NAME
    kept = await opened(placed)
    await kept.keep([topic("t", {"retention.ms": "1000"}), topic("u", FOREVER)])
    path.rename(tmp_path / "aside")
    path.mkdir()
    await kept.keep([topic("t", FOREVER)])
    path.rmdir()
    (tmp_path / "aside").rename(path)
    with path.open("ab") as file:
        file.write(b"half a l")
    async with asyncio.timeout(10):
        while path.read_bytes().count(b'"-1"') != 2:  # noqa: ASYNC110 ends within a few passes
            await asyncio.sleep(0.01)
    await kept.stop()
    again = await opened(placed)
    for name in ("t", "u"):
        found = again.find(name, ID)
        assert found is not None
        assert found.configs == FOREVER
