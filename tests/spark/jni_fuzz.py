"""The natives of the source for Spark under random and broken input: `jni/JniFuzz.java`, over topics that a broker has
written.

python -m spark.jni_fuzz --seconds 60 [--seed N] [--library target/asan/.../libkafkastore_jni.so]

With a library that was built with AddressSanitizer, a jar with it is made, and the JVM runs with the sanitizer's own
library preloaded: it then reports what the natives read or write wrongly, and a probe asks it about every address that
a batch gives to Java.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark
from confluent_kafka import Producer

from clients.conftest import CODECS, START_TIME_MS, samples
from peer.broker_process import BrokerProcess
from peer.kafkastore_broker import KafkastoreBroker
from peer.topics import create_topic
from spark.session import JAR, QUICK_JVM, environment

HERE = Path(__file__).parent / "jni"
LEGACY = Path(__file__).parents[1] / "fixtures" / "legacy" / "logs"
LOGGING = Path(__file__).parents[1] / "peer"
"""The folder of log4j2.properties."""
SMALL_SEGMENTS = {"segment.ms": "25", "index.interval.bytes": "512", "retention.ms": "-1"}
FLUSH_LIMIT_S = 30
VALUES = 150
SCALARS: tuple[Any, ...] = (
    *(0, 1, -1, 127, 1 << 31, 1 << 63, 1.5, -2.5e-3, 1e300, True, None, "", "x", "é😀", "5", "NaN", "12,345.678"),
    *("aGVsbG8=", "2024-02-29", "2024-02-29T10:11:12.123Z", "10:11", [], [1, None], ["x"], [[True]], {}, {"x": 1}),
    *([{"x": 1, "z": "q"}, None], {"x": 1, "in": {"p": "a", "q": 8}}, {"a": 1.5, "b": 2}),
)
NAMES = (*"ihydfcesbolmn", "id", "day", "at", "clock", "ls", "ll", "other")
AVRO_SCHEMA = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": ["null", "string"]},
        {"name": "tags", "type": {"type": "array", "items": "bytes"}},
        {"name": "amounts", "type": {"type": "map", "values": "double"}},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ],
}
PROTO = """syntax = "proto3";
package fuzz;
message Order {
  int64 id = 1;
  string name = 2;
  repeated sint32 counts = 3;
  map<string, double> amounts = 4;
  message Item { string sku = 1; fixed32 quantity = 2; bytes raw = 3; }
  repeated Item items = 5;
  enum Kind { A = 0; B = 1; }
  Kind kind = 6;
  optional bool flag = 7;
}
"""
ASAN_OPTIONS = "handle_segv=0:detect_leaks=0:allocator_may_return_null=1:halt_on_error=1:abort_on_error=0:exitcode=77"


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def _zigzag(number: int) -> bytes:
    return _varint(number << 1 if number >= 0 else (-number << 1) - 1)


def _sized(data: bytes) -> bytes:
    return _zigzag(len(data)) + data


def avro_value(rng: random.Random) -> bytes:
    """A datum of AVRO_SCHEMA."""
    name = _zigzag(0) if rng.random() < 0.3 else _zigzag(1) + _sized("né".encode() * rng.randrange(9))
    tags = [rng.randbytes(rng.randrange(9)) for _ in range(rng.randrange(4))]
    blocks = (_zigzag(len(tags)) + b"".join(map(_sized, tags)) if tags else b"") + _zigzag(0)
    amounts = _zigzag(1) + _sized(b"key") + rng.randbytes(8) + _zigzag(0)
    price = _sized(rng.randbytes(rng.randrange(1, 5)))
    at = _zigzag(START_TIME_MS)
    return _zigzag(rng.randrange(1 << 40)) + name + blocks + amounts + _zigzag(rng.randrange(2)) + price + at


def protobuf_value(rng: random.Random) -> bytes:
    """A message of PROTO."""

    def field(number: int, data: bytes) -> bytes:
        return _varint(number << 3 | 2) + _varint(len(data)) + data

    item = field(1, b"sku") + _varint(2 << 3 | 5) + rng.randbytes(4) + field(3, rng.randbytes(rng.randrange(20)))
    amount = field(1, b"key") + _varint(2 << 3 | 1) + rng.randbytes(8)
    parts = [
        _varint(1 << 3) + _varint(rng.randrange(1 << 60)),
        field(2, "né".encode() * rng.randrange(9)),
        field(3, b"".join(_varint(rng.randrange(1 << 20)) for _ in range(rng.randrange(5)))),
        field(4, amount),
        field(5, item),
        field(5, item),
        _varint(6 << 3) + _varint(rng.randrange(3)),
        _varint(7 << 3) + _varint(1),
    ]
    return b"".join(part for part in parts if rng.random() < 0.8)


def json_value(rng: random.Random) -> bytes:
    """Any fields of `Formats.JSON_SCHEMA` with any scalars; at times what is nested deep."""
    if rng.random() < 0.03:
        return b'{"%b":' % rng.choice(NAMES).encode() + rng.choice([b"[", b'{"x":']) * rng.choice([900, 5000])
    return json.dumps({name: rng.choice(SCALARS) for name in rng.sample(NAMES, rng.randrange(9))}).encode()


def csv_value(rng: random.Random) -> bytes:
    words = ("1", "-5", "x", '"x,y"', '"a""b"', "2.5", "1e2", "2024-02-29", "2024-02-29T10:11:12Z", "true", "", "é")
    return ",".join(rng.choice(words) for _ in range(rng.randrange(5, 9))).encode()


VALUES_OF = {"json": json_value, "csv": csv_value, "avro": avro_value, "protobuf": protobuf_value}


def send(bootstrap: str, records: Iterable[tuple[str, int, Any]], codec: str, transactions: int = 0) -> None:
    """Records (topic, partition, sample) in small batches; with transactions, every other one of them is aborted."""
    settings: dict[str, Any] = {"bootstrap.servers": bootstrap, "compression.type": codec, "batch.size": 2000}
    if transactions:
        settings["transactional.id"] = f"fuzz-{codec}"
    producer = Producer(settings)
    left = list(records)
    size = -(-len(left) // max(1, transactions))
    if transactions:
        producer.init_transactions()
    for number, start in enumerate(range(0, len(left), size)):
        if transactions:
            producer.begin_transaction()
        for topic, partition, one in left[start : start + size]:
            producer.produce(topic, one.value, one.key, partition, timestamp=one.timestamp, headers=list(one.headers))
        assert producer.flush(FLUSH_LIMIT_S) == 0
        if transactions:
            (producer.abort_transaction if number % 2 else producer.commit_transaction)()


def write(broker: BrokerProcess) -> None:
    """The topics of `Reads.TOPICS`."""
    rng = random.Random(11)
    for topic in ("codecs", "transactions", "sink", "empty", *VALUES_OF):
        create_topic(broker.bootstrap, topic, 2 if topic in ("codecs", "transactions", "sink") else 1, SMALL_SEGMENTS)
    for codec in CODECS:
        send(broker.bootstrap, (("codecs", n % 2, one) for n, one in enumerate(samples(60))), codec)
        send(broker.bootstrap, (("transactions", n % 2, one) for n, one in enumerate(samples(40))), codec, 4)
    for topic, value in VALUES_OF.items():
        made = (type("Sample", (), {**vars(one), "value": value(rng)}) for one in samples(VALUES))
        send(broker.bootstrap, ((topic, 0, one) for one in made), rng.choice(CODECS))


@dataclass(frozen=True)
class Prepared:
    """A folder as `JniFuzz` wants it, and the broker that has the same topics."""

    folder: Path
    bootstrap: str


@contextmanager
def prepared(folder: Path) -> Iterator[Prepared]:
    """Topics that a broker has written, copied to `logs`; the broker runs on. Topic `old` has Kafka's old formats."""
    with KafkastoreBroker(folder / "broker").running() as broker:
        write(broker)
        assert broker.stop() == 0
        shutil.copytree(broker.log_dir, folder / "logs", ignore=shutil.ignore_patterns("__*", "*.lock", ".lock"))
        for number, path in enumerate(sorted(LEGACY.glob("*-0"))):
            shutil.copytree(path, folder / "logs" / f"old-{number}")
        (folder / "schema.avsc").write_text(json.dumps(AVRO_SCHEMA))
        (folder / "schema.proto").write_text(PROTO)
        broker.start()
        yield Prepared(folder, broker.bootstrap)


