"""A scan as a pandas data frame, with types that say what Kafka's are. Needs pandas and pyarrow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pandas import DataFrame

    from kafkastore.scanning.scan import Scan


def data_frame(scan: Scan) -> DataFrame:
    """See :meth:`Scan.to_pandas`. Gives the memory of Arrow's columns back one by one as they are converted."""
    table = pa.table(scan)
    names = [name for name in ("topic",) if name in table.column_names]
    headers = table.column("headers").to_pylist() if "headers" in table.column_names else None
    if headers is not None:
        table = table.set_column(table.column_names.index("headers"), "headers", pa.nulls(table.num_rows))
    frame = table.to_pandas(categories=names, split_blocks=True, self_destruct=True)
    if headers is not None:
        frame["headers"] = [None if one is None else [(item["key"], item["value"]) for item in one] for one in headers]
    return frame
