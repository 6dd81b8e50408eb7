"""The table of scenarios: the stores that each runs on, how often it runs for a record, and its topic. Nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cluster.faults import coordinator_faults as coordinator
from cluster.faults import disk_faults as disk
from cluster.faults import network_faults as network
from cluster.faults import power_faults as power
from cluster.faults import process_faults as process
from cluster.faults import reassignment_faults as moves
from cluster.faults import store_faults as store
from cluster.faults import transaction_faults as transactions

if TYPE_CHECKING:
    from cluster.faults.trial import Trial

BOTH = ("zookeeper", "sqlite")
ON_DISK = {"flush.messages": "1"}
"""A record is acknowledged when it is on the disk of every in-sync replica."""
SMALL_SEGMENTS = {"segment.ms": "1000"}

ALL_IN_SYNC = {"min.insync.replicas": "3", "file.delete.delay.ms": "1000"}
"""A record is acknowledged when all three replicas have it; deleted files are gone from the disk soon."""


def prepare_nothing(_: Trial) -> None:
    """Leaves the topic empty."""


@dataclass(frozen=True)
class Scenario:
    """``runs``: how often the scenario runs for a record. ``place`` gives the replicas of each partition by the trial's
    number; without it the cluster places the topic. ``prepare`` is called before clients use the topic."""

    name: str
    run: Callable[[Trial], None]
    runs: int
    config: Mapping[str, str] = field(default_factory=dict)
    stores: tuple[str, ...] = BOTH
    brokers: int = 3
    place: Callable[[int], Sequence[Sequence[int]]] | None = None
    prepare: Callable[[Trial], None] = prepare_nothing


def move_of_twenty(
    name: str, run: Callable[[Trial], None], place: Callable[[int], Sequence[Sequence[int]]] = moves.around
) -> Scenario:
    return Scenario(name, run, 5, ALL_IN_SYNC, brokers=moves.BROKERS, place=place, prepare=moves.delete_first_records)


def with_transactions(
    name: str,
    run: Callable[[Trial], None],
    runs: int,
    *,
    stores: tuple[str, ...] = BOTH,
    place: Callable[[int], Sequence[Sequence[int]]] | None = None,
    on_disk: bool = False,
) -> Scenario:
    """These scenarios run 100 times in all for a record. With ``on_disk`` also what coordinators acknowledge is."""
    prepare, config = (transactions.start_on_disk, ON_DISK) if on_disk else (transactions.start, {})
    return Scenario(f"transactions-{name}", run, runs, config, stores, place=place, prepare=prepare)


SCENARIOS = {
    one.name: one
    for one in (
        Scenario("leader-killed", process.leader_is_killed, 50),
        Scenario("all-killed", process.all_are_killed, 10),
        Scenario("leader-stopped", process.leader_is_stopped, 10),
        Scenario("leader-paused", process.leader_is_paused, 25),
        Scenario("leader-cut-off", network.leader_is_cut_off, 10, stores=("zookeeper",)),
        Scenario("leader-not-heard", network.leader_is_not_heard, 5, stores=("zookeeper",)),
        Scenario("leader-deaf", network.leader_is_deaf, 5, stores=("zookeeper",)),
        Scenario("leader-without-store", network.leader_loses_the_store, 5, stores=("zookeeper",)),
        Scenario("two-brokers-apart", network.brokers_lose_each_other, 5),
        Scenario("controller-apart", network.broker_loses_the_controller, 5),
        Scenario("power-of-one", power.one_loses_power, 25),
        Scenario("power-of-all", power.all_lose_power, 10, ON_DISK),
        Scenario("power-of-all-unsynced", power.all_lose_power_unsynced, 10),
        Scenario("last-standing", power.last_replica_standing, 10),
        Scenario("store-away", store.store_is_away, 5),
        Scenario("follower-behind", process.follower_behind_the_high_watermark, 10),
        Scenario("controller-paused", process.controller_is_paused, 5),
        Scenario("follower-leaves", process.follower_leaves_while_it_comes_in_sync, 10),
        Scenario("disk-full", disk.disk_is_full, 4),
        Scenario("sync-fails", disk.sync_fails, 4, ON_DISK),
        Scenario("follower-rots", disk.follower_rots, 4, SMALL_SEGMENTS),
        Scenario("leader-rots", disk.leader_rots, 4, SMALL_SEGMENTS),
        Scenario("coordinator-moves", coordinator.coordinator_moves, 4),
        Scenario("coordinator-killed", coordinator.coordinator_is_killed, 4),
        move_of_twenty("reassign", moves.partitions_move),
        move_of_twenty("reassign-bounce", moves.brokers_bounce),
        move_of_twenty("reassign-controller-kill", moves.controller_is_killed),
        move_of_twenty("reassign-cancel", moves.move_is_cancelled),
        move_of_twenty("reassign-dead-target", moves.target_dies, moves.without_target),
        with_transactions("leader-killed", transactions.leader_is_killed, 14),
        with_transactions("coordinator-killed", transactions.coordinator_is_killed, 16, place=transactions.apart),
        with_transactions("group-coordinator-killed", transactions.group_coordinator_is_killed, 10),
        with_transactions("all-killed", transactions.all_are_killed, 8),
        with_transactions("leader-paused", transactions.leader_is_paused, 8),
        with_transactions("coordinator-paused", transactions.coordinator_is_paused, 12, place=transactions.apart),
        with_transactions("leader-cut-off", transactions.leader_is_cut_off, 6, stores=("zookeeper",)),
        with_transactions(
            "coordinator-cut-off",
            transactions.coordinator_is_cut_off,
            8,
            stores=("zookeeper",),
            place=transactions.apart,
        ),
        with_transactions("power-of-one", transactions.one_loses_power, 10),
        with_transactions("power-of-all", transactions.all_lose_power, 8, on_disk=True),
    )
}
