"""How long the next record of a group has waited for it: the age of the first record that is not consumed yet.

The record's time is found with ListOffsets alone, for all partitions at once, by halving: the first record that is as
young as a time is before the group's offset, at it, or behind it. Where it is at the offset, its time is known exactly.
Otherwise the youngest time up to the offset is taken, to :data:`PRECISION_MS`: the same while times do not go back in a
partition; where they do, the record may have waited for longer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kafkastore.admin.admin_client import KafkaError
from kafkastore.admin.offsets import UNKNOWN_OFFSET, list_offsets

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kafkastore.admin.admin_client import AdminClient, Partition
    from kafkastore.admin.group_lag import PartitionLag

PRECISION_MS: Final = 250


class _Search(NamedTuple):
    """``offset``: the group's. At ``low_ms`` a record is known that is not behind it; as young as ``high_ms`` are
    only records behind it, from ``high`` on."""

    offset: int
    low: int
    low_ms: int
    high: int
    high_ms: int
    is_halved: bool = False

    @property
    def is_done(self) -> bool:
        return self.low == self.offset or self.high_ms - self.low_ms <= PRECISION_MS

    @property
    def probe_ms(self) -> int:
        """By turns the middle, and where the offset would be if records came evenly."""
        span = self.high_ms - self.low_ms
        even = span * (self.offset - self.low) // max(self.high - self.low, 1)
        return min(max(self.low_ms + (span // 2 if self.is_halved else even), self.low_ms + 1), self.high_ms - 1)

    def after(self, offset: int, time_ms: int) -> _Search:
        """``offset`` and ``time_ms``: of the first record that is as young as the probe."""
        if offset == UNKNOWN_OFFSET or offset > self.offset:
            high = self.high if offset == UNKNOWN_OFFSET else offset
            return self._replace(high=high, high_ms=self.probe_ms, is_halved=not self.is_halved)
        return self._replace(low=offset, low_ms=max(time_ms, self.probe_ms), is_halved=not self.is_halved)


async def waiting_since(client: AdminClient, rows: Iterable[PartitionLag], now_ms: int) -> dict[Partition, int]:
    """The time of the first record that is not consumed, in ms, of the partitions that have one and tell times."""
    behind = {row.partition: row for row in rows if row.lag is not None and row.lag > 0}
    found: dict[Partition, int] = {}
    searches: dict[Partition, _Search] = {}
    for key, (offset, time_ms) in (await _first_records(client, dict.fromkeys(behind, 0))).items():
        committed, log_end = behind[key].committed, behind[key].log_end
        if offset == UNKNOWN_OFFSET or committed is None or log_end is None:
            continue
        if offset >= committed.offset:
            found[key] = time_ms
        else:
            searches[key] = _Search(committed.offset, offset, time_ms, log_end, max(now_ms, time_ms) + 1)
    while searches:
        done = {key: one.low_ms for key, one in searches.items() if one.is_done}
        found |= done
        searches = {key: one for key, one in searches.items() if key not in done}
        probed = await _first_records(client, {key: one.probe_ms for key, one in searches.items()})
        searches = {key: one.after(*probed[key]) for key, one in searches.items() if key in probed}
    return found


async def _first_records(client: AdminClient, times: Mapping[Partition, int]) -> dict[Partition, tuple[int, int]]:
    listed = await list_offsets(client, times)
    return {key: (one.offset, one.timestamp) for key, one in listed.items() if not isinstance(one, KafkaError)}
