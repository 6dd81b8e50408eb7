"""The keys of a group's own configuration and what they may be: Kafka's ranges, the bounds that the broker's keys give
(``group.consumer.min.session.timeout.ms`` …), and values that bound each other (Kafka's ``GroupConfig``)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from kafkastore.config.definitions import broker_keys, group_keys
from kafkastore.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from kafkastore.config.broker import BrokerConfig

_OFFSET_RESET: Final = "share.auto.offset.reset"
_ASSIGNOR: Final = "streams.assignor.name"
_TAGS: Final = "streams.rack.aware.assignment.tags"
_DEAD_LETTERS: Final = "errors.deadletterqueue.topic.name"
_DURATION: Final = re.compile(r"by_duration:(?i:P(?=\d|T\d)(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+(\.\d{0,9})?S)?)?)")


def bounds_of(name: str) -> tuple[str | None, str | None]:
    """The broker's keys for the least and the most that a group's key may be, where there are any."""
    kind, _, rest = name.partition(".")
    keys, rest = broker_keys(), rest.removeprefix("num.")
    least, most = f"group.{kind}.min.{rest}", f"group.{kind}.max.{rest}"
    return least if least in keys else None, most if most in keys else None


def validate_group_configs(overrides: Mapping[str, str], config: BrokerConfig, changed: Collection[str]) -> None:
    """Raises ConfigError (INVALID_CONFIG) with Kafka's message. ``changed``: the keys that are set now; the others were
    within the bounds of a broker before, which may have moved."""
    keys = group_keys()
    for name, value in overrides.items():
        if name not in keys:
            raise ConfigError(f"Unknown group config name: {name}")
        parsed = keys[name].parse(value)
        if name == _OFFSET_RESET:
            _check_offset_reset(parsed)

    def in_effect(name: str) -> Any:
        return keys[name].parse(overrides[name]) if name in overrides else config.get(keys[name].synonyms[0][0])

    for name in overrides.keys() & {*changed}:
        least, most = bounds_of(name)
        _check_bounds(name, in_effect(name), least and config.get(least), most and config.get(most))
    _check_streams(overrides, config)
    for kind in ("consumer", "share", "streams"):
        session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        if not {session, heartbeat}.isdisjoint(changed) and in_effect(session) <= in_effect(heartbeat):
            raise ConfigError(f"{session} must be greater than {heartbeat}")
    if overrides.get(_DEAD_LETTERS, "").startswith("__"):
        raise ConfigError(f"{_DEAD_LETTERS}: DLQ topic name must not start with '__'")


def _check_streams(overrides: Mapping[str, str], config: BrokerConfig) -> None:
    keys = group_keys()
    if _TAGS in overrides:
        tags = keys[_TAGS].parse(overrides[_TAGS])
        if len({*tags}) != len(tags):
            raise ConfigError(f"{_TAGS} must not contain duplicate tag keys.")
        if "" in tags:
            raise ConfigError(f"Configuration '{_TAGS}' values must not be empty.")
    known = config.get(keys[_ASSIGNOR].synonyms[0][0])
    if _ASSIGNOR in overrides and keys[_ASSIGNOR].parse(overrides[_ASSIGNOR]) not in known:
        raise ConfigError(
            f"{_ASSIGNOR} '{overrides[_ASSIGNOR]}' is not a registered task assignor. Registered assignors are: "
            f"[{', '.join(known)}]."
        )


def _check_bounds(name: str, value: Any, least: Any, most: Any) -> None:
    """``least`` and ``most`` are None where the broker has no such key."""
    if least is not None and most is not None:
        if not least <= value <= most:
            raise ConfigError(f"{name} must be in the range {least} to {most} inclusive.")
    elif least is not None and value < least:
        raise ConfigError(f"{name} must be greater than or equal to {least}")
    elif most is not None and value > most:
        raise ConfigError(f"{name} must be less than or equal to {most}")


def _check_offset_reset(value: str) -> None:
    if value not in ("earliest", "latest") and _DURATION.fullmatch(value) is None:
        raise group_keys()[_OFFSET_RESET].invalid(
            value,
            f"Invalid value `{value}` for configuration {_OFFSET_RESET}. The value must be either 'earliest', 'latest' "
            "or of the format 'by_duration:<PnDTnHnMn.nS>'.",
        )
