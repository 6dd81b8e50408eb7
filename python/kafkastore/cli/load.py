"""``kafkastore load``: Parquet files become segments of a topic (docs/bulk-load.md).

This file reads the command line and the files; ``loading/load.py`` does the rest. An error is one sentence on stderr.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafkastore.cli.arguments import Parser
from kafkastore.cli.scan_sentences import error_sentence, option_names

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from kafkastore.loading.load import LoadResult

USAGE = """\
usage: kafkastore load TOPIC FILE... [options]

Appends the rows of Parquet files to a topic, as segments that are built in the log directories of the partitions'
leaders and adopted by the brokers: for backfills. It runs on the machine, and as the user, of these brokers.
Columns: value, and as there are key, timestamp, headers and partition; Kafka's partitioner chooses without it.

options:
  --bootstrap-server HOST:PORT,...   localhost:9092 without
  --command-config FILE              a client.properties with security.protocol, sasl.* and ssl.*
  --compression none|gzip|snappy|lz4|zstd
                                     the topic's compression.type without, or none
  --compression-level N
  --load-id NAME                     a name for this load: after a failure the same command with the same files
                                     completes it, and appends nothing twice
  --timeout SECONDS                  how long a broker may take to confirm (300)
  --json                             print the result as JSON
  -h, --help                         show this text

The exit status is 0, 1 when the load fails, 2 for a wrong command line.
"""

ROWS_AT_ONCE = 65_536


def main(arguments: list[str]) -> int:
    """Runs the command; returns the exit status. Raises UsageError."""
    return _run(parse_arguments(arguments))


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    """Parses the command line. Raises UsageError with one sentence."""
    from kafkastore.loading.steps import CODECS

    parser = Parser("load")
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument("files", metavar="FILE", type=Path, nargs="+")
    parser.add_argument("--bootstrap-server", default="localhost:9092")
    parser.add_argument("--command-config")
    parser.add_argument("--compression", choices=CODECS)
    parser.add_argument("--compression-level", type=int)
    parser.add_argument("--load-id")
    parser.add_argument("--timeout", type=float, default=300.0)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(arguments)


def _run(options: argparse.Namespace) -> int:
    from kafkastore.errors import ConfigError
    from kafkastore.loading.load import LoadBuildError, LoadError, load

    for path in options.files:
        if not path.is_file():
            return _failed(f"{path} is no file; give Parquet files")
    try:
        import pyarrow.parquet  # noqa: F401 - to say what is missing before anything is asked
    except ImportError:
        return _failed("Parquet files need pyarrow: pip install pyarrow")
    begun = time.monotonic()
    try:
        result = load(
            options.topic,
            _streams(options.files),
            bootstrap_servers=options.bootstrap_server,
            compression=options.compression,
            compression_level=options.compression_level,
            load_id=options.load_id,
            timeout_s=options.timeout,
            command_config=options.command_config,
        )
    except (ConfigError, LoadError) as error:
        return _failed(option_names(error.client_message))
    except (LoadBuildError, OSError, ValueError) as error:
        return _failed(error_sentence(error))
    _print(options, result, time.monotonic() - begun)
    return 0


def _failed(sentence: str) -> int:
    sys.stderr.write(f"kafkastore load: {sentence}\n")
    return 1


def _streams(files: Sequence[Path]) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    for path in files:
        try:
            file = pq.ParquetFile(path)
        except (OSError, pa.ArrowInvalid) as error:
            raise ValueError(f"{path} cannot be read as Parquet ({error})") from None
        yield pa.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches(ROWS_AT_ONCE))


def _print(options: argparse.Namespace, result: LoadResult, seconds: float) -> None:
    if options.json:
        partitions = {
            str(number): {"base_offset": one.base_offset, "last_offset": one.last_offset, "records": one.records}
            for number, one in result.partitions.items()
        }
        summary = {
            "topic": options.topic,
            "records": result.records,
            "bytes": result.bytes,
            "seconds": round(seconds, 3),
        }
        sys.stdout.write(json.dumps(summary | {"partitions": partitions}) + "\n")
        return
    for number, one in result.partitions.items():
        span = f"offsets {one.base_offset} to {one.last_offset}"
        sys.stdout.write(f"{options.topic}-{number}: {one.records} records, {span}\n")
    rate = result.bytes / 1e6 / max(seconds, 1e-9)
    sys.stdout.write(f"{result.records} records, {result.bytes} bytes in {seconds:.1f} s ({rate:.0f} MB/s)\n")
