"""All keys that can be changed at run time, each with spellings of its type and the bounds of its range, and the error
codes that Apache Kafka 4.4 answered them with.

    cd tests; python -m parity.config_values PORT > parity/apache-kafka-4.4.0-config-values.json

asks a fresh broker on that port of this host and prints its answers.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from kafkastore.config.definitions import ConfigKey, broker_keys, topic_keys
from parity.raw_client import ConnectionClosedError, RawClient

RECORD = Path(__file__).with_name("apache-kafka-4.4.0-config-values.json")
TOPIC = "t"
TOPIC_RESOURCE, BROKER_RESOURCE = 2, 4
SET, DELETE = 0, 1

INTEGERS = (
    *(
        "1",
        " 1",
        "1 ",
        "\t1",
        "1\n",
        "\u00a01",
        "+1",
        "01",
        "1.0",
        "1e3",
        "0x1",
        "1_0",
        "\uff11",
        "\u0661",
        "\U0001d7cf",
    ),
    *("\u22121", "-1", "-2", "0", "-0", "100", "2147483647", "2147483648", "9223372036854775807"),
    *("9223372036854775808", "", " ", "null", "true", "1L", "1,2", "NaN"),
)
BOOLEANS = ("true", "false", "TRUE", "False", " true", "false ", "1", "yes", "", "null", "tru\u0435")
REALS = (
    *("0", "1", "0.5", ".5", "5.", "5e-1", "0.5f", "0.5D", "0x1p-1", "1.5", "-0.5", "NaN", "Infinity", "inf", " 0.5 "),
    *("0,5", "", "\uff11"),
)
TEXTS = ("", " ", "a", "A", " a", "null", "a,b", ",", "\u00e4", "a\nb")
OF_TYPE = {"short": INTEGERS, "int": INTEGERS, "long": INTEGERS, "boolean": BOOLEANS, "double": REALS}

LEFT_OUT = ("max.connection", "listener", "advertised", "ssl.", "sasl.", "principal")
"""Beginnings of keys that would keep the next question from being answered, or that belong to one listener."""


def spellings(key: ConfigKey) -> list[str]:
    """Each once."""
    found = list(OF_TYPE.get(key.type, TEXTS))
    valid = key.valid.removeprefix("(case insensitive) ")
    if valid.startswith("["):
        for one in valid.partition(" or ")[0].strip("[]").split(","):
            text = one.strip()
            if text.lstrip("-").isdigit():
                found += [str(int(text) + by) for by in (-1, 0, 1)]
            elif text not in ("", "..."):
                found += [text, text.lower(), text.upper(), f"{text} "]
    if key.default:
        found += [key.default, f" {key.default}"]
    return list(dict.fromkeys(found))


def questions() -> Iterator[tuple[str, int, str, ConfigKey]]:
    """(level, resource type, resource, key)."""
    for key in topic_keys().values():
        yield "topic", TOPIC_RESOURCE, TOPIC, key
    asked = [key for key in broker_keys().values() if not key.name.startswith(LEFT_OUT)]
    for level, resource, modes in (("broker", "1", ("per-broker", "cluster-wide")), ("all", "", ("cluster-wide",))):
        for key in asked:  # one level after the other: a change takes a moment to be in effect
            if key.update_mode in modes:
                yield level, BROKER_RESOURCE, resource, key


def change(address: tuple[str, int], kind: int, resource: str, key: str, value: str | None) -> int:
    """The error code. ``None`` takes the key away. Each question has a connection of its own, since a change of the
    network threads closes some."""
    config = {"name": key, "config_operation": DELETE if value is None else SET, "value": value}
    named = {"resource_type": kind, "resource_name": resource, "configs": [config]}
    asked = {"resources": [named], "validate_only": False}
    while True:
        with closing(RawClient(*address)) as client, suppress(ConnectionClosedError, ConnectionResetError):
            return int(client.ask("incremental_alter_configs", 1, asked).responses[0].error_code)


def answers(host: str, port: int, step: int = 1, first: int = 0) -> dict[str, dict[str, int]]:
    """By "level key", the code for each spelling, or for every so many of them. The topic :data:`TOPIC` is there."""
    found: dict[str, dict[str, int]] = {}
    for level, kind, resource, key in questions():
        row = found[f"{level} {key.name}"] = {}
        for value in spellings(key)[first % step :: step]:
            row[value] = change((host, port), kind, resource, key.name, value)
            if row[value] == 0:
                change((host, port), kind, resource, key.name, None)
    return found


def recorded() -> dict[str, dict[str, int]]:
    """As :func:`answers`; the file has the codes of a key in the order of its spellings."""
    of_key = {f"{level} {key.name}": key for level, _, _, key in questions()}
    rows = json.loads(RECORD.read_text())
    return {
        name: dict(zip(spellings(of_key[name]), map(int, codes.split()), strict=True)) for name, codes in rows.items()
    }


def main() -> int:
    rows = {name: " ".join(map(str, row.values())) for name, row in answers("127.0.0.1", int(sys.argv[1])).items()}
    print(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
