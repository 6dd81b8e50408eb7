"""The check of topic names. The messages of refusals are Kafka's (``Topic.validate``)."""

from __future__ import annotations

from typing import Final

from kafkastore.errors import InvalidTopicError

MAX_NAME_LENGTH: Final = 249
"""A directory is named after topic and partition, and file names end at 255 bytes."""

_LEGAL: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


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
