"""The natives of the source for Spark survive random and broken input. `make jni-fuzz` runs longer, under
AddressSanitizer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from spark.jni_fuzz import Prepared, compiled, is_clean, prepared, run
from spark.session import JAR

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.timeout(300)

LIMIT_S = 200
SHORT = {"seed": 1, "cases": 500, "seconds": 10, "threads": 2, "leaks": 100}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prepared]:
    with prepared(tmp_path_factory.mktemp("jni")) as found:
        yield found


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compiled(tmp_path_factory.mktemp("classes"), JAR)


def test_natives_survive_random_and_broken_input(place: Prepared, classes: str) -> None:
    done = run(place, classes, SHORT, {}, LIMIT_S)
    assert is_clean(done), done.stdout
    assert "findings: 0" in done.stdout


def test_a_crash_of_the_jvm_is_a_finding_that_names_its_case(place: Prepared, classes: str) -> None:
    done = run(place, classes, {"only": "crash", "first": 17, "cases": 1, "threads": 1}, {}, LIMIT_S)
    assert not is_clean(done)
    assert "its threads ran:\ncase 17 crash" in done.stdout
