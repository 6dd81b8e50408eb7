"""Shared by the configuration APIs (32, 33, 44, 74): the types of resources, what a client must be allowed to do with
them, and the broker id in a resource's name.

Holds no state and reaches no owner of a configuration.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kafkastore import acl_words
from kafkastore.dynamic_config import named_configs
from kafkastore.errors import InvalidRequestError, TopicAuthorizationFailedError
from kafkastore.requests.authorization import allows, decides, require_cluster, require_group

if TYPE_CHECKING:
    from kafkastore.requests.context import RequestContext

# org.apache.kafka.common.config.ConfigResource.Type
TOPIC: Final = 2
BROKER: Final = 4
BROKER_LOGGER: Final = 8
CLIENT_METRICS: Final = 16
GROUP: Final = 32
RESOURCE_TYPES: Final = (TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP)
_WHOLE: Final = re.compile(r"[+-]?\d{1,10}")

NAMED_KINDS: Final = {CLIENT_METRICS: named_configs.CLIENT_METRICS, GROUP: named_configs.GROUPS}
"""The types whose configurations ``dynamic_config/named_configs.py`` keeps, with their kinds there."""


def broker_id(name: str, what: str = "Broker") -> int:
    """The number in a broker resource's name, as Java reads it. Raises InvalidRequestError with Kafka's message."""
    if _WHOLE.fullmatch(name) is None:
        raise InvalidRequestError(f"{what} id must be an integer, but it is: {name}")
    return int(name)


def authorize_configs(context: RequestContext, operation: int, kind: int, name: str) -> None:
    """Raises the error of the resource's type unless the client may do this with its configuration. Brokers, loggers
    and subscriptions to metrics belong to the cluster. Does nothing for a type that does not exist."""
    if not decides(context):
        return
    if kind == TOPIC:
        if not allows(context, operation, acl_words.TOPIC, name):
            raise TopicAuthorizationFailedError
    elif kind == GROUP:
        require_group(context, operation, name)
    elif kind in RESOURCE_TYPES:
        require_cluster(context, operation)


_WORDS: Final = {
    TOPIC: "topic",
    BROKER: "broker",
    BROKER_LOGGER: "loggers of broker",
    CLIENT_METRICS: "subscription to client metrics",
    GROUP: "group",
}


def shown_resource(kind: int, name: str) -> str:
    """A resource in the words of a log line."""
    if kind == BROKER and not name:
        return "default of all brokers"
    word = _WORDS.get(kind, f"resource of type {kind}")
    return f"{word} {name}" if name else f"{word} without a name"
