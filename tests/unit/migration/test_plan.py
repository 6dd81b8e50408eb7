"""A plan that was edited is taken as it is meant, or refused with one sentence."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from kafkastore.admin.admin_client import AdminError
from kafkastore.migration.plan import (
    Plan,
    PlannedAcl,
    PlannedGroup,
    PlannedQuota,
    PlannedTopic,
    PlannedUser,
    Side,
    plan_text,
    read_plan,
)

PLAN = Plan(
    "id",
    Side("a:1", "a", 1),
    Side("b:1", "b", 3),
    [PlannedTopic("t", None, 1, 1, "none", {"retention.ms": "1"}, {}, 0, 0, "new", [])],
    [PlannedAcl("Topic", "Literal", "t", "User:u", "*", "Read", "Allow")],
    [PlannedUser("u", "SCRAM-SHA-512", 4096)],
    [PlannedQuota([["user", None]], {"producer_byte_rate": 1.5})],
    [PlannedGroup("g", "classic", "Empty", 1)],
    ".*",
    None,
    0,
    ["a note"],
)


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield (*place, key)
        yield from places(value[key], (*place, key))


def test_plan_is_read_as_it_was_written() -> None:
    assert read_plan(plan_text(PLAN)) == PLAN


def test_value_of_another_type_anywhere_is_refused() -> None:
    for *parents, last in places(json.loads(plan_text(PLAN))):
        content = json.loads(plan_text(PLAN))
        held = content
        for key in parents:
            held = held[key]
        held[last] = {"of": [{"no": "type"}]}
        with pytest.raises(AdminError):
            read_plan(json.dumps(content))
