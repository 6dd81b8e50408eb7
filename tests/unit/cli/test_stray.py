"""``kafkastore stray``: the logs that it lists, and those that it refuses to adopt or delete."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from kafkastore.cli import main as cli
from kafkastore.log import strays
from kafkastore.log.manager import ADOPT_FILE
from kafkastore.metadata.nodes import topic_id_text
from parity.batch import record_batch

ID, OTHER_ID = bytes(range(16)), bytes(range(16, 32))
UNIQUE = "0123456789abcdef" * 2


@pytest.fixture
def log_dirs(tmp_path: Path) -> list[Path]:
    found = [tmp_path / "one", tmp_path / "two"]
    for one in found:
        one.mkdir()
    return found


def set_aside(
    log_dir: Path, topic: str, partition: int, topic_id: bytes | None = ID, records: int = 0, unique: str = UNIQUE
) -> Path:
    tail = f"-{partition}.{unique}-stray"
    path = log_dir / f"{topic[: 255 - len(tail)]}{tail}"
    path.mkdir()
    if topic_id is not None:
        (path / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id_text(topic_id)}\n")
    segment = record_batch(records) if records else b""
    (path / "00000000000000000000.log").write_bytes(segment)
    return path


def ask(capsys: pytest.CaptureFixture[str], log_dirs: list[Path], *arguments: str) -> tuple[int, str, str]:
    override = f"log.dirs={','.join(map(str, log_dirs))}"
    status = cli.main(["stray", *arguments, "--override", override])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def names(log_dirs: list[Path]) -> set[str]:
    return {path.name for log_dir in log_dirs for path in log_dir.iterdir() if path.is_dir()}


def test_list_tells_topic_id_records_offsets_and_bytes(
    log_dirs: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    full = set_aside(log_dirs[0], "a.b-c", 12, ID, records=5)
    empty = set_aside(log_dirs[1], "a", 0, None)
    (log_dirs[0] / "a-0").mkdir()
    (log_dirs[0] / f"a-0.{UNIQUE}-delete").mkdir()
    size = (full / "00000000000000000000.log").stat().st_size
    status, shown, _ = ask(capsys, log_dirs, "list")
    assert status == 0
    assert shown.splitlines() == [
        f"a-0: topic id none, 0 records, offsets none, 0 bytes, in {empty}",
        f"a.b-c-12: topic id {topic_id_text(ID)}, 5 records, offsets 0 to 4, {size} bytes, in {full}",
    ]


def test_list_says_when_there_is_none(log_dirs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(capsys, log_dirs, "list")[:2] == (
        0,
        f"Nothing is set aside in {log_dirs[0]},{log_dirs[1]}\n".replace(",", ", "),
    )


def test_list_says_where_a_damaged_log_ends(log_dirs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    path = set_aside(log_dirs[0], "a", 0, records=2) / "00000000000000000000.log"
    path.write_bytes(path.read_bytes() + b"\xff" * 100)
    status, shown, _ = ask(capsys, log_dirs, "list")
    assert status == 0
    assert "2 records, offsets 0 to 1" in shown
    assert f"then {path}" in shown


@pytest.mark.parametrize("topic", ["a", "a-1.b", "x" * 249])
def test_adopted_logs_have_their_names_back_and_the_next_start_serves_them(
    log_dirs: list[Path], capsys: pytest.CaptureFixture[str], topic: str
) -> None:
    for number, log_dir in enumerate(log_dirs):
        set_aside(log_dir, topic, number, records=1)
    set_aside(log_dirs[0], "other", 0)
    status, shown, error = ask(capsys, log_dirs, "adopt", topic)
    assert (status, error) == (0, "")
    assert f"serves {topic} with 2 partitions" in shown
    assert names(log_dirs) == {f"{topic}-0", f"{topic}-1", f"other-0.{UNIQUE}-stray"}
    assert strays.wanted(map(str, log_dirs)) == {(topic, ID)}
    strays.forget(map(str, log_dirs))
    assert strays.wanted(map(str, log_dirs)) == set()


def test_adopt_refuses_what_is_not_the_whole_of_one_topic_and_changes_nothing(
    log_dirs: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = log_dirs
    set_aside(one, "gap", 1)
    set_aside(one, "backup", 2_000_000_000)
    set_aside(one, "twice", 0)
    set_aside(two, "twice", 0)
    set_aside(one, "ids", 0, ID)
    set_aside(one, "ids", 1, OTHER_ID)
    set_aside(one, "nameless", 0, None)
    set_aside(one, "served", 0)
    (two / "served-0").mkdir()
    before = names(log_dirs)
    for topic, reason in {
        "nope": "no log of topic nope is set aside",
        "gap": "partitions 0 of gap are not set aside here; copy their directories from another broker",
        "backup": "partitions 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, … of backup are not set aside here",
        "twice": "twice-0 was set aside more than once",
        "ids": "the logs of ids that are set aside are not of one topic id",
        "nameless": "(no id); move the others away",
        "served": f"{two / 'served-0'} is in the place of served-0: the topic is served",
    }.items():
        status, _, error = ask(capsys, log_dirs, "adopt", topic)
        assert status == 1
        assert error.startswith("kafkastore stray adopt: ")
        assert reason in error
    assert names(log_dirs) == before
    assert not any((log_dir / ADOPT_FILE).exists() for log_dir in log_dirs)


def test_rename_that_fails_takes_back_those_before_it(
    log_dirs: list[Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(2):
        set_aside(log_dirs[0], "a", number)
    before, rename = names(log_dirs), strays.os.rename

    def failing(source: str, target: str) -> None:
        if target.endswith("a-1"):
            raise PermissionError(13, "Permission denied", source)
        rename(source, target)

    monkeypatch.setattr(strays.os, "rename", failing)
    status, _, error = ask(capsys, log_dirs, "adopt", "a")
    assert status == 1
    assert "Permission denied; nothing was changed" in error
    assert names(log_dirs) == before


def test_delete_removes_one_log_that_was_set_aside_and_nothing_else(
    log_dirs: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    gone, kept = set_aside(log_dirs[0], "a", 0), set_aside(log_dirs[0], "a", 1)
    (log_dirs[0] / "served-0").mkdir()
    elsewhere = log_dirs[0].parent / kept.name
    elsewhere.mkdir()
    for path in (log_dirs[0] / "served-0", elsewhere, log_dirs[0], log_dirs[0] / "nope"):
        status, _, error = ask(capsys, log_dirs, "delete", str(path))
        assert status == 1
        assert "is no log that was set aside" in error
    assert ask(capsys, log_dirs, "delete", str(gone))[0] == 0
    assert names(log_dirs) == {kept.name, "served-0"}
    assert elsewhere.exists()


@pytest.mark.parametrize("command", ["adopt", "delete"])
def test_nothing_is_changed_while_the_broker_runs(log_dirs: list[Path], command: str) -> None:
    import subprocess
    import sys

    path = set_aside(log_dirs[0], "a", 0)
    with (log_dirs[0] / ".lock").open("wb") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)  # a lock excludes other processes only: another process must try
        named = "a" if command == "adopt" else str(path)
        arguments = ["stray", command, named, "--override", f"log.dirs={log_dirs[0]}"]
        asked = [sys.executable, "-c", "import sys; from kafkastore.cli.main import main; sys.exit(main(sys.argv[1:]))"]
        done = subprocess.run([*asked, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "is in use by a running broker; stop it first" in done.stderr
    assert path.exists()
