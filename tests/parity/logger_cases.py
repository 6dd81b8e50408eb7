"""Levels of loggers, which only the root logger has by the same name in both brokers (KIP-412)."""

from __future__ import annotations

from typing import Any, Final

from parity.cases import BROKER_NAME, LOGGER, Case

SET, DELETE, APPEND, SUBTRACT = range(4)
Change = tuple[str, int, str | None]


def altered(name: str, *changes: Change, broker: Any = BROKER_NAME, validate_only: bool = False) -> Case:
    configs = [{"name": one, "config_operation": operation, "value": value} for one, operation, value in changes]
    resource = {"resource_type": LOGGER, "resource_name": broker, "configs": configs}
    given = {"resources": [resource], "validate_only": validate_only}
    return Case(name, "incremental_alter_configs", (0, 1), given)


def described(name: str, *loggers: str, **more: Any) -> Case:
    resource = {"resource_type": LOGGER, "resource_name": BROKER_NAME, "configuration_keys": list(loggers)}
    return Case(name, "describe_configs", (1, 2, 3, 4), {"resources": [resource], **more})


LOGGERS: Final = (
    altered("set: root", ("root", SET, "ERROR")),
    described("describe: root", "root"),
    described("describe: a logger that is not there", "nope"),
    altered("set: only validated", ("root", SET, "WARN"), validate_only=True),
    altered("set: lower case", ("root", SET, "debug")),
    altered("set: no level of Kafka's", ("root", SET, "OFF")),
    altered("set: empty", ("root", SET, "")),
    altered("set: null", ("root", SET, None)),
    altered("set: a logger that is not there", ("nope", SET, "WARN")),
    altered("set: root and a logger that is not there", ("root", SET, "WARN"), ("nope", SET, "WARN")),
    altered("set: a logger without a name", ("", SET, "WARN")),
    altered("set: root twice", ("root", SET, "WARN"), ("root", SET, "INFO")),
    altered("delete: root", ("root", DELETE, None)),
    altered("delete: a logger that is not there", ("nope", DELETE, None)),
    altered("append: root", ("root", APPEND, "WARN")),
    altered("subtract: root", ("root", SUBTRACT, "WARN")),
    altered("set: no broker", ("root", SET, "WARN"), broker=""),
    altered("set: another broker", ("root", SET, "WARN"), broker="4711"),
    altered("set: broker not a number", ("root", SET, "WARN"), broker="one"),
    altered("set: nothing"),
    described("describe: root is as it was set", "root", include_synonyms=True),
    Case(
        "replace: root",
        "alter_configs",
        (2,),
        {
            "resources": [
                {"resource_type": LOGGER, "resource_name": BROKER_NAME, "configs": [{"name": "root", "value": "WARN"}]}
            ]
        },
    ),
)
