"""Kafka's keys as variables of the environment, as Apache Kafka's container image reads them, for containers that are
configured so: ``KAFKA_LOG_DIRS`` is ``log.dirs``.

| in the name | in the key |
|---|---|
| ``_`` | ``.`` |
| ``__`` | ``_`` |
| ``___`` | ``-`` |

Variables that set up a JVM or its logging are no keys.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX: Final = "KAFKA_"
NO_KEYS: Final = frozenset(
    {
        "KAFKA_CLUSTER_ID",
        "KAFKA_GC_LOG_OPTS",
        "KAFKA_HEAP_OPTS",
        "KAFKA_HOME",
        "KAFKA_JMX_OPTS",
        "KAFKA_JVM_PERFORMANCE_OPTS",
        "KAFKA_LOG4J_LOGGERS",
        "KAFKA_LOG4J_OPTS",
        "KAFKA_LOG4J_ROOT_LOGLEVEL",
        "KAFKA_OPTS",
        "KAFKA_TOOLS_LOG4J_LOGLEVEL",
        "KAFKA_VERSION",
    }
)
_MEANT: Final = {"_": ".", "__": "_", "___": "-"}


def overrides_of(environment: Mapping[str, str]) -> list[str]:
    """``key=value`` for each variable that is a key, by name."""
    return [
        f"{key_of(name)}={value}"
        for name, value in sorted(environment.items())
        if name.startswith(PREFIX) and len(name) > len(PREFIX) and name not in NO_KEYS
    ]


def key_of(variable: str) -> str:
    """The key of a variable's name."""
    words = variable.removeprefix(PREFIX).lower()
    return re.sub("_{1,3}", lambda found: _MEANT[found[0]], words)
