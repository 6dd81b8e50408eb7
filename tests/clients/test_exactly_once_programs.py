"""Kafka Streams and Kafka Connect write each result exactly once while their process is killed.

KIP-129 and KIP-447 (Streams), KIP-618 (Connect's source connectors); H11, H14
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clients import connect_file_source, streams_word_count
from clients.connect_file_source import wrong_lines
from clients.streams_word_count import wrong_counts

if TYPE_CHECKING:
    from pathlib import Path


def test_streams_counts_each_word_exactly_once_after_a_kill(tmp_path: Path, against: str) -> None:
    outcome = streams_word_count.run(
        tmp_path, streams_word_count.Asked(records=5000, kills=1, rate=2000, against=against)
    )
    assert outcome.broken == []
    assert (outcome.output, outcome.changelog, outcome.kills) == (5000, 5000, {"program": 1})


def test_connect_copies_each_line_exactly_once_after_a_kill(tmp_path: Path, against: str) -> None:
    outcome = connect_file_source.run(tmp_path, connect_file_source.Asked(lines=4000, kills=1, against=against))
    assert outcome.broken == []
    assert outcome.committed >= 4000
    assert outcome.kills == {"worker": 1}


def test_judgement_names_lines_that_are_missing_doubled_or_out_of_order() -> None:
    expected = ["a", "b", "c"]
    assert wrong_lines(expected, expected) == []
    assert wrong_lines(["a", "c"], expected) == ["'b' is there 0 times"]
    assert wrong_lines(["a", "b", "b", "c"], expected) == ["'b' is there 2 times"]
    assert wrong_lines(["a", "c", "b"], expected) == ["the lines are not in the order of the file"]


def test_judgement_names_words_whose_counts_are_missing_doubled_or_out_of_order() -> None:
    words = ["a", "b", "a"]
    assert wrong_counts("log", [("b", 1), ("a", 1), ("a", 2)], words) == []
    for counts in ([1], [1, 1, 2], [2, 1], [1, 3]):
        found = [("b", 1), *(("a", count) for count in counts)]
        assert [line.split(":")[1].strip() for line in wrong_counts("log", found, words)] == ["a of 2"]
