"""Elections by request (preferred and unclean), controlled shutdown, and the periodic rebalance."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from kafkastore.controller import leader_election as rules
from kafkastore.errors import BrokerNotAvailableError, ErrorCode, StaleBrokerEpochError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kafkastore.controller.context import Partition
    from kafkastore.controller.term import Term
    from kafkastore.metadata.leadership import Leadership

logger = logging.getLogger("kafkastore.controller")


# ---- ElectLeaders
async def elect_leaders(
    term: Term, requested: Sequence[tuple[str, int]] | None, *, is_unclean: bool
) -> dict[tuple[str, int], int]:
    """Returns the error code of each (topic, partition) in ``requested``; when that is None, of each partition whose
    leader the election changes, or fails to change."""
    outcomes = dict.fromkeys(requested or (), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    judge = _judge_unclean if is_unclean else _judge_preferred
    todo: dict[Partition, None] = {}

    def look(partition: Partition | None) -> None:
        if partition is None or partition.topic.is_deleting:
            return
        error = judge(term, partition)
        if error == ErrorCode.NONE:
            todo[partition] = None
        if requested is not None or error != ErrorCode.ELECTION_NOT_NEEDED:
            outcomes[partition.topic.name, partition.number] = error

    if requested is None:
        await term.each(term.context.partitions(), look)
    else:
        await term.each(requested, lambda key: look(term.context.partition(*key)))
    changed = await (_elect_uncleanly(term, todo) if is_unclean else elect_preferred(term, todo))
    await term.tell(changed)
    return outcomes


def _judge_preferred(term: Term, partition: Partition) -> int:
    state = partition.leadership
    if state is not None and state.leader == partition.replicas[0]:
        return ErrorCode.ELECTION_NOT_NEEDED
    able = term.context.usable_of(partition, term.context.usable())
    if state is None or rules.elect_preferred(state, partition.replicas, able) is None:
        return ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    return ErrorCode.NONE


def _judge_unclean(term: Term, partition: Partition) -> int:
    state = partition.leadership
    if state is not None and state.has_leader:
        return ErrorCode.ELECTION_NOT_NEEDED
    if partition.is_invalid:  # its last leader epoch is not known, so no next epoch can begin
        return ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    able = term.context.usable_of(partition, term.context.usable())
    return ErrorCode.NONE if able.intersection(partition.replicas) else ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE


async def elect_preferred(term: Term, partitions: Iterable[Partition]) -> list[Partition]:
    """Elects the preferred leaders. Returns the partitions whose leader changed; no broker has been sent them yet."""
    usable = term.context.usable()

    def rule(partition: Partition) -> Leadership | None:
        if partition.leadership is None:
            return None
        able = term.context.usable_of(partition, usable)
        return rules.elect_preferred(partition.leadership, partition.replicas, able)

    return await term.update(partitions, rule)


async def _elect_uncleanly(term: Term, partitions: Iterable[Partition]) -> list[Partition]:
    usable = term.context.usable()

    def rule(partition: Partition) -> Leadership | None:
        able = term.context.usable_of(partition, usable)
        if partition.leadership is None:
            return rules.elect_first(partition.replicas, able)
        gone = term.context.gone_of(partition)
        minimum = term.min_isr(partition)
        return rules.after_loss(partition.leadership, partition.replicas, able, gone, minimum, is_unclean_allowed=True)

    return await term.update(partitions, rule)


# ---- controlled shutdown
async def shut_down(term: Term, broker_id: int, broker_epoch: int) -> list[tuple[str, int]]:
    """Moves the leaderships of a broker that is about to stop and removes it from the in-sync sets; from now on it may
    not rejoin one (KIP-841). Returns the partitions, as (topic, partition), that it still leads although they have
    other replicas. Raises BrokerNotAvailableError, StaleBrokerEpochError."""
    context = term.context
    broker = context.brokers.get(broker_id)
    if broker is None:
        raise BrokerNotAvailableError(f"Broker id {broker_id} does not exist.")
    if broker_epoch not in (-1, broker.epoch):
        raise StaleBrokerEpochError
    logger.info("Broker %d shuts down", broker_id)
    context.shutting_down.add(broker_id)
    usable = context.usable()

    def rule(partition: Partition) -> Leadership | None:
        if partition.leadership is None or len(partition.replicas) == 1:
            return None
        able = context.usable_of(partition, usable)
        minimum = term.min_isr(partition)
        return rules.leave_for_shutdown(partition.leadership, partition.replicas, broker_id, able, minimum)

    on_broker = await context.partitions_on(broker_id, term.turn())
    changed = await term.update(on_broker, rule)
    await term.tell(changed)
    followed = await term.those(on_broker, lambda partition: partition.leader != broker_id)
    term.channels.stop_replica(broker_id, followed, is_deleted=False)
    left = await term.those(on_broker, lambda one: one.leader == broker_id and len(one.replicas) > 1)
    return [(partition.topic.name, partition.number) for partition in left]


def _is_led_elsewhere(broker_id: int, partition: Partition) -> bool:
    return partition.leader != broker_id


# ---- auto.leader.rebalance.enable
async def rebalance(term: Term) -> None:
    """Elects the preferred leaders of each broker of whose preferred partitions more than
    leader.imbalance.per.broker.percentage are led by other brokers. Leaves out partitions that a reassignment moves:
    the end of the move changes their leader, and one change is enough for their clients."""
    by_preferred: dict[int, list[Partition]] = {}

    def note(partition: Partition) -> None:
        if not partition.assigned.is_moving:
            by_preferred.setdefault(partition.replicas[0], []).append(partition)

    await term.each(term.context.partitions(), note)
    changed: list[Partition] = []
    for broker_id, preferred in by_preferred.items():
        elsewhere = await term.those(preferred, partial(_is_led_elsewhere, broker_id))
        if broker_id in term.context.usable() and (
            len(elsewhere) * 100 > term.settings.imbalance_percentage * len(preferred)
        ):
            changed += await elect_preferred(term, elsewhere)
    await term.tell(changed)
    if changed:
        logger.info("%d leaderships went back to the preferred replicas", len(changed))
