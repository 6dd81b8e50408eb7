"""The tables of requests. Each is sent to a fresh broker of its own, and has a file of what Apache Kafka 4.4 answered.

The files are written by asking Apache Kafka::

    cd tests && python -m parity.tables requests > parity/apache-kafka-4.4.0.json
    cd tests && python -m parity.tables two-log-dirs > parity/apache-kafka-4.4.0-two-log-dirs.json
    cd tests && python -m parity.tables one-log-dir-offline > parity/apache-kafka-4.4.0-one-log-dir-offline.json
    cd tests && python -m parity.tables loggers > parity/apache-kafka-4.4.0-loggers.json
    cd tests && python -m parity.tables security-off > parity/apache-kafka-4.4.0-security-off.json
    cd tests && python -m parity.tables transactions > parity/apache-kafka-4.4.0-transactions.json
    cd tests && python -m parity.tables features > parity/apache-kafka-4.4.0-features.json
    cd tests && python -m parity.tables named-configs > parity/apache-kafka-4.4.0-named-configs.json
    cd tests && python -m parity.tables not-text > parity/apache-kafka-4.4.0-not-text.json
"""

from __future__ import annotations

import functools
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from parity.answers import SETTLE_SECONDS, Answers, all_answers
from parity.cases import CASES, Case
from parity.feature_cases import FEATURES
from parity.log_dir_cases import BEFORE_ONE_IS_OFFLINE, ONE_LOG_DIR_OFFLINE, TWO_LOG_DIRS
from parity.logger_cases import LOGGERS
from parity.named_config_cases import NAMED_CONFIGS
from parity.not_text_cases import NOT_TEXT, NotTextClient
from parity.raw_client import RawClient
from parity.security_cases import SECURITY_OFF
from parity.transaction_cases import OVERRIDES, TRANSACTIONS
from peer.apache_kafka import ApacheKafka
from peer.broker_process import BrokerProcess

HERE = Path(__file__).parent


class Table(NamedTuple):
    cases: Sequence[Case]
    recorded: Path
    log_dirs: int = 1
    before_one_is_offline: Sequence[Case] = ()
    """Sent first; then the last directory goes offline."""
    overrides: Mapping[str, str] = MappingProxyType({})
    """Lines of server.properties."""
    has_requests_of_brokers: bool = False
    """Only other brokers may send some of them, so that ours must not be alone."""
    client: type[RawClient] = RawClient

    def expected(self) -> Answers:
        found: dict[str, Any] = json.loads(self.recorded.read_text())
        return found


TABLES = {
    "requests": Table(CASES, HERE / "apache-kafka-4.4.0.json"),
    "two-log-dirs": Table(TWO_LOG_DIRS, HERE / "apache-kafka-4.4.0-two-log-dirs.json", 2),
    "one-log-dir-offline": Table(
        ONE_LOG_DIR_OFFLINE, HERE / "apache-kafka-4.4.0-one-log-dir-offline.json", 3, BEFORE_ONE_IS_OFFLINE
    ),
    "loggers": Table(LOGGERS, HERE / "apache-kafka-4.4.0-loggers.json"),
    "security-off": Table(SECURITY_OFF, HERE / "apache-kafka-4.4.0-security-off.json"),
    "transactions": Table(
        TRANSACTIONS, HERE / "apache-kafka-4.4.0-transactions.json", overrides=OVERRIDES, has_requests_of_brokers=True
    ),
    "features": Table(FEATURES, HERE / "apache-kafka-4.4.0-features.json"),
    "named-configs": Table(NAMED_CONFIGS, HERE / "apache-kafka-4.4.0-named-configs.json"),
    "not-text": Table(NOT_TEXT, HERE / "apache-kafka-4.4.0-not-text.json", client=NotTextClient),
}


def answers_of(kind: type[BrokerProcess], table: Table, folder: Path) -> Answers:
    """What a fresh broker answers to the whole table. Apache Kafka answers a change before its broker knows of it."""
    overrides = dict(table.overrides)
    if table.has_requests_of_brokers and kind is not ApacheKafka:
        overrides["kafkastore.metadata.path"] = str(folder / "shared.sqlite")
    broker = kind(folder, overrides, [folder / f"log-{number}" for number in range(table.log_dirs)])
    connect = functools.partial(table.client, "127.0.0.1", broker.port)
    settle_seconds = SETTLE_SECONDS if kind is ApacheKafka else 0.0
    broker.start()
    try:
        if table.before_one_is_offline:
            all_answers(connect, table.before_one_is_offline, settle_seconds)
            take_offline(broker, broker.log_dirs[-1])
        return all_answers(connect, table.cases, settle_seconds)
    finally:
        broker.kill()


def take_offline(broker: BrokerProcess, log_dir: Path) -> None:
    """Restarts a broker that cannot read the directory's file any more."""
    broker.stop()
    (log_dir / "meta.properties").unlink()
    (log_dir / "meta.properties").mkdir()
    broker.start()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        answers = answers_of(ApacheKafka, TABLES[sys.argv[1]], Path(folder))
    lines = [f"{json.dumps(key)}: {json.dumps(value, sort_keys=True)}" for key, value in answers.items()]
    sys.stdout.write("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
