"""The registry agrees with the table of messages and Kafka's rules."""

from __future__ import annotations

import pytest

from kafkastore._core import is_flexible, message_fields, message_key
from kafkastore.requests.registry import (
    APIS,
    BY_KEY,
    INTER_BROKER_APIS,
    NO_FLEXIBLE_VERSION,
    OWN_APIS,
    Api,
    api_version_ranges,
    markdown_table,
)

CONTROL = [api for api in APIS + INTER_BROKER_APIS if api.plane == "control"]


@pytest.mark.parametrize("api", CONTROL, ids=lambda api: api.name)
def test_table_has_every_version_and_agrees_on_key_and_flexibility(api: Api) -> None:
    for message in (f"{api.name}Request", f"{api.name}Response"):
        assert message_key(message) == api.key
        for version in range(api.min_version, api.max_version + 1):
            message_fields(message, version)  # KeyError for a version that the table has not
            assert is_flexible(message, version) is api.is_flexible(version)


def test_produce_is_advertised_from_zero() -> None:  # KAFKA-18659
    assert BY_KEY[0].min_version == 0


def test_keys_are_in_order_and_unique() -> None:
    assert [api.key for api in APIS] == sorted({api.key for api in APIS})
    assert len(BY_KEY) == len(APIS + OWN_APIS + INTER_BROKER_APIS)


def test_own_apis_are_advertised_and_far_from_the_keys_of_kafka() -> None:
    ranges = {row.api_key: row.is_advertised for row in api_version_ranges(serves_legacy=True)}
    assert all(ranges[api.key] and api.key > 10_000 for api in OWN_APIS)


def test_apis_between_brokers_are_not_advertised_to_clients() -> None:
    ranges = [
        (row.api_key, row.min_version, row.max_version, row.flexible_from, row.is_advertised)
        for row in api_version_ranges(serves_legacy=True)
    ]
    assert (18, 0, 4, 3, True) in ranges
    assert (47, 0, 0, NO_FLEXIBLE_VERSION, True) in ranges
    assert [row[0] for row in ranges if not row[4]] == [4, 5, 6, 7, 56, 58, 17, 36]


def test_versions_that_kafka_4_dropped_are_published_unless_they_are_switched_off() -> None:  # KIP-896
    published = {
        serves_legacy: {row.api_key: row.min_version for row in api_version_ranges(serves_legacy=serves_legacy)}
        for serves_legacy in (True, False)
    }
    changed = {key for key in published[True] if published[True][key] != published[False][key]}
    assert changed == {0, 1, 2, 8, 9, 19, 20, 23, 29, 30, 31, 32, 34, 35, 38, 39, 40, 41}
    assert {published[True][key] for key in changed} == {0}
    assert [published[False][key] for key in (0, 1, 2, 8, 9, 19)] == [3, 4, 1, 2, 1, 2]


def test_table_has_a_row_per_api() -> None:
    table = markdown_table({api.key: "of Kafka" for api in APIS})
    assert table.count("\n") == len(APIS) + 2
    assert "| 19 | CreateTopics | of Kafka | 0-7 | 5 | `handlers/create_topics.py` |" in table
