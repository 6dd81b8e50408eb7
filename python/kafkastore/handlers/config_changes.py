"""The code that AlterConfigs (33) and IncrementalAlterConfigs (44) share: makes whole new sets of overrides from a
request's resources.

The changes of each resource in the request are checked by themselves (A), then turned into the resource's new overrides
(B), then passed to the owner (``topic/topics.py``, ``dynamic_config/changes.py``, ``dynamic_config/named_configs.py``),
which writes the store and publishes the change (C). One resource's error never fails the others, and nothing of a
failed resource is changed. The order of the checks and the messages are Kafka's.
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from kafkastore._core import LazyRows
from kafkastore.acl_words import ALTER_CONFIGS
from kafkastore.config.client_metrics import validate_subscription
from kafkastore.config.connection_limits import OVERRIDES_KEY
from kafkastore.config.definitions import broker_keys, topic_keys
from kafkastore.config.group import validate_group_configs
from kafkastore.config.topic import validate_topic_configs
from kafkastore.dynamic_config.broker_configs import DEFAULT_BROKER
from kafkastore.dynamic_config.entity_names import check_name_length
from kafkastore.errors import (
    ConfigError,
    ErrorCode,
    InvalidRequestError,
    KafkastoreError,
    NotControllerError,
    UnknownTopicOrPartitionError,
)
from kafkastore.handlers import broker_loggers
from kafkastore.handlers.broker_config_rules import check_broker_overrides
from kafkastore.handlers.config_resources import (
    BROKER,
    BROKER_LOGGER,
    GROUP,
    NAMED_KINDS,
    TOPIC,
    authorize_configs,
    broker_id,
    shown_resource,
)
from kafkastore.topic_names import validate_topic_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeVar

    from kafkastore._core import Unwritten
    from kafkastore.config.definitions import ConfigKey
    from kafkastore.dynamic_config.config_nodes import Edit
    from kafkastore.protocol import alter_configs, incremental_alter_configs
    from kafkastore.purgatory.turns import Turn
    from kafkastore.requests.context import RequestContext

    Resource = TypeVar("Resource", alter_configs.AlterConfigsResource, incremental_alter_configs.AlterConfigsResource)

logger = logging.getLogger("kafkastore.handlers.config_changes")

# org.apache.kafka.clients.admin.AlterConfigOp.OpType
SET, DELETE, APPEND, SUBTRACT = range(4)
Failure = tuple[int, "str | None"]
"""(error code, message)"""

TOGETHER = 1000
"""How many resources are checked and written together, under one hold of the lock."""

MANY_KEYS = 1000
"""A resource with more changes than this, far more than there are keys, is handled in several steps of the loop."""

MAX_VALUE_BYTES = 32767
"""What an answer can show."""

NOT_A_LIST = "Can't {operation} to key {name} because its type is not LIST."

OPERATION_NAMES = ("SET", "DELETE", "APPEND", "SUBTRACT")


class KeyChange(NamedTuple):
    """One key's change. ``value`` is not null unless ``operation`` is DELETE."""

    name: str
    operation: int
    value: str | None


async def alter(
    context: RequestContext,
    resources: Sequence[Resource],
    changes_of: Callable[[Resource], list[KeyChange]],
    *,
    validate_only: bool,
    is_incremental: bool,
) -> Unwritten:
    """The response to a request of either API. With ``is_incremental`` an override that is not named stays."""
    turn = context.turn()
    counts: Counter[tuple[int, str]] = Counter()
    async for resource in turn.each(resources):
        counts[resource.resource_type, resource.resource_name] += 1
    failed: dict[tuple[int, str], Failure] = {}
    overrides = [
        config.value
        for resource in resources
        if resource.resource_type == BROKER
        for config in resource.configs
        if config.name == OVERRIDES_KEY and config.value
    ]
    async with context.broker.dynamic_configs.looked_up(overrides):  # name servers may be slow: outside of the lock
        for at in range(0, len(resources), TOGETHER):
            some = resources[at : at + TOGETHER]
            async with context.broker.config_changes.lock:
                failed |= await _alter_some(context, turn, some, changes_of, counts, validate_only, is_incremental)
    if failed:
        (kind, name), (_, message) = next(iter(failed.items()))
        logger.info(
            "Configurations of %d of %d resources were not changed, the first is %s: %s",
            len(failed), len(counts), shown_resource(kind, name), message,
        )  # fmt: skip

    def row(resource: Resource) -> bytes:
        code, message = failed.get((resource.resource_type, resource.resource_name), (ErrorCode.NONE, None))
        return context.row(
            "AlterConfigsResourceResponse",
            error_code=code,
            error_message=message,
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
        )

    return context.answer(responses=LazyRows(resources, row))


