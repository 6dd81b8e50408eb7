"""``kafkastore check``: its command line, output and exit status. The checks themselves are tested in Rust and in
interop."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import ClassVar

import pytest

from kafkastore import _core
from kafkastore.cli import main as cli

SEEN = {"partitions": 2, "segments": 3, "batches": 40, "records": 120, "bytes": 5000}
GOOD = SimpleNamespace(**SEEN, faults=0, findings=[])
BAD = SimpleNamespace(
    **SEEN,
    faults=1,
    findings=[
        SimpleNamespace(severity="fault", path="/d/t-0/00.log", position=61, message="it is bad"),
        SimpleNamespace(severity="note", path="/d/x\ny", position=None, message="none of Kafka's files"),
    ],
)


class FakeCheck:
    """Returns the outcome that a test sets; records the arguments that it was made with."""

    outcome: ClassVar[object] = GOOD
    made: ClassVar[list[object]] = []

    def __init__(self, paths: list[str], *, topic: str | None, threads: int, deep: bool) -> None:
        self.made.append((paths, topic, threads, deep))

    def run(self) -> object:
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome

    def progress(self) -> object:
        return SimpleNamespace(bytes_walked=1, bytes_in_all=2, segments_done=3, segments_in_all=4)


@pytest.fixture(autouse=True)
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_core, "Check", FakeCheck)
    monkeypatch.setattr(FakeCheck, "made", [])


def test_directories_and_options_stand_in_any_order() -> None:
    assert cli.main(["check", "a", "--threads=3", "b", "--topic", "t", "--deep-iteration", "--no-progress"]) == 0
    assert FakeCheck.made == [(["a", "b"], "t", 3, True)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no directory is given"),
        (["d", "--nonsense"], "No such option '--nonsense'"),
        (["d", "--threads"], "Option '--threads' requires an argument"),
        (["d", "--threads", "0"], "Invalid value for '--threads': 0 is not in the range"),
        (["d", "--threads=many"], "Invalid value for '--threads': 'many' is not"),
    ],
)
def test_wrong_usage_is_one_sentence(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1


def test_good_directory_ends_with_0_and_a_summary(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(FakeCheck, "outcome", GOOD)
    assert cli.main(["check", "/d", "--threads", "2"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("2 partitions, 3 segments, 40 batches, 120 records, 5000 bytes in ")
    assert captured.out.endswith(" GB/s): 0 faults\n")
    assert captured.err == "", "no bar: this is no terminal"
    assert FakeCheck.made == [(["/d"], None, 2, False)]


def test_faults_end_with_1_and_name_file_and_position(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(FakeCheck, "outcome", BAD)
    assert cli.main(["check", "/d"]) == 1
    fault, note, summary = capsys.readouterr().out.splitlines()
    assert fault == "fault: /d/t-0/00.log at 61: it is bad"
    assert note == "note: /d/x\\ny: none of Kafka's files"
    assert summary.endswith(": 1 fault")


def test_json_is_one_object_a_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(FakeCheck, "outcome", BAD)
    assert cli.main(["check", "--json", "/d"]) == 1
    fault, note, summary = map(json.loads, capsys.readouterr().out.splitlines())
    assert fault == {"severity": "fault", "path": "/d/t-0/00.log", "position": 61, "message": "it is bad"}
    assert note["position"] is None
    assert (summary["severity"], summary["faults"], summary["records"]) == ("summary", 1, 120)


def test_path_that_cannot_be_checked_ends_with_2_and_its_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(FakeCheck, "outcome", ValueError("/d: there is no such file or directory"))
    assert cli.main(["check", "/d"]) == 2
    assert capsys.readouterr().err == "kafkastore check: /d: there is no such file or directory\n"
