"""kill -9 of the broker and of the loading process within bulk loads: after the same command again the topic has every
row once and in order, and nothing is left beside it (docs/bulk-load.md)."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kafkastore
from crash.load import Load
from peer.broker_factory import BrokerFactory
from peer.broker_process import BrokerProcess, wait_until
from peer.kafkastore_broker import executable
from peer.topics import create_topic, end_offsets
from proof.scope import played

PARTITIONS = 2
ROWS = 12_000
VALUE_BYTES = 1000
TOPIC = "filled"
LIMIT_S = 60
MOMENTS = 5
ROUNDS = played(MOMENTS, 4 * MOMENTS)
"""A kill at each moment: the load is being built, one to four of its segments are in the log."""


def write_rows(path: Path, round_number: int) -> None:
    values = [f"{round_number} {number} ".encode().ljust(VALUE_BYTES, b".") for number in range(ROWS)]
    partitions = pa.array([number % PARTITIONS for number in range(ROWS)], pa.int32())
    pq.write_table(pa.table({"value": pa.array(values, pa.binary()), "partition": partitions}), path)


def start_load(broker: BrokerProcess, file: Path, load_id: str) -> subprocess.Popen[bytes]:
    command = [executable(), "load", TOPIC, str(file), "--bootstrap-server", broker.bootstrap, "--load-id", load_id]
    return subprocess.Popen([*command, "--timeout", "5"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish_load(broker: BrokerProcess, file: Path, load_id: str) -> None:
    """Until the command succeeds: the coordinator may still be loading."""

    def is_done() -> bool:
        process = start_load(broker, file, load_id)
        _, told = process.communicate(timeout=LIMIT_S)
        assert b"Traceback" not in told, told.decode()
        return process.returncode == 0

    wait_until(is_done, LIMIT_S, "the load")


def segments(broker: BrokerProcess) -> int:
    return sum(len(list((broker.log_dir / f"{TOPIC}-{number}").glob("*.log"))) for number in range(PARTITIONS))


def is_under_way(broker: BrokerProcess, process: subprocess.Popen[bytes], before: int, adopted: int) -> bool:
    """Whether the load is built (0), or so many of its segments are in the log, or all is over."""
    is_there = segments(broker) >= before + adopted if adopted else bool(staged(broker))
    return is_there or process.poll() is not None


def staged(broker: BrokerProcess) -> list[Path]:
    return list(broker.log_dir.glob("*.load-*"))


def rows_of(broker: BrokerProcess) -> dict[int, list[tuple[int, int]]]:
    """(round, number) of the rows in each partition, without the producers' records."""
    ends = {number: end for number, (_, end) in end_offsets(broker.bootstrap, TOPIC).items()}
    found: dict[int, list[tuple[int, int]]] = {number: [] for number in range(PARTITIONS)}
    columns = ["partition", "offset", "value"]
    scan = kafkastore.scan(broker.log_dir, TOPIC, columns=columns, bootstrap_servers=broker.bootstrap)
    table = pa.RecordBatchReader.from_stream(scan).read_all()
    for partition, value in zip(table["partition"].to_pylist(), table["value"].to_pylist(), strict=True):
        if not value.startswith(b"plain"):
            round_number, number, _ = value.split(b" ", 2)
            found[partition].append((int(round_number), int(number)))
    for partition, end in ends.items():
        offsets = table.filter(pa.compute.equal(table["partition"], partition))["offset"].to_pylist()
        assert offsets == list(range(end)), "the offsets have a gap"
    return found


@pytest.mark.timeout(600)
@pytest.mark.parametrize("killed", ["broker", "load"])
def test_killed_load_is_completed_by_the_same_command_and_doubles_nothing(
    broker_factory: BrokerFactory, tmp_path: Path, killed: str, summary: list[str]
) -> None:
    rounds = ROUNDS
    broker = broker_factory({"transactional.id.expiration.ms": "604800000"})
    create_topic(broker.bootstrap, TOPIC, PARTITIONS, {"segment.bytes": "1048576", "retention.ms": "-1"})
    plain = Load(broker, TOPIC, "plain", PARTITIONS)
    file = tmp_path / "rows.parquet"
    parts = 0
    for number in range(rounds):
        write_rows(file, number)
        before = segments(broker)
        process = start_load(broker, file, f"load-{number}")
        adopted = number % MOMENTS  # segments that are in the log at the kill; 0 is the time when the load is built
        wait_until(partial(is_under_way, broker, process, before, adopted), LIMIT_S, "the load under way")
        if killed == "broker":
            broker.kill()
            broker.start()
        else:
            with suppress(ProcessLookupError):  # it was quicker
                os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=LIMIT_S)
        ends = sum(end for _, end in end_offsets(broker.bootstrap, TOPIC).values())
        parts += 0 < ends - number * ROWS - plain.sent < ROWS
        finish_load(broker, file, f"load-{number}")
        finish_load(broker, file, f"load-{number}")  # once more: nothing is appended
        plain.run_until_acknowledged(50)
    plain.finish()
    wanted = [(number, row) for number in range(rounds) for row in range(ROWS)]
    for partition, rows in rows_of(broker).items():
        assert rows == [(number, row) for number, row in wanted if row % PARTITIONS == partition]
    assert staged(broker) == []
    summary.append(f"kill -9 of the {killed} within a bulk load: {rounds} kills, {parts} with a part in the log")


def test_load_with_a_damaged_or_foreign_file_appends_nothing(broker_factory: BrokerFactory, tmp_path: Path) -> None:
    """The mistakes of a caller, each one sentence and nothing in the topic."""
    broker = broker_factory()
    create_topic(broker.bootstrap, TOPIC, PARTITIONS, {"cleanup.policy": "compact"})
    file = tmp_path / "rows.parquet"

    def told(table: pa.Table, *more: str, topic: str = TOPIC) -> str:
        pq.write_table(table, file)
        command = [executable(), "load", topic, str(file), "--bootstrap-server", broker.bootstrap, *more]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        assert ended.returncode == 1, ended
        assert ended.stderr.count("\n") == 1, ended.stderr
        assert "Traceback" not in ended.stderr, ended.stderr
        return ended.stderr

    keyed = pa.table({"key": ["a"], "value": ["b"]})
    assert "has no key, and the topic is compacted" in told(pa.table({"value": ["b"]}))
    assert "there is no column value" in told(pa.table({"key": ["b"]}))
    assert "column price" in told(keyed.append_column("price", pa.array([1])))
    assert "has no partition 9" in told(keyed.append_column("partition", pa.array([9], pa.int32())))
    assert "does not exist; create it first" in told(keyed, topic="nowhere")
    late = keyed.append_column("timestamp", pa.array([1 << 50]))
    assert "does not take the load" in told(late)
    assert "max.message.bytes" in told(pa.table({"key": ["a"], "value": ["b" * 2_000_000]}))
    ends = end_offsets(broker.bootstrap, TOPIC)
    assert all(end == 0 for _, end in ends.values())
    assert staged(broker) == []
    assert broker.is_running()
