"""A logger has the name of its module's folder, by which operators find it and set its level."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tidy.sources import Source, dotted, python_sources, report

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ELSEWHERE = {"kafkastore.net": "server/kafka_apis.py", "kafka.authorizer.logger": "authorization/audit_log.py"}
"""Lines of the data plane, written by the control plane; and the audit log, which has Kafka's name."""


def loggers_in(sources: Iterable[Source]) -> Iterator[tuple[Source, int, str]]:
    for one in sources:
        for node in one.every(ast.Call):
            if dotted(node.func) == "logging.getLogger" and node.args and isinstance(node.args[0], ast.Constant):
                yield one, node.lineno, str(node.args[0].value)


def loggers_of_other_folders(sources: Iterable[Source]) -> Iterator[str]:
    """The name may be that of a folder around the module's, too: ``kafkastore.coordinator.group`` is one logger for all
    of its folders."""
    for one, line, name in loggers_in(sources):
        package = ".".join(("kafkastore", *one.parts[:-1]))
        is_around = package.startswith(f"{name}.") and name != "kafkastore"
        is_elsewhere = ELSEWHERE.get(name) == "/".join(one.parts)
        if not (name == package or name.startswith(f"{package}.") or is_around or is_elsewhere):
            yield f"{one}:{line}: the logger {name} is not named after the module's folder, {package}"


def test_loggers_have_the_names_of_the_folders_of_their_modules() -> None:
    report(loggers_of_other_folders(python_sources()))


def test_loggers_whose_lines_are_limited_exist() -> None:
    from kafkastore.client_log import LIMITED

    assert set(LIMITED) <= {name for _, _, name in loggers_in(python_sources())}
