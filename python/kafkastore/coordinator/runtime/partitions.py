"""The partitions of an internal topic that this broker coordinates.

Place: ``elections`` changes it; requests call ``check``. Each election and each resignation of a partition has a
number: work on a partition that began under an earlier number is late and changes nothing. Invariant: a partition is
ACTIVE only after the load that its latest election began has ended.
"""

from __future__ import annotations

from typing import Final

from kafkastore.errors import ErrorCode

LOADING: Final = 1
ACTIVE: Final = 2


class Partitions:
    """See the module. Runs on the loop."""

    __slots__ = ("_numbers", "is_running", "states", "topic")

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.is_running = False
        """False before the coordinator's start and after its end."""
        self.states: dict[int, int] = {}
        """LOADING or ACTIVE, by partition; a partition that is absent is not coordinated by this broker."""
        self._numbers: dict[int, int] = {}

    def check(self, partition: int) -> int:
        """Returns NONE when requests for keys of the partition are served here, else the error code for them."""
        if not self.is_running:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        state = self.states.get(partition)
        if state is None:
            return ErrorCode.NOT_COORDINATOR
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if state == LOADING else ErrorCode.NONE

    def is_active(self, partition: int) -> bool:
        return self.states.get(partition) == ACTIVE

    @property
    def is_loading(self) -> bool:
        """Whether any partition is loading."""
        return LOADING in self.states.values()

    def begin(self, partition: int) -> int:
        """Notes that this broker was elected and the partition loads. Returns the number of the election."""
        self.states[partition] = LOADING
        return self._next_number(partition)

    def is_late(self, partition: int, number: int) -> bool:
        """Whether the partition was elected anew, or given up, since the election of this number."""
        return self._numbers.get(partition) != number

    def activate(self, partition: int, number: int) -> bool:
        """Makes the partition ACTIVE after its load. Returns False, and changes nothing, when the load is late."""
        if self.is_late(partition, number):
            return False
        self.states[partition] = ACTIVE
        return True

    def give_up(self, partition: int) -> None:
        """Drops the partition, which this broker no longer coordinates."""
        self.states.pop(partition, None)
        self._next_number(partition)

    def _next_number(self, partition: int) -> int:
        number = self._numbers[partition] = self._numbers.get(partition, 0) + 1
        return number
