"""The names that a program finds in ``import kafkastore`` (README)."""

from __future__ import annotations

import subprocess
import sys

import kafkastore


def test_dir_lists_what_the_readme_uses() -> None:
    assert {"scan", "topics", "Scan", "__version__"} <= set(dir(kafkastore))


def printed(program: str) -> list[str]:
    """The words that the program prints in its own Python process, because this process has imported more."""
    return subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.split()


def test_version_is_that_of_the_distribution() -> None:
    from importlib.metadata import version

    assert printed("import kafkastore; print(kafkastore.__version__)") == [version("kafkastore")]


def test_import_alone_loads_neither_the_engine_nor_the_scan() -> None:
    program = (
        "import sys, kafkastore; dir(kafkastore);"
        " print(*(name for name in sys.modules if name.startswith('kafkastore')))"
    )
    assert sorted(printed(program)) == ["kafkastore", "kafkastore.exports"]
