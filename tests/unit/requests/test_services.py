"""The services that handlers get of a broker: one immutable record, whose parts are made at their first use."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from typing import Any

import pytest
from world import running_broker

from kafkastore.requests.services import BrokerServices, Provider


def test_part_is_made_when_it_is_asked_for_first_and_only_then() -> None:
    made: list[object] = []

    def make() -> object:
        made.append(object())
        return made[-1]

    provider = Provider(make)
    assert (provider.made, made) == (None, [])
    assert provider.get() is provider.get() is provider.made is made[0]
    assert len(made) == 1


async def test_services_of_a_running_broker_cannot_be_replaced_and_its_lazy_parts_are_not_made(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as broker:
        services: Any = broker.services
        for field in fields(BrokerServices):
            with pytest.raises(FrozenInstanceError):
                setattr(services, field.name, None)
        assert not hasattr(services, "__dict__")
        lazy = (services.groups, services.transactions, services.producers)
        assert [provider.made for provider in lazy] == [None] * 3
        assert services.producer_ids is services.producers.made
