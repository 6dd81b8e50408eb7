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
        if least is not None and in_effect(name) < config.get(least):
            raise ConfigError(f"{name} must be greater than or equal to {least}")
        if most is not None and in_effect(name) > config.get(most):
            raise ConfigError(f"{name} must be less than or equal to {most}")
    for kind in ("consumer", "share", "streams"):
        session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        if not {session, heartbeat}.isdisjoint(changed) and in_effect(session) <= in_effect(heartbeat):
            raise ConfigError(f"{session} must be greater than {heartbeat}")


def _check_offset_reset(value: str) -> None:
    if value not in ("earliest", "latest") and _DURATION.fullmatch(value) is None:
        raise group_keys()[_OFFSET_RESET].invalid(
            value,
            f"Invalid value `{value}` for configuration {_OFFSET_RESET}. The value must be either 'earliest', 'latest' "
            "or of the format 'by_duration:<PnDTnHnMn.nS>'.",
        )
