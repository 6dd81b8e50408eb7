"""Fixtures that start brokers, and the two rules of a run: warnings are errors, and in CI nothing may be skipped.

`--against=kafka` runs the client, wire, crash and interop tests against Apache Kafka itself, which proves the tests;
the default runs them against ours. A broker that a fixture started ends with the fixture.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import hypothesis
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from typing import TYPE_CHECKING, Any

from peer import class_data
from peer.broker_factory import KINDS, BrokerFactory
from peer.java_tools import JavaTools
from proof.scope import IS_WHOLE, played
from proof.seeds import VARIABLE, first_seed

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from peer.broker_process import BrokerProcess

pytest_plugins = ["proof.seconds"]

TEST_LIMIT_S = 120
SHOWN_LINES = 40


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--against", choices=sorted(KINDS), default="kafkastore", help="the broker that tests with a broker run against"
    )
    parser.addoption(
        "--kills", type=int, default=played(5, 30), help="how often the crash test kills the broker under load"
    )
    parser.addoption("--damages", type=int, help="how often each kind of metadata store is damaged")
    parser.addoption("--damage-seed", type=int, help="1 in make test, a fresh one in make proof")
    parser.addoption(
        "--every-state-file",
        action="store_true",
        default=IS_WHOLE,
        help="every state file in the place of which every thing stands",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("filterwarnings", "error")
    config.addinivalue_line(
        "filterwarnings", "ignore:(read|open)_text is deprecated:DeprecationWarning"
    )  # kafka-python's import
    config.addinivalue_line(
        "filterwarnings", "ignore:Do not use the `random` module inside strategies"
    )  # no strategy of ours does; a client's thread that draws a backoff meanwhile looks like one
    config.addinivalue_line("markers", "proof: only `make proof` runs it")
    os.environ.pop("PYTHONUNBUFFERED", None)  # commands print as a user's do
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's job in the background begins with it ignored
    # before workers of pytest-xdist start: they have it by the environment
    config.option.hypothesis_seed = first_seed()
    hypothesis.settings.register_profile("kafkastore", database=None)  # nothing of an earlier run
    hypothesis.settings.load_profile("kafkastore")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not IS_WHOLE:
        whole_only = [item for item in items if item.get_closest_marker("proof") is not None]
        config.hook.pytest_deselected(items=whole_only)
        items[:] = [item for item in items if item.get_closest_marker("proof") is None]
    if any({"java", "apache_kafka"} & set(getattr(item, "fixturenames", ())) for item in items):
        class_data.options(class_data.PROGRAM)  # is made in the time of no test
    for item in items:
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(TEST_LIMIT_S))


SUMMARY = pytest.StashKey[list[str]]()


@pytest.fixture(scope="session")
def summary(pytestconfig: pytest.Config) -> list[str]:
    """Sentences that are printed at the end of the run, above pytest's own closing line."""
    return pytestconfig.stash.setdefault(SUMMARY, [])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """What a worker of pytest-xdist has to say is said by the process that prints. A worker that dies fails the run,
    even behind its last test."""
    if error:
        node.config.pluginmanager.get_plugin("session").testsfailed += 1
    node.config.stash.setdefault(SUMMARY, []).extend(getattr(node, "workeroutput", {}).get("summary", []))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for line in config.stash.get(SUMMARY, []):
        terminalreporter.write_line(line)
    terminalreporter.write_line(f"Seeds begin with {first_seed()}; {VARIABLE}={first_seed()} plays them again.")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """A failure shows what the test's own brokers printed last: elsewhere their folders may be gone before anybody
    looks."""
    report = (yield).get_result()
    folder = getattr(item, "funcargs", {}).get("tmp_path")
    if report.failed and folder is not None:
        for path in sorted(folder.rglob("out.log")):
            lines = path.read_text(errors="replace").splitlines()[-SHOWN_LINES:]
            report.sections.append((f"{path.relative_to(folder)}, its end", "\n".join(lines)))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI a skipped test is a failure: everything that tests need is installed by `make test`."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") and reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["summary"] = session.config.stash.get(SUMMARY, [])


def _session_broker(kind: str, folder: Path) -> Iterator[BrokerProcess]:
    broker = KINDS[kind](folder)
    broker.start()
    yield broker
    ended_early = not broker.is_running()
    exit_code = broker.stop()
    assert not ended_early, f"{kind} ended during the tests:\n{broker.output()[-4000:]}"
    assert exit_code in (0, 143), (
        f"{kind} stopped with {exit_code}:\n{broker.output()[-4000:]}"
    )  # a JVM answers SIGTERM with 143


@pytest.fixture(scope="session")
def apache_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """Apache Kafka 4.4, one for the session."""
    yield from _session_broker("kafka", tmp_path_factory.mktemp("apache-kafka"))


@pytest.fixture(scope="session")
def kafkastore_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """Ours, one for the session."""
    yield from _session_broker("kafkastore", tmp_path_factory.mktemp("kafkastore"))


@pytest.fixture(scope="session")
def against(pytestconfig: pytest.Config) -> str:
    return str(pytestconfig.getoption("--against"))


@pytest.fixture(scope="session")
def broker(against: str, request: pytest.FixtureRequest) -> BrokerProcess:
    """The session's broker of the kind chosen with --against."""
    chosen: BrokerProcess = request.getfixturevalue("apache_kafka" if against == "kafka" else "kafkastore_broker")
    return chosen


@pytest.fixture
def broker_factory(against: str, tmp_path: Path) -> Iterator[BrokerFactory]:
    """Private brokers with their own configs, to restart and to kill."""
    factory = BrokerFactory(against, tmp_path)
    yield factory
    factory.close()


@pytest.fixture(scope="session")
def java(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaTools]:
    """One JVM with Kafka's tools and clients."""
    tools = JavaTools(tmp_path_factory.mktemp("java") / "java.log")
    yield tools
    tools.close()
