"""Reads a share as Arrow batches, on the worker that runs the task: in one thread, one split after the other.

Memory is bounded by a batch. Planned offsets that are gone are an error or a warning, as ``failOnDataLoss`` says. At
its end the share finishes its part in the lease on links.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

from kafkastore import _core
from kafkastore.spark.planning import loss_sentence

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

    from kafkastore.spark.planning import Share

SECURITY = ("kafka.security.protocol", "kafka.ssl.", "kafka.sasl.")
"""Options that no share has, since shares are parts of plans, which are shown."""
BATCH_ROWS = 65_536
BATCH_BYTES = 8 << 20
"""The bytes of keys, values and headers in a batch: larger batches only take more of the JVM's memory."""

_LOG = logging.getLogger("kafkastore.spark")


def read_share(
    share: Share, columns: Sequence[str], limits: Mapping[str, Any], options: Mapping[str, str] | None = None
) -> Iterator[pa.RecordBatch]:
    """The records of a share that are within ``limits`` (``rust/planner/requests.rs``). Of ``options`` those count that
    say how connections to brokers are protected.

    Raises ScanError for unreadable files, DataLossError when records are gone and the share's ``failOnDataLoss`` is
    true.
    """
    import pyarrow as pa

    request = {**json.loads(share.how), "splits": share.splits, "columns": list(columns)}
    request |= {"batchRows": BATCH_ROWS, "batchBytes": BATCH_BYTES, "scan": limits}
    request["kafka"] = {name: value for name, value in (options or {}).items() if name.lower().startswith(SECURITY)}
    scan = _core.Scan.open(json.dumps(request))
    try:
        yield from pa.RecordBatchReader.from_stream(scan)
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
        _core.finish_lease(share.lease)


def _explained(failure: Exception) -> Exception:
    """The error to raise for ``failure``; for a data loss it says what to do, in the words of Spark's Kafka source."""
    if not isinstance(failure, _core.DataLossError):
        return failure if isinstance(failure, _core.ScanError) else _core.ScanError(str(failure))
    return _core.DataLossError(
        f"{failure}; some data may have been lost, removed by retention or with its topic after the query was planned"
        ' (set the option "linkDir" to keep what is planned readable, or "failOnDataLoss" to "false" to go on without'
        " it)"
    )
