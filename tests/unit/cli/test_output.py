"""Tables on a terminal: whole numbers and words of the head at any width, sizes and times for eyes."""

from __future__ import annotations

import sys

import pytest

from kafkastore.cli.output import Column, Output, size_text

COLUMNS = (Column("topic"), Column("partitions", is_number=True), Column("copied_bytes", is_number=True))
TIMES = (Column("last_timestamp_ms", is_number=True), Column("open_ms", is_number=True), Column("start_offset"))


def drawn(capsys: pytest.CaptureFixture[str], columns: tuple[Column, ...], *rows: tuple[object, ...]) -> list[str]:
    Output().rows(columns, rows, nothing="no topics")
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_table_on_a_terminal_breaks_no_number_and_no_word_of_the_head(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for name, value in (("TERM", "dumb"), ("LINES", "40")):
        monkeypatch.setenv(name, value)
    row = ("a-topic-with-a-long-name", 1234567, 270_553_174_016)
    monkeypatch.setenv("COLUMNS", "43")
    assert drawn(capsys, COLUMNS, row) == [
        "                                     COPIED",
        "TOPIC                 PARTITIONS      BYTES",
        "a-topic-with-a-long-     1234567  252.0 GiB",
        "name",
    ]
    monkeypatch.setenv("COLUMNS", "30")
    vertical = ["TOPIC         a-topic-with-a-long-name", "PARTITIONS    1234567", "COPIED BYTES  252.0 GiB"]
    assert drawn(capsys, COLUMNS, row, row) == [*vertical, "", *vertical]
    monkeypatch.setenv("COLUMNS", "20")
    assert drawn(capsys, COLUMNS) == ["TOPIC  PARTITIONS  COPIED BYTES"]
    monkeypatch.setenv("COLUMNS", "80")
    assert drawn(capsys, TIMES, (1796082447855, 65_000, None), (0, 999, 1)) == [
        "          LAST TIMESTAMP   OPEN  START OFFSET",
        "2026-11-30T23:47:27.855Z   1m5s  -",
        "1970-01-01T00:00:00.000Z  999ms  1",
    ]
    assert [size_text(size) for size in (0, 1023, 1024, 1 << 60)] == ["0 B", "1023 B", "1.0 KiB", "1024.0 PiB"]


def test_table_without_rows_says_so_on_stderr_and_csv_does_not(capsys: pytest.CaptureFixture[str]) -> None:
    Output().rows(COLUMNS, (), nothing="no topics")
    assert capsys.readouterr() == ("TOPIC  PARTITIONS  COPIED BYTES\n", "no topics\n")
    Output("csv").rows(COLUMNS, (), nothing="no topics")
    assert capsys.readouterr() == ("topic,partitions,copied_bytes\n", "")
