"""Which broker configurations may be changed while the broker runs, and to which values (KIP-226).

The checks in Kafka's order: (A) keys that are read-only; (B) keys of TLS, which belong to one listener; (C) values of
the wrong type or out of range; (D) per-broker keys in a change for all brokers; (E) thread counts, which may at most
double or halve. Then checks that Kafka does not need: (F) keys that ask for a protection that this version does not
have, and keys that count in files alone. Every failure is INVALID_REQUEST, as Kafka answers. Changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkastore.config.broker_values import check_run_time_value
from kafkastore.config.effect import refuse_protection
from kafkastore.config.providers import KEY as PROVIDERS
from kafkastore.errors import ConfigError, InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkastore.config.broker import BrokerConfig

THREAD_COUNTS: Final = (
    "num.io.threads",
    "num.network.threads",
    "num.replica.fetchers",
    "num.recovery.threads.per.data.dir",
    "background.threads",
)

IN_THE_FILE_ALONE: Final = (PROVIDERS, "listeners", "advertised.listeners", "listener.security.protocol.map")

CLEANER_THREADS: Final = "log.cleaner.threads"
"""A thread count with messages of its own."""


def check_broker_overrides(config: BrokerConfig, overrides: Mapping[str, str], *, is_default: bool) -> None:
    """Raises InvalidRequestError unless ``overrides`` may become this broker's, or with ``is_default`` every
    broker's."""
    keys = config.keys
    unknown = [name for name in overrides if name not in keys]
    if unknown:
        raise InvalidRequestError(f"Unknown broker config name: {unknown[0]}")
    _refuse(  # A
        [name for name in overrides if keys[name].update_mode == "read-only"], "Cannot update these configs dynamically"
    )
    _refuse(  # B
        [name for name in overrides if name.startswith("ssl.") and keys[name].update_mode == "per-broker"],
        "These security configs can be dynamically updated only per-listener using the listener prefix",
    )
    together = config.changed(default=overrides) if is_default else config.changed(broker=overrides)
    for name, value in overrides.items():  # C
        try:
            check_run_time_value(together, name, value)
        except ConfigError as error:
            raise InvalidRequestError(error.client_message) from None
    if is_default:  # D
        _refuse(
            [name for name in overrides if keys[name].update_mode == "per-broker"],
            "Cannot update these configs at default cluster level, broker id must be specified",
        )
    for name in THREAD_COUNTS:  # E
        is_hidden = is_default and name in config.dynamic_broker
        if name in overrides and not is_hidden:
            _check_thread_count(name, config.get(name), keys[name].parse(overrides[name]))
    if CLEANER_THREADS in overrides and not (is_default and CLEANER_THREADS in config.dynamic_broker):
        _check_cleaner_threads(config.get(CLEANER_THREADS), keys[CLEANER_THREADS].parse(overrides[CLEANER_THREADS]))
    for name in IN_THE_FILE_ALONE:  # F
        if name in overrides:
            raise InvalidRequestError(f"{name} counts in the broker's file alone")
    try:
        refuse_protection(overrides)  # F
    except ConfigError as error:
        raise InvalidRequestError(error.client_message) from None


def _refuse(names: list[str], reason: str) -> None:
    if names:
        raise InvalidRequestError(f"{reason}: [{', '.join(names)}]")


def _check_thread_count(name: str, current: int, wanted: int) -> None:
    failure = f"Dynamic thread count update validation failed for {name}={wanted}"
    if wanted < current // 2:
        raise InvalidRequestError(f"{failure}, value should be at least half the current value {current}")
    if wanted > current * 2:
        raise InvalidRequestError(f"{failure}, value should not be greater than double the current value {current}")


def _check_cleaner_threads(current: int, wanted: int) -> None:
    if wanted < 1:
        raise InvalidRequestError("Log cleaner threads should be at least 1")
    if wanted < current // 2:
        raise InvalidRequestError(
            f"Log cleaner threads cannot be reduced to less than half the current value {current}"
        )
    if wanted > current * 2:
        raise InvalidRequestError(
            f"Log cleaner threads cannot be increased to more than double the current value {current}"
        )
