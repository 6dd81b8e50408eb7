"""What a broker does when it has become the controller, and again after the store was unavailable: read all state,
finish unfinished work, send the full state to all brokers.

Unfinished work may be: partitions without a state (the controller died between the topic and its states), dead leaders
and dead members of in-sync sets, unclean restarts that are not settled, deletions, reassignments and elections, failed
log directories.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kafkastore.controller import admin_nodes, broker_changes, reassignment, topic_deletion, topic_nodes
from kafkastore.controller.context import ControllerContext
from kafkastore.controller.loading import load_brokers, load_topics

if TYPE_CHECKING:
    from kafkastore.controller.term import Term

_PATHS = (
    "/admin/delete_topics",
    "/brokers/ids",
    "/brokers/topics",
    "/config/changes",
    "/config/topics",
    "/log_dir_event_notification",
)


async def take_over(term: Term) -> None:
    """Takes over as the module says. Raises the store's errors; may then be called again."""
    for path in _PATHS:
        await term.store.ensure_path(path)
    await term.watched.get_children("/brokers/topics", "topics")
    await term.watched.get_children("/admin/delete_topics", "deletions")
    changes = await term.watched.get_children("/config/changes", "configs")
    term.has_config_changes |= bool(changes)
    await term.watched.get_children("/log_dir_event_notification", "log_dirs")
    await term.refresh_settings()
    context = ControllerContext()
    context.brokers = await load_brokers(term.watched, term.context.brokers)
    complete = partial(topic_nodes.complete, term, context)
    topics = await load_topics(term.watched, context, term.stored, complete, term.turn())
    term.replace_context(context)
    term.noted_changes = set(changes)
    await term.introduce(topics)
    context.log_moves()
    await term.update(context.partitions(), term.without_elr_rule())
    for broker in list(context.brokers.values()):
        if not broker.is_clean:
            await broker_changes.settle_unclean(term, broker)
    await term.settle(context.partitions())
    for broker in context.brokers.values():  # not before: no broker may be sent a state that is about to change
        term.channels.add(broker)
    await topic_deletion.resume(term)
    await reassignment.resume(term)
    await admin_nodes.on_reassignments(term)
    await admin_nodes.on_elections(term)
    await broker_changes.on_log_dirs(term)