def compiled(folder: Path, jar: Path) -> str:
    """The class path of the program, compiled into `folder`."""
    spark_jars = f"{Path(pyspark.__file__).parent}/jars/*"
    command = ["javac", "-nowarn", "-proc:none", "-d", str(folder / "classes"), "-cp", f"{jar}:{spark_jars}"]
    subprocess.run([*command, *map(str, sorted(HERE.glob("*.java")))], check=True)
    return f"{folder / 'classes'}:{LOGGING}:{jar}:{spark_jars}"


def run(
    place: Prepared, classes: str, arguments: Mapping[str, object], env: Mapping[str, str], limit_s: float
) -> subprocess.CompletedProcess[str]:
    """The program to its end. What it was doing when the JVM died is added to its output."""
    opens = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in ("java.nio", "java.lang", "sun.nio.ch")]
    command = ["java", "-Xmx600m", "-ea", "-Xcheck:jni", *QUICK_JVM.split(), "-XX:-CreateCoredumpOnCrash", *opens]
    command += ["-cp", classes, "io.kafkastore.spark.JniFuzz", f"folder={place.folder}", f"bootstrap={place.bootstrap}"]
    notes = place.folder / "notes"
    notes.unlink(missing_ok=True)
    command += [f"{name}={value}" for name, value in arguments.items()]
    done = subprocess.run(
        command,
        cwd=place.folder,
        env={**os.environ, **environment(), **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=limit_s,
        check=False,
    )
    if notes.exists():
        done.stdout += f"\nthe JVM died; its threads ran:\n{notes.read_text().replace(chr(0), '')}"
        notes.unlink()
    for crash in place.folder.glob("hs_err_pid*.log"):
        done.stdout += crash.read_text(errors="replace")[:6000]
    return done


def is_clean(done: subprocess.CompletedProcess[str]) -> bool:
    """Whether there was no finding. A panic is one, also in a thread that Java does not see, and so is a warning of the
    JVM's own checks of JNI calls."""
    return done.returncode == 0 and not any(sign in done.stdout for sign in ("panicked at", "in native method"))


def with_library(folder: Path, jar: Path, library: Path) -> Path:
    """The jar with another library."""
    made = folder / "fuzz.jar"
    with zipfile.ZipFile(jar) as old, zipfile.ZipFile(made, "w") as new:
        for entry in old.infolist():
            new.writestr(entry, library.read_bytes() if entry.filename.endswith(".so") else old.read(entry))
    return made


def sanitizer(folder: Path) -> tuple[Path, dict[str, str]]:
    """The probe, and the environment in which a JVM runs with AddressSanitizer."""
    java = Path(shutil.which("javac") or "javac").resolve().parents[1] / "include"
    probe = folder / "probe.so"
    flags = ["-shared", "-fPIC", f"-I{java}", f"-I{java / 'linux'}", "-fsanitize=address"]
    subprocess.run(["gcc", *flags, "-o", str(probe), str(HERE / "probe.c")], check=True)
    asan = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    return probe, {"LD_PRELOAD": str(Path(asan.stdout.strip()).resolve()), "ASAN_OPTIONS": ASAN_OPTIONS}


def with_lines(text: str, library: Path) -> str:
    """The sanitizer's report with functions and lines, from `library`: the copy that the JVM has loaded is deleted."""

    def line_of(found: re.Match[str]) -> str:
        command = ["addr2line", "-Cfpe", str(library), found[1]]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    return re.sub(r"\(/\S*/kafkastore-\d+\.so\+(0x[0-9a-f]+)\)", line_of, text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--jar", type=Path, default=JAR)
    parser.add_argument("--library", type=Path, help="one with AddressSanitizer, in place of the jar's")
    parser.add_argument("--leaks", type=int, default=1000)
    parser.add_argument("more", nargs="*", help="name=value for JniFuzz: only=damaged,write first=17 cases=1")
    asked = parser.parse_args()
    sys.stdout.write(f"seed {asked.seed}\n")
    sys.stdout.flush()
    more = dict(one.split("=", 1) for one in asked.more)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        arguments = {"seed": asked.seed, "seconds": asked.seconds, "leaks": asked.leaks, **more}
        env: dict[str, str] = {}
        jar = asked.jar.resolve()
        if asked.library:
            jar = with_library(folder, jar, asked.library)
            arguments["probe"], env = sanitizer(folder)
        classes = compiled(folder, jar)
        with prepared(folder) as place:
            done = run(place, classes, arguments, env, asked.seconds * 2 + 600)
        if asked.library:
            done.stdout = with_lines(done.stdout, asked.library)
    sys.stdout.write(f"{done.stdout}\nexit code {done.returncode}\n")
    return 0 if is_clean(done) else 1


if __name__ == "__main__":
    sys.exit(main())
