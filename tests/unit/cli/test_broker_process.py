"""What the process of a broker prints when it is ready. The whole line of a started broker: tests/crash."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import pytest

from kafkastore.cli.broker_process import _addresses, _say_what_needs_brokers
from kafkastore.config import BrokerConfig
from kafkastore.metadata.image import MetadataImage, TopicImage

TWO = {
    "listeners": "PLAINTEXT://localhost:9092,REPLICATION://localhost:9093",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,REPLICATION:PLAINTEXT",
    "inter.broker.listener.name": "REPLICATION",
}


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"kafkastore.metadata.path": "/m"}, ("localhost:9092", "localhost:9093")),
        ({}, ("localhost:9092 (PLAINTEXT) or localhost:9093 (REPLICATION, PLAINTEXT)", "")),  # there are no brokers
        (
            {"kafkastore.metadata.path": "/m", "inter.broker.listener.name": "PLAINTEXT"},
            ("localhost:9092 (PLAINTEXT) or localhost:9093 (REPLICATION, PLAINTEXT)", ""),
        ),
    ],
)
def test_listener_of_the_brokers_is_no_bootstrap_server(more: dict[str, str], told: tuple[str, str]) -> None:
    assert _addresses(BrokerConfig({**TWO, **more}), None) == told


def said_of(caplog: pytest.LogCaptureFixture, properties: dict[str, str], *topics: str) -> list[str]:
    image = MetadataImage()
    for name in topics:
        image.put_topic(TopicImage(name, b"1" * 16, [], {}))
    broker: Any = types.SimpleNamespace(config=BrokerConfig(properties), image=image)
    caplog.clear()
    _say_what_needs_brokers(broker)
    return caplog.messages


def test_broker_that_is_alone_says_once_which_factors_it_cannot_give(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    own = {"log.dirs": str(tmp_path)}
    assert said_of(caplog, own) == [
        "There can be no consumer groups with offsets.topic.replication.factor=3, and no transactions with "
        "transaction.state.log.replication.factor=3 and transaction.state.log.min.isr=2; set each to 1 for a broker "
        "that is alone"
    ]
    fit = {"transaction.state.log.replication.factor": "1", "transaction.state.log.min.isr": "1"}
    assert said_of(caplog, {**own, **fit}) == [
        "There can be no consumer groups with offsets.topic.replication.factor=3; set it to 1 for a broker that is "
        "alone"
    ]
    assert said_of(caplog, own, "__consumer_offsets", "__transaction_state") == []  # they are there already
    assert said_of(caplog, {**own, "kafkastore.metadata.path": "/m"}) == []
