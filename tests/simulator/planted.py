"""The bugs that the simulator must find, and how each is planted.

Eight are in the data plane, behind the feature ``testing`` (``rust/broker/planted.rs``,
``rust/storage/cleaner/planted.rs`` and ``rust/simulator/late_offset_commit.rs``); the others take something out of the
control plane, in this process only. Nothing of this is reachable from a configuration.
"""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from kafkastore._simulator import plant as plant_in_data_plane

from kafkastore.controller import alter_partition, leader_election, state_writer, topic_deletion
from kafkastore.controller.states import ReplicaState
from kafkastore.metadata.store import ANY_VERSION, SetData
from kafkastore.replica.assigned import AssignedReplicas
from simulator.node import SimulatedEngine

if TYPE_CHECKING:
    from collections.abc import Callable


def _isr_without_version() -> None:
    """A proposal is written whatever partition epoch it was made for, over whatever stands there (KAFKA-2729's other
    side)."""
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


def _move_before_in_sync() -> None:
    """A reassignment is complete as soon as it was asked for: old replicas are deleted before the new ones are in
    sync."""

    def complete(state: Any, targets: Any, usable: Any) -> Any:
        able = [state.leader, *targets]
        leader = next((one for one in able if one in targets and one in usable), None)
        if leader is None:
            return None
        isr = tuple(one for one in targets if one in state.isr) or (leader,)
        return leader_election._led_by(state, leader)._replace(isr=isr, elr=())

    leader_election.complete_reassignment = complete


def _delete_without_id() -> None:
    """A deletion waits for no broker that is away, and one that is back does not ask whose logs it has (before
    KIP-516)."""

    def is_deleted(topic: Any) -> bool:
        over = (ReplicaState.DELETION_SUCCESSFUL, ReplicaState.DELETION_INELIGIBLE)
        return all(state in over for partition in topic.partitions for state in partition.replica_states.values())

    def logs(engine: Any) -> list[Any]:
        names = ("topic", "partition", "log_dir", "log_start_offset", "log_end_offset")
        logs = engine.real.logs()
        return [SimpleNamespace(topic_id=None, **{name: getattr(log, name) for name in names}) for log in logs]

    topic_deletion._is_deleted = is_deleted
    SimulatedEngine.logs = logs  # type: ignore[attr-defined]


# ---- fences of late requests, one taken away by each
def _late_leader_and_isr() -> None:
    """A LeaderAndIsr is taken whatever leader epoch and partition epoch it tells, also one that later ones have
    overtaken."""
    accept = AssignedReplicas._accept

    def accept_any(self: Any, told: Any, configs: Any, errors: Any) -> Any:
        known = self.held.topic(told.name)
        if known is not None and known.topic_id == told.topic_id:
            for number in told.states.keys() & set(range(len(known.partitions))):
                known.partitions[number] = known.partitions[number]._replace(leader_epoch=-1, partition_epoch=-1)
        return accept(self, told, configs, errors)

    AssignedReplicas._accept = accept_any  # type: ignore[method-assign]
    _take_overtaken_requests()


def _late_stop_replica() -> None:
    """A StopReplica is obeyed whatever leader epoch it names, also when a later LeaderAndIsr has given the replica
    back."""
    AssignedReplicas._late_stop = lambda *_: 0  # type: ignore[method-assign]
    _take_overtaken_requests()


def _order_for_an_earlier_life() -> None:
    """An order of the controller is obeyed whatever broker epoch it is for: also one for the life before, which had
    other logs."""
    refusal = AssignedReplicas._refusal

    def refuse_no_life(self: Any, controller_epoch: int, _: int, number: int) -> int:
        return refusal(self, controller_epoch, -1, number)

    AssignedReplicas._refusal = refuse_no_life  # type: ignore[method-assign]
    _take_overtaken_requests()


def _take_overtaken_requests() -> None:
    """The number of a request is a second fence around all of these."""
    AssignedReplicas._is_overtaken = lambda *_: False  # type: ignore[method-assign]


BUGS: dict[str, Callable[[], None]] = {
    "truncate-to-hw": lambda: plant_in_data_plane("truncate-to-hw"),
    "no-min-isr-gate": lambda: plant_in_data_plane("no-min-isr-gate"),
    "fetch-without-epoch": lambda: plant_in_data_plane("fetch-without-epoch"),
    "lost-wake-up": lambda: plant_in_data_plane("lost-wake-up"),
    "late-produce": lambda: plant_in_data_plane("late-produce"),
    "late-offset-commit": lambda: plant_in_data_plane("late-offset-commit"),
    "marker-in-newer-epoch": lambda: plant_in_data_plane("marker-in-newer-epoch"),
    "delete-horizon-ignored": lambda: plant_in_data_plane("delete-horizon-ignored"),
    "isr-without-version": _isr_without_version,
    "move-before-in-sync": _move_before_in_sync,
    "delete-without-id": _delete_without_id,
    "late-leader-and-isr": _late_leader_and_isr,
    "late-stop-replica": _late_stop_replica,
    "order-for-an-earlier-life": _order_for_an_earlier_life,
}