async def _alter_some(
    context: RequestContext,
    turn: Turn,
    resources: Sequence[Resource],
    changes_of: Callable[[Resource], list[KeyChange]],
    counts: Mapping[tuple[int, str], int],
    validate_only: bool,
    is_incremental: bool,
) -> dict[tuple[int, str], Failure]:
    """Checks each resource and writes the overrides of topics together. Returns the errors of the resources that
    failed."""
    failed: dict[tuple[int, str], Failure] = {}
    written: dict[str, dict[str, str]] = {}
    named_edits: dict[int, dict[str, Edit]] = {}
    ids: dict[str, bytes] = {}  # topics by name whose new overrides were made from the current ones -> topic id
    image, topics = context.broker.image, context.broker.topics
    named = [one.resource_name for one in resources if one.resource_type == TOPIC] if is_incremental else []
    current = await topics.all_stored_configs([name for name in dict.fromkeys(named) if image.topic(name) is not None])
    async for resource in turn.each(resources):
        key = resource.resource_type, resource.resource_name
        if key in failed:
            continue
        topic = image.topic(resource.resource_name)
        try:
            if counts[key] > 1:
                raise InvalidRequestError("Each resource must appear at most once.")
            if len(resource.configs) > MANY_KEYS:
                await turn.wait()
            changes = changes_of(resource)
            authorize_configs(context, ALTER_CONFIGS, *key)
            if resource.resource_type in NAMED_KINDS:
                edit = _named_edit(context, *key, changes, is_incremental)
                named_edits.setdefault(resource.resource_type, {})[resource.resource_name] = edit
                continue
            overrides = await _alter_resource(context, turn, *key, changes, current, validate_only, is_incremental)
        except KafkastoreError as error:
            failed[key] = error.code, error.client_message  # not the exception, which keeps its frames
        else:
            if overrides is None:
                continue
            written[resource.resource_name] = overrides
            if topic is not None and is_incremental:
                ids[resource.resource_name] = topic.topic_id
    if written:
        errors = await _write(context, written, ids)
        failed |= {(TOPIC, name): (error.code, error.client_message) for name, error in errors.items()}
    for kind, edits in named_edits.items():
        errors = await context.broker.named_configs.edit(NAMED_KINDS[kind], edits, is_validated_only=validate_only)
        failed |= {(kind, name): (error.code, error.client_message) for name, error in errors.items()}
    return failed


def _named_edit(
    context: RequestContext, kind: int, name: str, changes: Sequence[KeyChange], is_incremental: bool
) -> Edit:
    """What makes the new configuration of a group, or of a subscription to clients' metrics, of the one that it has."""
    _check_changes(changes)
    if not name:
        what = "Default group resources are not allowed." if kind == GROUP else "Subscription name can't be empty"
        raise InvalidRequestError(what)
    check_name_length("group" if kind == GROUP else "subscription", name)

    def edit(current: dict[str, str]) -> dict[str, str]:
        overrides = _changed(current if is_incremental else {}, changes, {}, NOT_A_LIST)
        if kind == GROUP:
            validate_group_configs(overrides, context.broker.config, {one.name for one in changes})
        else:
            validate_subscription(overrides)
        return overrides

    return edit


async def _write(
    context: RequestContext, written: Mapping[str, dict[str, str]], ids: Mapping[str, bytes]
) -> Mapping[str, KafkastoreError]:
    """Writes the overrides of topics. Returns the errors of the topics that failed."""
    topics = context.broker.topics
    try:
        return await topics.set_all_configs(written, ids)
    except NotControllerError:  # this broker has just stopped being the controller: ask the new one for each topic
        failed: dict[str, KafkastoreError] = {}
        for name, overrides in written.items():
            try:
                await topics.set_config_overrides(name, overrides)
            except KafkastoreError as error:
                failed[name] = error
        return failed
    except KafkastoreError as error:
        return dict.fromkeys(written, error)


