"""The options: Spark's names and meanings, and one sentence for every mistake. No Spark runs here.

spec: R5.3
"""

from __future__ import annotations

import json
import logging
import re

import pytest

from kafkastore.spark.options import LATEST, ReadOptions, parse

GIVEN = {"path": "/data", "subscribe": "t"}


def parsed(**options: str) -> ReadOptions:
    return parse(GIVEN | {name.replace("_", "."): value for name, value in options.items()})


def test_defaults_are_those_of_a_batch() -> None:
    found = parse(GIVEN)
    assert (found.start.of("t", 0), found.end.of("t", 0)) == (("offset", -2), ("offset", -1))
    assert (found.isolation_level, found.fail_on_data_loss, found.include_headers) == ("read_uncommitted", True, False)
    assert (found.check_crcs, found.push_filters, found.link_dir, found.min_shares) == (True, False, None, None)


def test_names_are_matched_without_regard_to_case() -> None:
    found = parse({"PATH": "/a, file:///b", "SubScribe": " t , u", "FAILONDATALOSS": "False"})
    assert (found.log_dirs, found.topics, found.fail_on_data_loss) == (("/a", "/b"), ("t", "u"), False)


def test_a_time_for_all_comes_before_times_and_these_before_offsets() -> None:
    three = {
        "startingTimestamp": "5",
        "startingOffsetsByTimestamp": '{"t":{"0":6}}',
        "startingOffsets": '{"t":{"0":7}}',
    }
    assert parsed(**three).start.of("t", 0) == ("timestamp", 5)
    del three["startingTimestamp"]
    assert parsed(**three).start.of("t", 0) == ("timestamp", 6)
    del three["startingOffsetsByTimestamp"]
    assert parsed(**three).start.of("t", 0) == ("offset", 7)


def test_an_end_may_be_the_latest_of_one_partition() -> None:
    assert parsed(endingOffsets='{"t":{"0":-1}}').end.of("t", 0) == ("offset", LATEST)


MISTAKES = [
    ({"path": ""}, "path: missing; name the log directories"),
    ({"subscribe": " , "}, "subscribe: ',' names no topic"),
    ({"assign": '{"t":[0]}'}, "subscribe, subscribePattern, assign: subscribe and assign are given; give exactly one"),
    ({"startingOffsets": "latest"}, "startingOffsets: the latest makes no batch"),
    ({"startingOffsets": '{"t":{"0":-1}}'}, "startingOffsets: -1 (the latest) for t-0"),
    ({"startingOffsets": '{"t":{"0":-3}}'}, 'startingOffsets: \'{"t":{"0":-3}}\' is not earliest, latest or JSON like'),
    ({"startingOffsets": '{"t":{"x":3}}'}, "is not earliest, latest or JSON like"),
    ({"startingOffsets": "[1]"}, "startingOffsets: '[1]' is not earliest, latest or JSON like"),
    ({"startingOffsets": '{"t":3}'}, "is not earliest, latest or JSON like"),
    ({"endingOffsets": "earliest"}, "endingOffsets: the earliest makes no batch"),
    ({"endingOffsets": '{"t":{"4":-2}}'}, "endingOffsets: -2 (the earliest) for t-4"),
    ({"endingOffsets": "soon"}, "endingOffsets: 'soon' is not earliest, latest or JSON like"),
    ({"startingTimestamp": "2026-11-21"}, "startingTimestamp: '2026-11-21' is no time; give milliseconds"),
    ({"endingTimestamp": "-5"}, "endingTimestamp: '-5' is no time"),
    ({"startingTimestamp": "9", "endingTimestamp": "8"}, "startingTimestamp: 9 is behind 8 of endingTimestamp; swap"),
    ({"startingOffsetsByTimestamp": '{"t":{"0":-1}}'}, 'startingOffsetsByTimestamp: \'{"t":{"0":-1}}\' is not JSON'),
    (
        {"startingOffsets": '{"t":{"0":9}}', "endingOffsets": '{"t":{"0":8}}'},
        "startingOffsets: 9 for t-0 is behind 8 of endingOffsets; swap them",
    ),
    ({"startingOffsetsByTimestampStrategy": "first"}, "startingOffsetsByTimestampStrategy: 'first' is none"),
    ({"failOnDataLoss": "no"}, "failOnDataLoss: 'no' is neither true nor false"),
    ({"includeHeaders": "1"}, "includeHeaders: '1' is neither true nor false"),
    ({"minPartitions": "0"}, "minPartitions: '0' is no whole number above 0"),
    ({"splitBytes": "64m"}, "splitBytes: '64m' is no whole number above 0"),
    ({"kafka_isolation_level": "serializable"}, "kafka.isolation.level: 'serializable' is none; say read_uncommitted"),
    ({"kafka_auto_offset_reset": "latest"}, "kafka.auto.offset.reset: latest is not supported here; set startingOff"),
    ({"kafka_key_deserializer": "X"}, "kafka.key.deserializer: X is not supported here"),
]


@pytest.mark.parametrize(("options", "sentence"), MISTAKES, ids=lambda value: str(value)[:40])
def test_a_mistake_is_named_in_one_sentence(options: dict[str, str], sentence: str) -> None:
    with pytest.raises(ValueError, match=re.escape(sentence)) as caught:
        parsed(**options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "subscribe, subscribePattern, assign: none is given; give exactly one"),
        ({"subscribePattern": "(a"}, "subscribePattern: '(a' is no regular expression"),
        ({"subscribePattern": ""}, "subscribePattern: '' matches no topic"),
        ({"assign": "t-0"}, "assign: 't-0' is not like {\"topicA\":[0,1]"),
        ({"assign": '{"t":["0"]}'}, "is not like"),
        ({"assign": '{"t":[-1]}'}, "is not like"),
        ({"assign": '{"t":[]}'}, "names no partition"),
    ],
)
def test_a_mistake_in_an_option_of_topics_or_offsets_is_named(options: dict[str, str], sentence: str) -> None:
    with pytest.raises(ValueError, match=re.escape(sentence)):
        parse({"path": "/data"} | options)


def test_an_assignment_is_each_partition_once() -> None:
    found = parse({"path": "/data", "assign": json.dumps({"t": [2, 0, 2], "u": []})})
    assert found.assigned == {"t": (0, 2)}


def test_unknown_and_meaningless_options_are_ignored_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "kafkastore.spark"):
        parsed(maxOffsetsPerTrigger="5", startOffsets="earliest", kafka_fetch_max_bytes="1", kafka_group_id="g")
    assert [record.getMessage().split(":")[0] for record in caplog.records] == [
        "option maxOffsetsPerTrigger is ignored",
        "option startOffsets is ignored",
        "option kafka.group.id is ignored",
    ]
