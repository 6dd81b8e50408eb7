"""What a broker says to systemd, and where it takes Kafka's keys from in a container."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from kafkastore.cli import supervisor
from kafkastore.cli.broker_start import understood
from kafkastore.config.environment import overrides_of

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_ready_and_stopping_reach_the_supervisor_and_nobody_without_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    supervisor.tell_ready("unheard")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.settimeout(5)
        listening.bind(str(tmp_path / "notify"))
        monkeypatch.setenv(supervisor.VARIABLE, str(tmp_path / "notify"))
        supervisor.tell_ready("serves a:1")
        supervisor.tell_stopping()
        assert [listening.recv(100) for _ in range(2)] == [b"READY=1\nSTATUS=serves a:1", b"STOPPING=1"]


def test_keys_of_the_environment_are_kafkas_and_the_command_line_counts_before_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = {
        "KAFKA_LOG_DIRS": "/a,/b",
        "KAFKA_SSL_KEYSTORE___X__Y": "1=2",
        "KAFKA_HEAP_OPTS": "-Xmx1G",
        "KAFKA_": "x",
        "OTHER": "x",
    }
    assert overrides_of(given) == ["log.dirs=/a,/b", "ssl.keystore-x_y=1=2"]
    monkeypatch.setenv("KAFKA_NUM_PARTITIONS", "3")
    found = understood(["--override", "num.partitions=4", "--environment", "x.properties"])
    assert found is not None
    path, overrides = found
    assert path == "x.properties"
    assert overrides[-2:] == ["num.partitions=3", "num.partitions=4"]
