"""Where we answer otherwise than Apache Kafka 4.4 on purpose, and how two answers are compared."""

from __future__ import annotations

from typing import Any

DEVIATIONS: dict[str, str] = {
    "alter: unknown operation, v1": (
        "Kafka fails inside (UNKNOWN_SERVER_ERROR) for topics; we answer INVALID_REQUEST, as both do for brokers"
    ),
    "replace: same resource twice, v2": "Kafka never answers; we answer as to IncrementalAlterConfigs",
    "alter: broker, unknown config is taken, v1": "Kafka stores keys that no plugin of ours could read; we refuse them",
    "alter: broker, key of no config, v1": "as above",
    "offline: move between others, v1": "Kafka moves nothing while a directory is offline (KAFKA_STORAGE_ERROR); we do",
    "offline: move between others, v2": "as above",
    "produce: the same batch again, v11": "Kafka gives the create time of a duplicate as the time of its append",
    "produce: the same batch again, v12": "as above",
    "produce: plain batch of the producer, v12": "as above",
    "produce: plain batch with no id, v12": "as above",
    "down by the first version, v0": "Kafka ignores the allow_downgrade of version 0; we downgrade, as the client asks",
    "produce: sequence with a gap, v12": "Kafka gives the log start offset with this error; no client reads it",
}
"""Case -> why. Its answer is not compared."""

OTHER_WORDS: dict[str, str] = {
    "alter: broker, more than double the threads, v1": "Kafka wraps its message in the name of a Java class",
    "alter: broker, less than half the threads, v1": "as above",
    "create: no time, v7": "Kafka gives no message",
    "create: negative time, v7": "as above",
    "produce: an epoch behind, v11": "as above",
    "produce: an epoch behind, v12": "as above",
    "produce: transactional batch without an id, v11": "as above",
    "produce: transactional batch without an id, v12": "as above",
    "timeout: Produce with the old epoch, v11": "as above",
    "timeout: Produce with the old epoch, v12": "as above",
    "timeout, version 1: Produce with the old epoch, v8": "as above",
    "timeout, version 1: Produce with the old epoch, v11": "as above",
}
"""Case -> why. Its error message is not compared, but all else is."""

EVERY_BROKER_CONFIG = "describe: every config of the broker, v4"
"""Compared entry by entry: what the properties file gives is a broker's own business."""

OWN_PREFIXES = ("kafkastore.", "log.message.format.legacy.")
"""Configurations that only we have."""


def comparable(name: str, ours: Any, kafkas: Any) -> tuple[Any, Any]:
    """Both answers without what is listed above; equal when we answered as Kafka did."""
    if name in DEVIATIONS:
        return None, None
    if name in OTHER_WORDS:
        return _without_messages(ours), _without_messages(kafkas)
    if name == EVERY_BROKER_CONFIG:
        ours, kafkas = _entries(ours), _entries(kafkas)
        for key in ours.keys() & kafkas.keys():
            if ours[key]["config_source"] != kafkas[key]["config_source"]:  # only one has it in its properties file
                for field in ("value", "config_source", "synonyms"):
                    ours[key].pop(field, None)
                    kafkas[key].pop(field, None)
    return ours, kafkas


def _without_messages(answer: Any) -> Any:
    if isinstance(answer, dict):
        return {key: _without_messages(value) for key, value in answer.items() if key != "error_message"}
    return [_without_messages(item) for item in answer] if isinstance(answer, list) else answer


def _entries(answer: Any) -> dict[str, dict[str, Any]]:
    """The configurations of an answer's only resource, by name."""
    return {
        entry["name"]: dict(entry)
        for entry in answer["results"][0]["configs"]
        if not entry["name"].startswith(OWN_PREFIXES)
    }
