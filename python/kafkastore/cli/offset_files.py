"""Files of offsets, as ``kafka-consumer-groups --export`` prints them: a line ``topic,partition,offset`` for each
partition, or ``group,topic,partition,offset`` for several groups."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from kafkastore.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Collection

    from kafkastore.admin.admin_client import Partition

CELLS_OF_ONE = 3


def read_offsets(path: str, groups: Collection[str]) -> dict[str, dict[Partition, int]]:
    """The offsets by group; lines without one are of the group, if one is meant. Raises OSError, ConfigError."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            rows = [row for row in csv.reader(file) if row]
    except (UnicodeDecodeError, csv.Error):
        raise ConfigError(f"{path} is no CSV") from None
    found: dict[str, dict[Partition, int]] = {}
    is_of_one = len(groups) == 1 and bool(rows) and len(rows[0]) == CELLS_OF_ONE
    for row in rows:
        cells = [next(iter(groups)), *row] if is_of_one else row
        try:
            group, topic, number, offset = (cell.strip() for cell in cells)
            found.setdefault(group, {})[topic, int(number)] = int(offset)
        except ValueError:
            form = "topic,partition,offset" if is_of_one else "group,topic,partition,offset"
            raise ConfigError(f"{path}: the line {','.join(row)} is not {form}") from None
    return found
