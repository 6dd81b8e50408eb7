"""Private brokers for a test, of either kind."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from peer.apache_kafka import ApacheKafka
from peer.broker_process import BrokerProcess
from peer.kafkastore_broker import KafkastoreBroker

KINDS: dict[str, type[BrokerProcess]] = {"kafka": ApacheKafka, "kafkastore": KafkastoreBroker}


class BrokerFactory:
    """Makes private brokers of one kind; each gets a folder of its own and ends with the test."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind = kind
        self.folder = folder
        self.made: list[BrokerProcess] = []

    def __call__(
        self,
        overrides: Mapping[str, str] | None = None,
        log_dirs: Sequence[Path] = (),
        kind: str | None = None,
        start: bool = True,
    ) -> BrokerProcess:
        """`overrides`: lines of server.properties. With start=False the caller launches it."""
        made = KINDS[kind or self.kind](self.folder / f"broker-{len(self.made)}", overrides, log_dirs)
        self.made.append(made)
        return made.start() if start else made

    def close(self) -> None:
        for made in self.made:
            made.kill()
            shutil.rmtree(made.folder / "data", ignore_errors=True)
