"""The lines of Kafka's perf tests and the events of its verifiable clients: ours have the same form, and the same words
where no time is in them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from peer.broker_process import BrokerProcess
from peer.java_tools import JavaTools
from tools.comparison import ours, same

NUMBER = re.compile(r"\d+(\.\d+)?")


def form(text: str) -> str:
    """Numbers as how many digits follow their points."""
    return NUMBER.sub(lambda found: "#" if found[1] is None else f"#.{len(found[1]) - 1}", text)


def test_producer_perf_test_prints_kafkas_lines(broker: BrokerProcess, java: JavaTools, tmp_path: Path) -> None:
    payloads = tmp_path / "payloads"
    payloads.write_text("one|two|three||")
    words = ["--bootstrap-server", broker.bootstrap, "--topic", "kpp", "--throughput", "-1", "--num-records"]
    for more in (
        ["30", "--record-size", "10"],
        ["30", "--payload-monotonic", "--warmup-records", "10"],
        ["5", "--payload-file", str(payloads), "--payload-delimiter", "\\|", "--producer-props", "acks=1"],
        ["9", "--record-size", "5", "--transaction-duration-ms", "50"],
    ):
        same(java, "kafka-producer-perf-test", *words, *more, plain=form)
    by_key = ["9", "--record-size", "5", "--record-key-range", "3", "--key-distribution", "range"]
    keyed = ours("kafka-producer-perf-test", *words, *by_key)
    assert keyed.out.startswith("9 records sent, ")


@pytest.mark.parametrize(
    "words",
    [
        "",
        "--help",
        "--topic t",
        "--topic t --num-records 1 --throughput 1",
        "--topic t --num-records 1 --throughput 1 --record-size 0 --bootstrap-server {}",
        "--topic t --num-records 1 --throughput 1 --record-size 1",
        "--topic t --num-records 1 --throughput 1 --record-size 1 --payload-monotonic --bootstrap-server {}",
        "--topic t --num-records 5 --throughput 1 --record-size 1 --bootstrap-server {} --warmup-records 5",
    ],
)
def test_producer_perf_test_refuses_what_kafkas_refuses(words: str, broker: BrokerProcess, java: JavaTools) -> None:
    given = words.format(broker.bootstrap).split()
    theirs, mine = java.tool("kafka-producer-perf-test", *given), ours("kafka-producer-perf-test", *given)
    assert (mine.exit, bool(mine.out), bool(mine.err)) == (theirs.exit, bool(theirs.out), bool(theirs.err))


def test_consumer_perf_test_prints_kafkas_lines(broker: BrokerProcess, java: JavaTools) -> None:
    topic = ["--bootstrap-server", broker.bootstrap, "--topic", "kcp"]
    assert ours("kafka-console-producer", *topic, stdin="0123456789\n" * 200).exit == 0
    for more in (
        ["--num-records", "200"],
        ["--messages", "200", "--hide-header", "--date-format", "yyyy.MM.dd 'at' HH:mm"],
        ["--num-records", "200", "--show-detailed-stats"],
        ["--num-records", "201", "--timeout", "600"],
    ):
        same(java, "kafka-consumer-perf-test", *topic, *more, plain=form)
    counted = ours("kafka-consumer-perf-test", *topic, "--num-records", "150", "--hide-header").out.split(", ")
    assert counted[4] == "150"
    assert counted[2] == f"{1500 / 1024 / 1024:.4f}"


def _events(out: str) -> list[dict[str, Any]]:
    events = [json.loads(line) for line in out.splitlines()]
    for event in events:
        del event["timestamp"]
        event.pop("avg_throughput", None)
    return events


def test_verifiable_clients_print_kafkas_events(broker: BrokerProcess) -> None:
    """As Kafka 4.4's print them; theirs are not run here, since their last events come when their process ends."""
    words = ["--bootstrap-server", broker.bootstrap, "--topic", "kv", "--max-messages", "3"]
    made = ours("kafka-verifiable-producer", *words, "--repeating-keys", "2", "--value-prefix", "7").out
    place = {"topic": "kv", "partition": 0}
    sent = [{"key": str(number % 2), "value": f"7.{number}", "offset": number} for number in range(3)]
    assert _events(made) == [
        {"name": "startup_complete"},
        *({"name": "producer_send_success", **one, **place} for one in sent),
        {"name": "shutdown_complete"},
        {"name": "tool_data", "sent": 3, "acked": 3, "target_throughput": -1},
    ]
    assert list(json.loads(made.splitlines()[1])) == [
        "timestamp",
        "name",
        "key",
        "value",
        "offset",
        "topic",
        "partition",
    ]
    read = ours("kafka-verifiable-consumer", *words, "--group-id", "kv-g", "--verbose").out
    assert _events(read) == [
        {"name": "startup_complete"},
        {"name": "partitions_assigned", "partitions": [place]},
        *({"name": "record_data", **one, **place} for one in sent),
        {
            "name": "records_consumed",
            "count": 3,
            "partitions": [{**place, "count": 3, "minOffset": 0, "maxOffset": 2}],
        },
        {"name": "offsets_committed", "offsets": [{**place, "offset": 3}], "success": True},
        {"name": "partitions_revoked", "partitions": [place]},
        {"name": "shutdown_complete"},
        {"name": "shutdown_requested"},
    ]


def test_end_to_end_latency_prints_kafkas_lines(broker: BrokerProcess) -> None:
    words = ["--bootstrap-server", broker.bootstrap, "--topic", "kel", "--num-records", "2"]
    result = ours("kafka-e2e-latency", *words, "--producer-acks", "all", "--record-size", "10", "--num-headers", "2")
    assert form(result.out).splitlines()[1:] == ["Avg latency: #.4 ms", "Percentiles: #th = #, #th = #, #.1th = #"]
    refused = ours("kafka-e2e-latency", *words, "--producer-acks", "0", "--record-size", "10")
    assert (refused.exit, refused.out) == (1, "")
