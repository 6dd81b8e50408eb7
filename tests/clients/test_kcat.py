"""kcat as Debian packages it (librdkafka 2.0): the oldest protocol versions that any client of ours speaks."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from clients.conftest import CODECS

if TYPE_CHECKING:
    from peer.broker_process import BrokerProcess

LIMIT_S = 30


def kcat(broker: BrokerProcess, *args: str, stdin: str = "") -> str:
    command = ["kcat", "-b", broker.bootstrap, "-X", "socket.timeout.ms=10000", *args]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("codec", CODECS)
def test_lines_come_back_in_order(broker: BrokerProcess, topic: str, codec: str) -> None:
    lines = "".join(f"key{i % 10}:line {i}\n" for i in range(2000))
    kcat(broker, "-P", "-t", topic, "-K", ":", "-z", codec, "-X", "acks=all", stdin=lines)
    assert kcat(broker, "-C", "-t", topic, "-o", "beginning", "-e", "-q", "-K", ":") == lines


def test_headers_and_null_values_are_kept(broker: BrokerProcess, topic: str) -> None:
    kcat(broker, "-P", "-t", topic, "-K", ":", "-Z", "-H", "origin=test", stdin="gone:\n")
    (record,) = [
        json.loads(line) for line in kcat(broker, "-C", "-t", topic, "-o", "beginning", "-e", "-q", "-J").splitlines()
    ]
    assert (record["key"], record["payload"], record["headers"]) == ("gone", None, ["origin", "test"])


def test_consumer_starts_at_an_offset_from_the_end_and_at_a_time(broker: BrokerProcess, topic: str) -> None:
    kcat(broker, "-P", "-t", topic, stdin="".join(f"{i}\n" for i in range(100)))
    assert kcat(broker, "-C", "-t", topic, "-o", "97", "-e", "-q") == "97\n98\n99\n"
    assert kcat(broker, "-C", "-t", topic, "-o", "-2", "-e", "-q") == "98\n99\n"
    times = [
        json.loads(line)["ts"]
        for line in kcat(broker, "-C", "-t", topic, "-o", "beginning", "-e", "-q", "-J").splitlines()
    ]
    assert kcat(broker, "-Q", "-t", f"{topic}:0:{times[0]}").split() == [topic, "[0]", "offset", "0"]


def test_group_resumes_after_the_records_it_read(broker: BrokerProcess, topic: str, name: str) -> None:
    kcat(broker, "-P", "-t", topic, stdin="".join(f"{i}\n" for i in range(10)))
    settings = ["-X", "auto.offset.reset=earliest", "-q"]
    assert kcat(broker, *settings, "-c", "4", "-G", name, topic).split() == ["0", "1", "2", "3"]
    assert kcat(broker, *settings, "-e", "-G", name, topic).split() == ["4", "5", "6", "7", "8", "9"]


def test_metadata_lists_the_broker_and_the_topic(broker: BrokerProcess, topic: str) -> None:
    listing = json.loads(kcat(broker, "-L", "-J", "-t", topic))
    assert [listed["name"] for listed in listing["brokers"]] == [broker.bootstrap]
    assert [(found["topic"], len(found["partitions"])) for found in listing["topics"]] == [(topic, 1)]
