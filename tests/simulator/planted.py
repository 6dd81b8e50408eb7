"""The bugs that the simulator must find, and how each is planted.

Three are in the data plane, behind the feature ``simulator`` (``rust/broker/planted.rs``); the fourth takes the checks of versions out
of the controller, in this process only. Nothing of this is reachable from a configuration.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from kafkastore._core import plant as plant_in_data_plane
from kafkastore.controller import alter_partition, state_writer
from kafkastore.metadata.store import ANY_VERSION, SetData

if TYPE_CHECKING:
    from collections.abc import Callable


def _isr_without_version() -> None:
    """A proposal is written whatever partition epoch it was made for, over whatever stands there (KAFKA-2729's other side)."""
    judge, operations = alter_partition._judge, state_writer._operations

    def judge_any_version(term: Any, partition: Any, sender: int, asked: Any) -> int | None:
        state = partition.leadership
        if state is not None and asked.leader_epoch == state.leader_epoch:
            asked = _with_partition_epoch(asked, state.partition_epoch)
        return judge(term, partition, sender, asked)

    def any_version(*arguments: Any) -> list[Any]:
        planned = operations(*arguments)
        return [one._replace(version=ANY_VERSION) if isinstance(one, SetData) else one for one in planned]

    alter_partition._judge = judge_any_version
    state_writer._operations = any_version


def _with_partition_epoch(asked: Any, partition_epoch: int) -> Any:
    if dataclasses.is_dataclass(asked):
        return dataclasses.replace(asked, partition_epoch=partition_epoch)
    return asked._replace(partition_epoch=partition_epoch)


BUGS: dict[str, Callable[[], None]] = {
    "truncate-to-hw": lambda: plant_in_data_plane("truncate-to-hw"),
    "no-min-isr-gate": lambda: plant_in_data_plane("no-min-isr-gate"),
    "fetch-without-epoch": lambda: plant_in_data_plane("fetch-without-epoch"),
    "isr-without-version": _isr_without_version,
}
