"""The tree of folders in docs/internals/development.md, out of a sentence for each folder that there is."""

from __future__ import annotations

from tidy.sources import PYTHON, ROOT, RUST

TOP = {
    "rust": "the data plane and the storage engine",
    "python/kafkastore": "the control plane",
    "java": 'the classes of Spark\'s source `format("kafkastore")`, over rust/jni',
    "fuzz": "targets for a fuzzer, and their corpus",
    "benches": "one file for each operation; programs that measure brokers; records of what was measured",
    "tests": "a folder for each thing that they prove",
    "demo": "what make demo runs",
    "docs": "the pages",
}
"""Folders of the project in the order of the tree; those of the first two follow below each."""

OF_RUST = {
    "net": "sockets, TLS and SASL, frames, the order of answers, sendfile",
    "coordinator": "what consumers and transactional producers repeat: Heartbeat, OffsetCommit, OffsetFetch, EndTxn",
    "broker": "partitions, Produce, Fetch, delayed operations, quotas, ACLs, replica fetchers",
    "storage": "one partition's log: append, read, roll, flush, recovery, retention, the cleaner",
    "index": "Kafka's index files",
    "record": "record batches, checks, codecs",
    "protocol": "Kafka's messages: one table of them all, what reads and writes them after it, and by hand",
    "client": "one connection to another broker",
    "consumer": "records for commands, of assigned partitions",
    "io": "files behind a contract, with fail points",
    "base": "offsets, positions and epochs as types; the one error type, and Kafka's codes",
    "scan": "segment files as Arrow",
    "values": "record values as columns: JSON, CSV, Avro, Protocol Buffers",
    "planner": "plans of Spark's reads",
    "load": "bulk load: rows become segments",
    "producer": "acknowledged batches: for Spark's sink, and for commands",
    "jni": "the natives of the Java classes, the library for Spark's JVM",
    "simulator": "one broker's data plane, driven step by step; in no wheel",
    "python": "the Python module kafkastore._core, the only place that knows Python",
}
OF_PYTHON = {
    "cli": "the command",
    "testing": "brokers inside tests, the pytest plugin",
    "server": "start and stop, dispatch of requests",
    "handlers": "one file for each API",
    "membership": "how a broker joins its cluster and leaves it",
    "requests": "the registry of APIs, admission, forwarding, errors as responses",
    "authorization": "access control lists",
    "coordinator": "consumer groups and their offsets, transactions, producer ids",
    "controller": "elections of leaders, reassignments, deletions of topics",
    "topic": "requests about topics: checked, planned, sent to the controller",
    "dynamic_config": "configuration that changes at run time, quotas",
    "replica": "the partitions that this broker leads or follows, and their in-sync sets",
    "log": "log directories, housekeeping",
    "purgatory": "timers",
    "interbroker": "requests between brokers",
    "protocol": "the types of Kafka's messages, for mypy alone",
    "metadata": "the metadata store (SQLite or ZooKeeper) and its image in memory",
    "metrics": "the page for Prometheus",
    "config": "Kafka's keys",
    "admin": "what `kafkastore cluster` asks of a running cluster",
    "consuming": "members of consumer groups, readers of topics, and what records say",
    "producing": "writers of records, and records made of lines, JSON and Avro",
    "migration": "from Apache Kafka to kafkastore: a directory checked, a cluster mirrored, the cut-over",
    "scanning": "topics as Arrow, for pyarrow, DuckDB and Polars",
    "loading": "bulk load from Python",
    "spark": "topics as Spark's data frames; its sink and the pipeline",
}

WIDTH = 20


def missing() -> list[str]:
    """Folders without a sentence, and sentences without a folder."""
    in_rust = {one.name for one in RUST.iterdir() if one.is_dir() and any(one.rglob("*.rs"))}
    in_python = {one.name for one in PYTHON.iterdir() if one.is_dir() and any(one.rglob("*.py"))}
    found = [f"rust/{name}" for name in in_rust ^ OF_RUST.keys()]
    found += [f"python/kafkastore/{name}" for name in in_python ^ OF_PYTHON.keys()]
    return sorted(found + [name for name in TOP if not (ROOT / name).is_dir()])


def tree() -> str:
    lines = []
    for top, what in TOP.items():
        lines.append(f"{top + '/':<{WIDTH}}{what}")
        below = OF_RUST if top == "rust" else OF_PYTHON if top == "python/kafkastore" else {}
        lines += [f"{'  ' + name + '/':<{WIDTH}}{sentence}" for name, sentence in below.items()]
    return "\n".join(f"    {line}" for line in lines)
