"""``kafkastore load``: Parquet files become segments of a topic (docs/bulk-load.md).

This file reads the command line and the files; ``loading/load.py`` does the rest. An error is one sentence on stderr.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from kafkastore.cli.cluster_options import cluster_options
from kafkastore.cli.option_types import Seconds
from kafkastore.cli.outcome import FailedError
from kafkastore.cli.scan_sentences import error_sentence, option_names
from kafkastore.loading.codecs import CODECS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kafkastore.cli.cluster_options import ClusterSettings
    from kafkastore.loading.load import LoadResult

ROWS_AT_ONCE = 65_536


class LoadOptions(NamedTuple):
    """The command line."""

    cluster: ClusterSettings
    topic: str
    files: tuple[Path, ...]
    compression: str | None
    compression_level: int | None
    load_id: str | None
    timeout: float
    is_json: bool


@click.command("load")
@cluster_options
@click.argument("topic")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--compression", type=click.Choice(CODECS), help="[default: the topic's compression.type, or none]")
@click.option("--compression-level", metavar="N", type=int)
@click.option(
    "--load-id",
    metavar="NAME",
    help="A name for this load: after a failure the same command with the same files completes it, and appends nothing "
    "twice.",
)
@click.option(
    "--timeout",
    metavar="SECONDS",
    type=Seconds(),
    default=300.0,
    show_default=True,
    help="How long a broker may take to confirm.",
)
@click.option("--json", "is_json", is_flag=True, help="Print the result as JSON.")
def command(cluster: ClusterSettings, **given: Any) -> int:
    """Append Parquet files to a topic as segments that are built here: for backfills.

    The rows become segments in the log directories of the partitions' leaders, which the brokers adopt. It runs on the
    machine, and as the user, of these brokers. Columns: value, and as there are key, timestamp, headers and partition;
    Kafka's partitioner chooses without it.

    Exit status: 0, 1 when the load fails, 2 for a wrong command line.
    """
    return _run(LoadOptions(cluster, **given))


def _run(options: LoadOptions) -> int:
    from kafkastore.errors import ConfigError
    from kafkastore.loading.load import LoadBuildError, LoadError, load

    for path in options.files:
        if not path.is_file():
            raise FailedError(f"{path} is no file; give Parquet files")
    try:
        import pyarrow.parquet  # noqa: F401 - to say what is missing before anything is asked
    except ImportError:
        raise FailedError("Parquet files need pyarrow: pip install pyarrow") from None
    begun = time.monotonic()
    try:
        result = load(
            options.topic,
            _streams(options.files),
            bootstrap_servers=options.cluster.bootstrap_servers,
            compression=options.compression,
            compression_level=options.compression_level,
            load_id=options.load_id,
            timeout_s=options.timeout,
            command_config=options.cluster.properties,
        )
    except (ConfigError, LoadError) as error:
        raise FailedError(option_names(error.client_message)) from None
    except (LoadBuildError, OSError, ValueError) as error:
        raise FailedError(error_sentence(error)) from None
    _print(options, result, time.monotonic() - begun)
    return 0


def _streams(files: Sequence[Path]) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    for path in files:
        try:
            file = pq.ParquetFile(path)
        except (OSError, pa.ArrowInvalid) as error:
            raise ValueError(f"{path} cannot be read as Parquet ({error})") from None
        yield pa.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches(ROWS_AT_ONCE))


def _print(options: LoadOptions, result: LoadResult, seconds: float) -> None:
    if options.is_json:
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
