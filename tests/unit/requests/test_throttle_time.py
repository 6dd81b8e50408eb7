"""The data plane knows where each answer has its throttle_time_ms (KIP-219)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kafkastore._core import message_fields
from kafkastore.requests.registry import APIS, Api

TABLE = Path(__file__).parents[3] / "rust/protocol/throttle_time.rs"

SET_BY_ITSELF = ("Produce", "Fetch", "ApiVersions")
AT_THE_END = (
    "CreateDelegationToken", "RenewDelegationToken", "ExpireDelegationToken", "DescribeDelegationToken",
)  # fmt: skip


def first_versions() -> list[int]:
    text = TABLE.read_text()
    rows = text[text.index("const FIRST") :].partition("= [")[2].partition("];")[0]
    return [int(number) for number in re.findall(r"-?\d+", re.sub(r"//.*", "", rows))]


@pytest.mark.parametrize("api", [api for api in APIS if api.name not in (*SET_BY_ITSELF, *AT_THE_END)], ids=str)
def test_throttle_time_is_where_the_data_plane_sets_it_in_every_version(api: Api) -> None:
    first = first_versions()[api.key]
    place = 1 if api.name == "OffsetDelete" else 0
    for version in range(api.kafka_4_from if api.plane == "data" else api.min_version, api.max_version + 1):
        names = [field.name for field in message_fields(f"{api.name}Response", version)]
        has_time = "throttle_time_ms" in names
        assert has_time == (0 <= first <= version), version
        if has_time:
            assert names[place] == "throttle_time_ms", version


@pytest.mark.parametrize("api", [api for api in APIS if api.name in (*SET_BY_ITSELF, *AT_THE_END)], ids=str)
def test_answers_with_the_time_elsewhere_are_not_patched(api: Api) -> None:
    assert first_versions()[api.key] == -1
