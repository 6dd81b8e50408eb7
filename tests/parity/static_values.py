"""All keys of a broker's file, each with spellings of its type and the bounds of its range, and whether Apache Kafka
4.4 starts with them.

    cd tests; python -m parity.static_values JARS > parity/apache-kafka-4.4.0-static-values.json

asks the classes of Kafka in that folder of jars, with ``StaticValues.java`` beside this file.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from kafkastore.config.definitions import ConfigKey, broker_keys
from parity.config_values import spellings

RECORD = Path(__file__).with_name("apache-kafka-4.4.0-static-values.json")

LEFT_OUT = ("kafkastore.", "zookeeper.", "listener", "advertised.listeners", "controller.", "process.roles", "node.id")
"""Beginnings of keys that Kafka 4 does not know, or that go with others of the smallest file."""

NOT_IN_FILES = (
    "follower.replication.throttled.rate",
    "leader.replication.throttled.rate",
    "log.message.format.legacy.enable",
    "replica.alter.log.dirs.io.max.bytes.per.second",
)
"""Keys that Kafka's files do not have: it takes anything for them."""


def asked() -> dict[str, list[str]]:
    """The spellings of each key."""
    keys: list[ConfigKey] = [key for key in broker_keys().values() if not key.name.startswith(LEFT_OUT)]
    return {key.name: spellings(key) for key in keys if key.name not in NOT_IN_FILES}


def recorded() -> dict[str, dict[str, bool]]:
    """By key and spelling, whether Kafka starts; the file has a digit for each spelling, in their order."""
    rows = json.loads(RECORD.read_text())
    of_keys = asked()
    assert rows.keys() == of_keys.keys()
    return {
        name: {value: digit == "1" for value, digit in zip(values, rows[name], strict=True)}
        for name, values in of_keys.items()
    }


def main() -> int:
    of_keys = asked()
    with tempfile.TemporaryDirectory() as folder:
        questions, answers = Path(folder, "questions"), Path(folder, "answers")
        pairs = ((name, value) for name, values in of_keys.items() for value in values)
        questions.write_text("".join(f"{name.encode().hex()} {value.encode().hex()}\n" for name, value in pairs))
        program = Path(__file__).with_name("StaticValues.java")
        command = ["java", "-cp", f"{sys.argv[1]}/*", program, questions, answers]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        digits = iter(answers.read_text())
    rows = {name: "".join(next(digits) for _ in values) for name, values in of_keys.items()}
    print(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
