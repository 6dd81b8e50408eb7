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
    found: dict[str, dict[Partition, int]] = {}
    is_of_one: bool | None = None
    try:
        with open(path, encoding="utf-8", newline="") as file:
            for row in filter(None, csv.reader(file)):
                if is_of_one is None:
                    is_of_one = len(groups) == 1 and len(row) == CELLS_OF_ONE
                group, partition, offset = _line(path, row, next(iter(groups)) if is_of_one else None)
                found.setdefault(group, {})[partition] = offset
    except (UnicodeDecodeError, csv.Error):
        raise ConfigError(f"{path} is no CSV") from None
    return found


def _line(path: str, row: list[str], group: str | None) -> tuple[str, Partition, int]:
    """Raises ConfigError."""
    try:
        group_id, topic, number, offset = (cell.strip() for cell in (row if group is None else [group, *row]))
        return group_id, (topic, int(number)), int(offset)
    except ValueError:
        form = "group,topic,partition,offset" if group is None else "topic,partition,offset"
        raise ConfigError(f"{path}: the line {','.join(row)} is not {form}") from None
