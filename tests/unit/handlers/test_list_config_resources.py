"""ListConfigResources: by type, all, none known; version 0 is ListClientMetricsResources."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .one_broker import OneBroker

UNSUPPORTED_VERSION = 35
TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32


@pytest.mark.parametrize(
    ("types", "found"),
    [
        ([TOPIC], [("t", TOPIC), ("u", TOPIC)]),
        ([BROKER, BROKER], [("1", BROKER)]),
        ([METRICS, GROUP], []),
        ([], [("1", BROKER), ("1", LOGGER), ("t", TOPIC), ("u", TOPIC)]),
    ],
)
def test_lists_resources_of_the_types_asked_for(
    broker: OneBroker, types: list[int], found: list[tuple[str, int]]
) -> None:
    broker.create_topic("u")
    broker.create_topic("t")
    answer = broker.ask("list_config_resources", 1, {"resource_types": types})
    assert answer.error_code == 0
    assert sorted((one.resource_name, one.resource_type) for one in answer.config_resources) == found


@pytest.mark.parametrize("types", [[0], [3], [TOPIC, 7]])
def test_an_unknown_type_is_refused(broker: OneBroker, types: list[int]) -> None:
    answer = broker.ask("list_config_resources", 1, {"resource_types": types})
    assert (int(answer.error_code), answer.config_resources) == (UNSUPPORTED_VERSION, ())


def test_version_0_lists_client_metrics_only(broker: OneBroker) -> None:
    broker.create_topic("t")
    answer = broker.ask("list_config_resources", 0, {})
    assert (answer.error_code, answer.config_resources) == (0, ())
