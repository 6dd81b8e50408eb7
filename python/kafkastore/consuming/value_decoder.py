"""Values of records as what they mean: Avro, Protocol Buffers, JSON or CSV with a schema, parsed by the same code as
those of scans and of Spark's source.

That code reads segments, so that the values of a poll become one, in memory.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Final

from kafkastore import _core
from kafkastore.errors import ConfigError, KafkastoreError
from kafkastore.system import MemoryFile

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LAST_OFFSET: Final = (1 << 63) - 1
IS_MALFORMED: Final = "is malformed: "
SET_MODE: Final = "; set mode to"
"""What stands before and behind the reason in a sentence of ``_core``."""


class DecodeError(KafkastoreError):
    """A value that is not what it should be: one sentence."""


class ValueDecoder:
    """See the module. Its creator closes it."""

    def __init__(self, topic: str, options: Mapping[str, str]) -> None:
        """``options`` are those of ``format("kafkastore")``: valueFormat, valueSchema, valueSchemaFile, messageName,
        schemaRegistryUrl and more. Raises ConfigError for what does not fit together, and when a schema cannot be
        had."""
        try:
            import pyarrow as pa
        except ImportError:
            raise ConfigError(
                "values are decoded with pyarrow, which is not installed; pip install 'kafkastore[arrow]'"
            ) from None
        self._arrow = pa
        try:
            self._spec = _core.value_spec({"subscribe": topic, "mode": "FAILFAST", **options})
        except (ValueError, ConnectionError) as error:
            raise ConfigError(str(error)) from None
        self._file = MemoryFile("values")

    def close(self) -> None:
        self._file.close()

    def decode(self, values: Sequence[bytes | None]) -> list[dict[str, Any] | DecodeError | None]:
        """What each value says, null for a tombstone; why it cannot be read, for one that is malformed."""
        try:
            return list(self._decoded(values))
        except (ValueError, OSError, self._arrow.ArrowException, _core.ScanError) as error:
            if len(values) == 1:
                return [DecodeError(_sentence(error))]
        return [self.decode([value])[0] for value in values]

    def _decoded(self, values: Sequence[bytes | None]) -> list[dict[str, Any] | None]:
        batch = _core.build_batch([(None, value) for value in values], 0)
        os.ftruncate(self._file.descriptor, 0)
        os.pwrite(self._file.descriptor, batch, 0)
        piece = {
            "path": self._file.path,
            "link": None,
            "base_offset": 0,
            "next_base_offset": LAST_OFFSET,
            "start": 0,
            "end": len(batch),
        }
        place = {"topic": "values", "partition": 0, "start_offset": 0, "end_offset": len(values)}
        split = _core.Split.decode(json.dumps({**place, "slices": [piece], "aborted": None}))
        scan = _core.Scan([split], ("value",), values=self._spec)
        found: list[dict[str, Any] | None] = []
        for one in self._arrow.RecordBatchReader.from_stream(scan):
            found += one.column(0).to_pylist()
        return found


def _sentence(error: Exception) -> str:
    """What is wrong with the value, without its place in the segment that was made of it."""
    text = str(error).replace("\n", " ").partition(IS_MALFORMED)[2] or str(error)
    return text.partition(SET_MODE)[0]
