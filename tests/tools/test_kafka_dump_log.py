"""``kafka-dump-log`` prints what Kafka's prints, of the same files."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from peer.broker_process import BrokerProcess
from peer.java_tools import JavaRecord, JavaTools
from tools.comparison import ours, same

TOOL = "kafka-dump-log"
TOPIC = "kd-a"
BASE = "00000000000000000000"
FIXTURES = Path(__file__).parent.parent / "fixtures"


@pytest.fixture(scope="module")
def files(two_dirs: BrokerProcess, java: JavaTools, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of a partition that has compressed batches, transactions and headers; and of those of coordinators."""
    given = ["--bootstrap-server", two_dirs.bootstrap]
    assert ours("kafka-topics", *given, "--create", "--topic", TOPIC, "--config", "retention.ms=-1").exit == 0
    records = [
        JavaRecord(0, 1000 + number, f"k{number}".encode() if number % 3 else None, b"v" * number, (("h", b"x"),))
        for number in range(40)
    ]
    for codec in ("none", "gzip", "lz4", "snappy", "zstd"):
        java.produce(two_dirs.bootstrap, TOPIC, records, compression_type=codec)
    java.produce(two_dirs.bootstrap, TOPIC, records[:3], "commit", transactional_id="kd-t")
    java.produce(two_dirs.bootstrap, TOPIC, records[:3], "abort", transactional_id="kd-t")
    consume = ("--topic", TOPIC, "--from-beginning", "--max-messages", "1", "--group", "kd-g")
    assert java.tool("kafka-console-consumer", *given, *consume).exit == 0
    folder = tmp_path_factory.mktemp("dump")
    for log_dir in two_dirs.log_dirs:
        for path in (*log_dir.glob(f"{TOPIC}-0"), *log_dir.glob("__*")):
            shutil.copytree(path, folder / path.name)
    return folder


@pytest.mark.parametrize(
    "line",
    [
        "",
        "--deep-iteration",
        "--print-data-log",
        "--print-data-log --skip-record-metadata",
        "--max-bytes 2000",
        "--max-bytes 10 --deep-iteration",
        "--key-decoder-class --value-decoder-class org.apache.kafka.tools.api.StringDecoder",
        "--verify-index-only",
        "--index-sanity-check",
    ],
)
def test_files_of_a_partition_are_printed_as_kafkas_does(files: Path, java: JavaTools, line: str) -> None:
    found = [path for path in sorted((files / f"{TOPIC}-0").iterdir()) if path.stat().st_size or path.suffix == ".log"]
    known = [str(path) for path in found if path.suffix in (".log", ".index", ".timeindex", ".txnindex", ".snapshot")]
    assert len(known) >= 4
    same(java, TOOL, "--files", ",".join(known), *line.split())


@pytest.mark.parametrize(
    ("topic", "decoder"), [("__consumer_offsets", "offsets"), ("__transaction_state", "transaction-log")]
)
def test_records_of_coordinators_are_printed_as_kafkas_does(
    files: Path, java: JavaTools, topic: str, decoder: str
) -> None:
    logs = [str(path) for path in sorted(files.glob(f"{topic}-*/*.log")) if path.stat().st_size]
    assert '"data":' in same(java, TOOL, "--files", ",".join(logs), f"--{decoder}-decoder")


def test_messages_of_old_brokers_are_printed_as_kafkas_does(java: JavaTools) -> None:
    """Magic 0 and 1, each codec, with holes that the cleaner has left."""
    files = [path for path in sorted((FIXTURES / "legacy" / "logs").glob("*/*.log")) if "append_time" not in str(path)]
    assert len(files) >= 4
    assert "isValid: true crc: " in same(java, TOOL, "--files", ",".join(map(str, files)), "--print-data-log")


def test_damage_is_told_as_kafkas_does(files: Path, java: JavaTools, tmp_path: Path) -> None:
    """A batch that is cut, a byte that is another, an index and a snapshot that do not fit."""
    source = files / f"{TOPIC}-0" / BASE
    log = source.with_suffix(".log").read_bytes()
    path = tmp_path / BASE
    path.with_suffix(".log").write_bytes(log[: len(log) // 2 + 1])
    path.with_suffix(".index").write_bytes(b"\0\0\0\5\0\0\0\0\0\0\0\7\0\0\0\0")
    path.with_suffix(".timeindex").write_bytes(b"\0\0\0\0\0\0\0\1\0\0\0\x09")
    path.with_suffix(".snapshot").write_bytes(b"\0\1" + bytes(60))
    given = [str(path.with_suffix(suffix)) for suffix in (".log", ".index", ".timeindex", ".snapshot")]
    for line in ("", "--deep-iteration", "--verify-index-only"):
        same(java, TOOL, "--files", ",".join(given), *line.split())
    told = ours(TOOL, "--files", ",".join(given)).err
    assert told == java.tool(TOOL, "--files", ",".join(given)).err
    assert "Index offset: 5, log offset: 39" in told
    path.with_suffix(".log").write_bytes(log[:100] + bytes([log[100] ^ 1]) + log[101:])
    assert "isvalid: false" in same(java, TOOL, "--files", given[0])


@pytest.mark.parametrize("line", ["", "--help", "--version", "--print-data-log", "--files /none.log", "--files /none"])
def test_command_line_is_read_as_kafkas(java: JavaTools, line: str) -> None:
    same(java, TOOL, *line.split())
