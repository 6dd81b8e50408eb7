"""A logger has the name of its module's folder, by which operators find it and set its level (issue 14, item 6)."""

from __future__ import annotations

import ast

import pytest

from tidy.sources import PYTHON, python_files

ELSEWHERE = {"kafkastore.net": "server/kafka_apis.py", "kafka.authorizer.logger": "authorization/audit.py"}
"""Lines of the data plane, written by the control plane; and the audit log, which has Kafka's name."""

LOGGERS = {
    (str(path.relative_to(PYTHON)), node.args[0].value)
    for path in python_files()
    for node in ast.walk(ast.parse(path.read_text()))
    if isinstance(node, ast.Call)
    and ast.unparse(node.func) == "logging.getLogger"
    and node.args
    and isinstance(node.args[0], ast.Constant)
}


@pytest.mark.parametrize(("path", "name"), sorted(LOGGERS))
def test_logger_has_the_name_of_the_folder_of_its_module(path: str, name: str) -> None:
    """Or of a folder around that one: ``kafkastore.coordinator.group`` is one logger for all of its folders."""
    package = ".".join(("kafkastore", *path.removesuffix(".py").split("/")[:-1]))
    is_around = package.startswith(f"{name}.") and name != "kafkastore"
    assert name == package or name.startswith(f"{package}.") or is_around or ELSEWHERE.get(name) == path


def test_loggers_whose_lines_are_limited_exist() -> None:
    from kafkastore.client_log import LIMITED

    assert set(LIMITED) <= {name for _, name in LOGGERS}
