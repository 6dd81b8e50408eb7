"""The rules on topic names, for every way on which a topic may come: requests, nodes of the store, restored metadata.

Place: under everything. The messages of refusals are Kafka's (``Topic.validate``). The engine has the rule on
characters once more (``is_valid_topic_name``), where it reads the names of directories.
"""

from __future__ import annotations

from typing import Final

from kafkastore.errors import InvalidRequestError, InvalidTopicError

MAX_NAME_LENGTH: Final = 249
"""A directory is named after topic and partition, and file names end at 255 bytes."""

_LEGAL: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


CLUSTER_METADATA_TOPIC: Final = "__cluster_metadata"
"""The log of Kafka's own controllers: a log directory that Kafka wrote may have it, and no topic may have its name."""


def can_be_topic(name: object) -> bool:
    """Whether a topic may have this name."""
    if not isinstance(name, str):
        return False
    try:
        check_new_topic_name(name)
    except (InvalidRequestError, InvalidTopicError):
        return False
    return True


def check_not_reserved(name: str) -> None:
    """Raises InvalidRequestError for the name that Kafka keeps for itself."""
    if name == CLUSTER_METADATA_TOPIC:
        raise InvalidRequestError(f"Creation of internal topic {CLUSTER_METADATA_TOPIC} is prohibited.")


def check_new_topic_name(name: str) -> None:
    """Raises InvalidTopicError or InvalidRequestError, as Kafka does, unless a topic may be created with this name."""
    check_not_reserved(name)
    validate_topic_name(name)


def validate_topic_name(name: str) -> None:
    """Raises InvalidTopicError with Kafka's message."""
    if not name:
        raise InvalidTopicError("Topic name is invalid: the empty string is not allowed")
    if name in (".", ".."):
        raise InvalidTopicError(f"Topic name is invalid: '{name}' is not allowed")
    if len(name) > MAX_NAME_LENGTH:
        raise InvalidTopicError(
            f"Topic name is invalid: the length of '{name}' is longer than the max allowed length {MAX_NAME_LENGTH}"
        )
    if not _LEGAL.issuperset(name):
        raise InvalidTopicError(
            f"Topic name is invalid: '{name}' contains one or more characters other than ASCII alphanumerics, '.', '_'"
            " and '-'"
        )


def metrics_name(name: str) -> str:
    """The topic's name in metrics, which cannot tell "." from "_"; two topics with the same metrics name collide."""
    return name.replace(".", "_")


def may_collide(name: str) -> bool:
    """Whether another name can have the same :func:`metrics_name`."""
    return "." in name or "_" in name
