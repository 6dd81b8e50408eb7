"""The pages' lines work as they stand in a plain shell whose environment is the checkout's.

Every block for a shell or in Python of the pages in ``RUN_PAGES`` is run in the order in which they stand, but for
those that say why not; only the address and the folders are the test's broker's.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from clients.page_lines import LIMIT_S, PAGES_OF_FILES, PlainShell, sections
from peer.broker_factory import BrokerFactory
from peer.java_programs import QUICK_JVM
from spark import class_data

FIRST_STEPS = "docs/first-steps.md"
SPARK = "Spark without the broker"


@pytest.fixture
def shell(broker_factory: BrokerFactory, tmp_path: Path) -> PlainShell:
    if broker_factory.kind != "kafkastore":
        pytest.skip("the pages are about kafkastore")
    return PlainShell(broker_factory(), tmp_path)


@pytest.mark.timeout(2 * LIMIT_S)
def test_programs_of_the_readme_work(shell: PlainShell) -> None:
    printed = {heading: shell.run_section(blocks) for heading, blocks in sections("README.md").items()}
    started = printed["Start"]
    assert started["kafkastore consume greetings --offset begin --exit"] == "hello\n"
    assert "b'counting' b'three'" in started["python"]
    assert re.search(r"│ +3 │.*│ three +│", started["python"]), started["python"]


@pytest.mark.timeout(2 * LIMIT_S)
def test_lines_of_the_first_steps_work(shell: PlainShell) -> None:
    printed = {
        heading: shell.run_section(blocks) for heading, blocks in sections(FIRST_STEPS).items() if heading != SPARK
    }
    outputs = printed["Produce and consume"]
    assert "hello\n" in outputs["kcat -b localhost:9092 -t greetings -C -e"]
    assert "0 0 a=1\n0 1 b=2\n" in outputs["kcat -b localhost:9092 -t keyed -C -e -q -f '%p %o %k=%s\\n'"]
    assert "b'counting' b'three'" in outputs["python"]
    files = printed["The files are the interface"]
    listed, counted = files["python"].splitlines()[:2]
    (greetings,) = re.findall(
        r"<Topic greetings: 1 partition, (\d+) offsets(?: and (\d+) behind the last checkpoint)?,", listed
    )
    assert sum(map(int, filter(None, greetings))) == 4, listed  # hello, one, two, three
    assert counted.startswith("4 "), counted
    dumped = [text for line, text in files.items() if line != "python"]
    assert len(dumped) == 4
    assert '"three"' in dumped[0]
    assert "count_star()" in dumped[2]
    assert dumped[3].startswith("4 records in 1 file ")


@pytest.mark.timeout(2 * LIMIT_S)
def test_programs_of_the_spark_section_work(shell: PlainShell) -> None:
    shell.environment["JDK_JAVA_OPTIONS"] = f"{' '.join(QUICK_JVM)} {class_data.options()}"  # shows in the time alone
    shell.run("bash", "-ec", "echo hello | kcat -b localhost:9092 -t greetings -P")
    printed = shell.run_section(sections(FIRST_STEPS)[SPARK])["python"]
    assert printed.count("+-") >= 3, printed  # a table


@pytest.mark.timeout(2 * LIMIT_S)
def test_lines_of_the_page_of_scans_and_of_operations_work(shell: PlainShell) -> None:
    value = {"id": 1, "at": "2026-01-31T12:00:00Z", "tags": ["a"], "origin": "JFK"}
    (shell.folder / "flights").write_text("".join(f"AA{number}|{json.dumps(value)}\n" for number in range(1100)))
    shell.run("bash", "-ec", "kcat -b localhost:9092 -t flights -P -K'|' -l flights")
    printed: dict[str, str] = {}
    for page in (*PAGES_OF_FILES, "docs/clusters.md"):
        for blocks in sections(page).values():
            printed |= shell.run_section(blocks)
    counted = printed["""kafkastore sql "select count(*) from 'flights'" /var/lib/kafka"""]
    assert "1100" in counted.replace(",", ""), counted
    assert len(printed["kafkastore dump /var/lib/kafka/flights-0 --from 1000 --to 1010"].splitlines()) >= 10
    assert "controller" in printed["kafkastore cluster status --bootstrap-server localhost:9092"]
