"""Brokers that join, die, come back in another life, restart uncleanly, or lose a log directory.

A broker whose registration has another epoch than the known one has died and joined. Its death is handled first, so
that the partitions that it led get a leader among the live brokers (H8).
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from kafkastore.controller import topic_deletion
from kafkastore.controller.loading import load_brokers
from kafkastore.errors import ErrorCode, error_name
from kafkastore.metadata.broker_nodes import settle_registration
from kafkastore.metadata.node_content import InvalidNodeError, json_object, report
from kafkastore.metadata.node_content import number as number_in
from kafkastore.metadata.store import BadVersionError, NoNodeError, SetData

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkastore.controller.context import Partition
    from kafkastore.controller.term import Term
    from kafkastore.interbroker.orders import LeaderAndIsr, OrderAnswer
    from kafkastore.metadata.broker_nodes import Registration

logger = logging.getLogger("kafkastore.controller")

LOG_DIR_EVENTS = "/log_dir_event_notification"


async def on_brokers(term: Term) -> None:
    """Compares the registrations in the store with those that the controller knows, and handles the differences."""
    context = term.context
    known = context.brokers
    found = await load_brokers(term.watched, known)
    dead = [one for one in known.values() if one.node_id not in found or found[one.node_id].epoch != one.epoch]
    joined = [one for one in found.values() if one.node_id not in known or known[one.node_id].epoch != one.epoch]
    renewed = [one for one in found.values() if one not in joined and one != known[one.node_id]]
    await term.refresh_settings()
    if context.invalid and joined:
        term.watched.tell("invalid")  # the new brokers may know the id of a topic whose node has none
    changed = await term.update(context.partitions(), term.without_elr_rule())
    if dead:
        changed += await _die(term, dead)
    if joined:
        changed += await _join(term, joined)
    for broker in renewed:
        before, context.brokers[broker.node_id] = context.brokers[broker.node_id], broker
        if not broker.is_clean:  # the broker registered its ports, and said again that its shutdown was unclean
            changed += await settle_unclean(term, broker)
        if before.endpoints != broker.endpoints:
            term.channels.add(broker)
    await term.channels.tell_replicas(changed)
    if dead or joined or renewed:
        moved = {one.node_id for one in (*dead, *joined)}  # UpdateMetadata tells all brokers which replicas are offline
        there = await term.those(context.partitions(), lambda one: not moved.isdisjoint(one.replicas))
        await term.channels.tell_all([*there, *changed])


async def _die(term: Term, dead: Iterable[Registration]) -> list[Partition]:
    context = term.context
    gone = {one.node_id for one in dead}
    logger.info("Brokers %s are gone", sorted(gone))
    for node_id in gone:
        context.brokers.pop(node_id)
        context.shutting_down.discard(node_id)
        context.offline_logs.pop(node_id, None)
        term.channels.remove(node_id)
    await topic_deletion.on_brokers_gone(term, gone)
    touched = await term.those(context.partitions(), lambda partition: not gone.isdisjoint(partition.replicas))
    await term.each(touched, term.note_replicas)
    return await term.settle(touched)


async def _join(term: Term, joined: Iterable[Registration]) -> list[Partition]:
    context = term.context
    changed: list[Partition] = []
    for broker in joined:
        logger.info("Broker %d joined with epoch %d", broker.node_id, broker.epoch)
        context.brokers[broker.node_id] = broker
        await term.each(await context.partitions_on(broker.node_id, term.turn()), term.note_replicas)
    for broker in joined:
        if not broker.is_clean:
            changed += await settle_unclean(term, broker)
    changed += await term.settle(context.partitions())
    for broker in joined:  # not before the writes: the broker may not be told to lead a partition that it has just lost
        term.channels.add(context.brokers[broker.node_id])
    await topic_deletion.on_brokers_joined(term, {broker.node_id for broker in joined})
    return changed


async def fence(term: Term, node_id: int) -> None:
    """Deletes the registration of a broker whose process is gone, without waiting for its session to expire. What
    follows is the same as after an expiry. A broker that is alive all the same registers again under a new epoch."""
    known = term.context.brokers.get(node_id)
    path = f"/brokers/ids/{node_id}"
    if known is None:
        return
    with suppress(NoNodeError, BadVersionError):  # the session has expired, or the broker is back: the watch fires
        node = await term.store.get(path)
        if node.created == known.epoch:
            logger.warning("Broker %d is absent: nobody listens at its address any more", node_id)
            await term.writer.delete(path, node.version)


async def settle_unclean(term: Term, broker: Registration) -> list[Partition]:
    """Removes a broker that came back without a clean shutdown from the in-sync and eligible sets that it may no longer
    be in. Notes this in its registration: the next controller must not remove the broker again after it has caught
    up."""
    logger.warning("Broker %d came back without a clean shutdown", broker.node_id)
    changed = await term.settle(await term.context.partitions_on(broker.node_id, term.turn()), broker)
    path = f"/brokers/ids/{broker.node_id}"
    with suppress(NoNodeError, InvalidNodeError):  # the broker is gone again, or its node is invalid: the watch fires
        node = await term.watched.get(path, "brokers")
        if node.created == broker.epoch:
            await term.writer.write([SetData(path, settle_registration(node.data), node.version)])
            term.context.brokers[broker.node_id] = broker._replace(is_clean=True, log_ends={}, unclean=None)
    return changed


# ---- log directories
async def on_log_dirs(term: Term) -> None:
    """Handles the nodes in which brokers say that they lost a log directory. The controller sends LeaderAndIsr to such
    a broker, whose answer has the partitions that were in the directory."""
    names = await term.watched.get_children(LOG_DIR_EVENTS, "log_dirs")
    for name in names:
        path = f"{LOG_DIR_EVENTS}/{name}"
        with suppress(NoNodeError):
            await _tell_of_log_dirs(term, path)
            await term.writer.delete(path)


async def _tell_of_log_dirs(term: Term, path: str) -> None:
    try:
        node_id = number_in(json_object((await term.store.get(path)).data), "broker")
    except InvalidNodeError as error:
        report(path, "it is taken away", error)
        return
    logger.warning("Broker %d lost a log directory", node_id)
    if node_id in term.context.brokers:
        term.channels.tell_broker(node_id, await term.context.partitions_on(node_id, term.turn()))


def has_news(term: Term, broker: Registration, answer: OrderAnswer) -> bool:
    """Whether an answer to LeaderAndIsr may say that a log went offline or came back."""
    if term.context.offline_logs.get(broker.node_id):
        return True
    return any(code != ErrorCode.NONE for code in answer.errors.values())


async def on_leader_and_isr_answer(term: Term, broker: Registration, order: LeaderAndIsr, answer: OrderAnswer) -> None:
    """Notes which logs of a broker are offline, and elects another leader for each partition that the broker led from
    such a log."""
    context = term.context
    known = context.brokers.get(broker.node_id)
    if known is None or known.epoch != broker.epoch or answer.error_code != ErrorCode.NONE:
        return
    offline = context.offline_logs.setdefault(broker.node_id, set())
    touched = []
    topics = {topic.name: context.topics_by_id.get(topic.topic_id) for topic in order.topics}
    for (name, number), code in answer.errors.items():
        topic = topics[name]
        if topic is None or topic.is_deleting or not 0 <= number < len(topic.partitions):
            continue
        partition = topic.partitions[number]
        is_offline = code == ErrorCode.KAFKA_STORAGE_ERROR
        if code not in (ErrorCode.NONE, ErrorCode.KAFKA_STORAGE_ERROR):
            logger.warning("Broker %d did not take on %s: %s", broker.node_id, partition, error_name(code))
        elif is_offline != (partition in offline):
            (offline.add if is_offline else offline.discard)(partition)
            touched.append(partition)
    if touched:
        await term.refresh_settings()
    await term.each(touched, term.note_replicas)
    changed = await term.settle(touched)
    await term.channels.tell_replicas(changed)
    if touched:
        await term.channels.tell_all(touched)