async def _alter_resource(
    context: RequestContext,
    turn: Turn,
    kind: int,
    name: str,
    changes: list[KeyChange],
    current: Mapping[str, Mapping[str, str]],
    validate_only: bool,
    is_incremental: bool,
) -> dict[str, str] | None:
    """The whole new overrides of a topic that is to be written; None when the change is done or nothing is to be
    done. ``current`` are the overrides of topics in the store, for an incremental change."""
    if len(changes) > MANY_KEYS:
        await turn.wait()
    _check_changes(changes)
    if len(changes) > MANY_KEYS:
        await turn.wait()
    if kind == TOPIC:
        return await _alter_topic(context, name, changes, current.get(name, {}), validate_only, is_incremental)
    if kind == BROKER:
        await _alter_broker(context, name, changes, validate_only, is_incremental)
        return None
    if kind == BROKER_LOGGER and is_incremental:
        if broker_id(name, "Node") != context.broker.node_id:
            raise InvalidRequestError(f"Unexpected node id. Expected {context.broker.node_id}, but received {name}")
        broker_loggers.check(changes)
        if not validate_only:
            broker_loggers.apply(changes)
        return None
    raise InvalidRequestError(f"Unknown resource type {kind}")


def _check_changes(changes: Sequence[KeyChange]) -> None:
    """(A)"""
    if len({change.name for change in changes}) != len(changes):
        raise InvalidRequestError("Error due to duplicate config keys")
    nulls = [change.name for change in changes if change.value is None and change.operation != DELETE]
    if nulls:
        raise InvalidRequestError(f"Null value not supported for : {', '.join(nulls)}")


async def _alter_topic(
    context: RequestContext,
    name: str,
    changes: Sequence[KeyChange],
    current: Mapping[str, str],
    validate_only: bool,
    is_incremental: bool,
) -> dict[str, str] | None:
    found, topics = context.broker.image.topic(name), context.broker.topics
    overrides = _changed(current, changes, topic_keys(), NOT_A_LIST)
    if not name:
        raise InvalidRequestError("Default topic resources are not allowed.")
    validate_topic_name(name)
    validate_topic_configs(overrides, context.broker.config)
    if found is None:
        raise UnknownTopicOrPartitionError(f"The topic '{name}' does not exist.")
    if validate_only:
        return None
    if context.broker.controller.is_active:
        return overrides
    if is_incremental:
        await topics.ask_to_change_configs(name, changes)
    else:
        await topics.set_config_overrides(name, overrides)
    return None


async def _alter_broker(
    context: RequestContext, name: str, changes: Sequence[KeyChange], validate_only: bool, is_incremental: bool
) -> None:
    """An empty name is the cluster-wide default of all brokers."""
    if name and broker_id(name, "Node") != context.broker.node_id:
        raise InvalidRequestError(f"Unexpected broker id, expected {context.broker.node_id}, but received {name}")
    dynamic_configs = context.broker.dynamic_configs
    owner = str(context.broker.node_id) if name else DEFAULT_BROKER

    def change(current: dict[str, str]) -> dict[str, str]:
        overrides = _changed(
            current if is_incremental else {},
            changes,
            broker_keys(),
            "Config value {operation} is not allowed for config key: {name}",
            is_broker=True,
        )
        check_broker_overrides(context.broker.config, overrides, is_default=not name)
        if any(one.name == OVERRIDES_KEY for one in changes):
            dynamic_configs.check_hosts(overrides)
        return overrides

    if validate_only:
        await dynamic_configs.load()  # the watch may not have brought another broker's last change yet
        change(dynamic_configs.overrides(owner))
    else:
        await context.broker.config_changes.change_broker(owner, change)


def _changed(
    current: Mapping[str, str],
    changes: Sequence[KeyChange],
    keys: Mapping[str, ConfigKey],
    not_a_list: str,
    *,
    is_broker: bool = False,
) -> dict[str, str]:
    """(B) The overrides after the changes; ``current`` is left as it is. A list that was never set starts from Kafka's
    default."""
    overrides = dict(current)
    for name, operation, value in changes:
        if not SET <= operation <= SUBTRACT:
            raise InvalidRequestError(f"Unknown operations type {operation}")
        if operation == DELETE:
            overrides.pop(name, None)
            continue
        assert value is not None  # checked in (A)
        if operation == SET:
            overrides[name] = value
            continue
        key = keys.get(name)
        if key is None or key.type != "list":
            word = OPERATION_NAMES[operation]
            raise ConfigError(not_a_list.format(operation=word.lower() if is_broker else word, name=name))
        items = [item for item in (overrides.get(name, key.default) or "").split(",") if item]
        known, named = frozenset(items), frozenset(value.split(","))
        if operation == APPEND:
            items += [item for item in dict.fromkeys(value.split(",")) if item not in known]
        else:
            items = [item for item in items if item not in named]
        overrides[name] = ",".join(items)
        if len(overrides[name].encode()) > MAX_VALUE_BYTES:
            raise ConfigError(
                "The configuration value cannot be added because it exceeds the maximum value size of "
                f"{MAX_VALUE_BYTES} bytes."
            )
    return overrides
