"""Reads a share as Arrow batches, on the worker that runs the task: in one thread, one split after the other.

Memory is bounded by a batch. Planned offsets that are gone are an error or a warning, as ``failOnDataLoss`` says. At
its end the share finishes its part in the lease on links.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kafkastore import _core
from kafkastore.spark.filters import MAX, MIN, Wanted
from kafkastore.spark.planning import loss_sentence

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from kafkastore.spark.planning import Share

BATCH_ROWS = 65_536
BATCH_BYTES = 8 << 20
"""The bytes of keys, values and headers in a batch: larger batches only take more of the JVM's memory."""

_LOG = logging.getLogger("kafkastore.spark")


def read_share(
    share: Share, columns: Sequence[str], wanted: Wanted | None = None, schema: pa.Schema | None = None
) -> Iterator[pa.RecordBatch]:
    """The records of a share. ``schema`` gives the batches other names and nullability for the same types.

    Raises ScanError for unreadable files, DataLossError when records are gone and the share's ``failOnDataLoss`` is
    true.
    """
    import pyarrow as pa

    wanted = wanted or Wanted()
    times = wanted.timestamps_ms
    scan = _core.Scan(
        [_core.Split.decode(text) for text in share.splits],
        columns,
        min_timestamp_ms=None if times.low == MIN else times.low,
        end_timestamp_ms=None if times.high == MAX else times.high,
        keys=None if wanted.keys is None else list(wanted.keys),
        check_crcs=share.check_crcs,
        threads=1,
        batch_rows=BATCH_ROWS,
        batch_bytes=BATCH_BYTES,
        fail_on_data_loss=share.fail_on_data_loss,
    )
    try:
        for batch in pa.RecordBatchReader.from_stream(scan):
            yield batch if schema is None else pa.RecordBatch.from_arrays(batch.columns, schema=schema)
    except GeneratorExit:  # the consumer needs no more batches
        _finish(share, scan)
        raise
    except (OSError, pa.ArrowException) as error:
        raise _explained(scan.failure or error) from None
    _finish(share, scan)


def _finish(share: Share, scan: _core.Scan) -> None:
    for topic, partition, start, end in scan.lost:
        _LOG.warning("%s", loss_sentence(topic, partition, start, end))
    if share.lease is not None:
        share.lease.finish()


def _explained(failure: Exception) -> Exception:
    """The error to raise for ``failure``; for a data loss it says what to do, in the words of Spark's Kafka source."""
    if not isinstance(failure, _core.DataLossError):
        return failure if isinstance(failure, _core.ScanError) else _core.ScanError(str(failure))
    return _core.DataLossError(
        f"{failure}; some data may have been lost, removed by retention or with its topic after the query was planned"
        ' (set the option "linkDir" to keep what is planned readable, or "failOnDataLoss" to "false" to go on without'
        " it)"
    )
