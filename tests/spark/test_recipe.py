"""The file for PySpark of docs/testing-recipes.md."""

from __future__ import annotations

from typing import Any

import pytest

from spark.session import HAS_CONNECTOR, JAR
from testing.recipes import recipes


@pytest.mark.skipif(not HAS_CONNECTOR, reason="the connector is of another version of Spark")
@pytest.mark.usefixtures("spark")
def test_functions_of_the_recipe_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the tests' session, which has the connector without Maven: its builder gives the one that there is."""
    monkeypatch.setattr("kafkastore.spark.jvm.jar", lambda: str(JAR))  # of this build, which is no wheel
    module: dict[str, Any] = {}
    exec(recipes()["test_pyspark.py"], module)
    tests = [value for name, value in module.items() if name.startswith("test_")]
    assert len(tests) == 2
    for test in tests:
        test()
