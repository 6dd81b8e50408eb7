"""The README's lines work as they stand in a plain shell whose environment is the checkout's.

Each section's shell lines and Python blocks are run in the order in which they stand, with nothing in the environment
but a PATH; only the address and the folder of the data are the test's broker's.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from peer.java_programs import QUICK_JVM
from spark import class_data

if TYPE_CHECKING:
    from peer.broker_factory import BrokerFactory
    from peer.broker_process import BrokerProcess

ROOT = Path(__file__).resolve().parents[2]
SET_UP = ("source ", "pip install ", "sudo apt-get install ")
"""Lines that make test has done in its own way."""
LIMIT_S = 120


def section(heading: str) -> str:
    text = (ROOT / "README.md").read_text()
    return text.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]


def shell_lines(text: str) -> list[str]:
    outside = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    lines = [line.removeprefix("    ") for line in outside.splitlines() if line.startswith("    ")]
    return [line for line in lines if not line.startswith(SET_UP)]


def python_program(text: str) -> str:
    return "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))


class PlainShell:
    """A folder in which ``data`` is a broker's log directory, and an environment of a PATH and a HOME."""

    def __init__(self, broker: BrokerProcess, folder: Path) -> None:
        self.broker = broker
        self.folder = folder
        (folder / "data").symlink_to(broker.log_dir)
        programs = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
        self.environment = {"PATH": programs, "HOME": str(folder)}
        self.environment |= {name: os.environ[name] for name in ("JAVA_HOME", "LD_LIBRARY_PATH") if name in os.environ}
        quick = f"{' '.join(QUICK_JVM)} {class_data.options()}"
        self.environment["JDK_JAVA_OPTIONS"] = quick  # shows in nothing but the time

    def run(self, *command: str) -> str:
        given = [part.replace("localhost:9092", self.broker.bootstrap) for part in command]
        ended = subprocess.run(
            given, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
        assert ended.returncode == 0, f"{given}:\n{ended.stdout}\n{ended.stderr}"
        return ended.stdout


@pytest.fixture
def shell(broker_factory: BrokerFactory, tmp_path: Path) -> PlainShell:
    if broker_factory.kind != "kafkastore":
        pytest.skip("the README is about kafkastore")
    return PlainShell(broker_factory(), tmp_path)


@pytest.mark.timeout(2 * LIMIT_S)
def test_lines_of_the_first_five_minutes_and_of_the_files_work(shell: PlainShell) -> None:
    outputs = {line: shell.run("bash", "-ec", line) for line in shell_lines(section("The first five minutes"))}
    assert "hello\n" in outputs["kcat -b localhost:9092 -t greetings -C -e"]
    assert "0 0 a=1\n0 1 b=2\n" in outputs["kcat -b localhost:9092 -t keyed -C -e -q -f '%p %o %k=%s\\n'"]
    assert "b'counting' b'three'" in shell.run("python", "-c", python_program(section("The first five minutes")))
    files = section("The files are the interface")
    scanned = shell.run("python", "-c", python_program(files))
    assert scanned.splitlines()[1].startswith("4 "), scanned  # hello, one, two, three
    dumped = [shell.run("bash", "-ec", line) for line in shell_lines(files)]
    assert len(dumped) == 4
    assert '"three"' in dumped[0]
    assert "count_star()" in dumped[2]
    assert dumped[3].startswith("4 records in 1 file ")


@pytest.mark.timeout(2 * LIMIT_S)
def test_programs_of_the_spark_section_work(shell: PlainShell) -> None:
    shell.run("bash", "-ec", "echo hello | kcat -b localhost:9092 -t greetings -P")
    printed = shell.run("python", "-c", python_program(section("Spark without the broker")))
    assert printed.count("+-") >= 2 * 3, printed  # two tables


def test_number_of_apis_is_the_registrys() -> None:
    from kafkastore.requests.registry import APIS

    assert f"\n{len(APIS)} APIs in the versions" in section("What is served")
