"""Responses as bytes, encoded row by row: they equal those of kio's writer."""

from __future__ import annotations

import dataclasses
import io
import random
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any, get_args, get_origin

import pytest
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import i32Timedelta, i64Timedelta

from kafkastore.interbroker.encoding import MAX_STRING_BYTES, Encoder, Rows, UnknownFieldError, encoder_of
from kafkastore.interbroker.versioned_fields import VERSIONED_FIELDS
from kafkastore.requests.context import schema_class, schema_module
from kafkastore.requests.registry import APIS, BY_NAME, INTER_BROKER_APIS, Api

_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
_UNSIGNED = {"uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64}
CODES = list(ErrorCode)


def _versions() -> list[tuple[Api, int]]:
    return [
        (api, version)
        for api in APIS + INTER_BROKER_APIS
        for version in range(api.min_version, api.max_version + 1)
        if version >= api.kafka_4_from or api.plane == "control"  # kio has no others, the data plane needs none
    ]


def _any_entity(entity_class: type[Any], rng: random.Random) -> Any:
    return entity_class(**{field.name: _any_value(field, rng) for field in dataclasses.fields(entity_class)})


def _any_value(field: Any, rng: random.Random) -> Any:
    if field.metadata.get("tag") is not None and rng.random() < 0.5:
        return field.default
    annotation, is_nullable = _without_none(field.type)
    if is_nullable and rng.random() < 0.3 and field.metadata.get("tag") is None:
        return None
    if get_origin(annotation) is tuple:
        item = _without_none(get_args(annotation)[0])[0]
        return tuple(_one(field, item, rng) for _ in range(rng.choice((0, 1, 3))))
    return _one(field, annotation, rng)


def _without_none(annotation: Any) -> tuple[Any, bool]:
    inner = [one for one in get_args(annotation) if one is not type(None)]
    is_nullable = type(None) in get_args(annotation)
    return (inner[0] if is_nullable else annotation), is_nullable


def _one(field: Any, annotation: Any, rng: random.Random) -> Any:
    if dataclasses.is_dataclass(annotation):
        return _any_entity(annotation, rng)  # type: ignore[arg-type]
    kind = field.metadata["kafka_type"]
    if kind in _BITS:
        return rng.randrange(-(2 ** (_BITS[kind] - 1)), 2 ** (_BITS[kind] - 1))
    if kind in _UNSIGNED:
        return rng.randrange(2 ** _UNSIGNED[kind])
    if kind == "string":
        return "".join(rng.choices("aé€𝄞-", k=rng.choice((0, 1, 40, 200))))
    if kind in ("bytes", "records"):
        return rng.randbytes(rng.choice((0, 1, 126, 127, 300)))
    made = {
        "bool": lambda: rng.random() < 0.5,
        "error_code": lambda: rng.choice(CODES),
        "uuid": lambda: uuid.UUID(int=rng.randrange(1, 2**128)),
        "float64": rng.random,
        "datetime_i64": lambda: datetime.fromtimestamp(rng.randrange(2**31), UTC),
        "timedelta_i32": lambda: i32Timedelta.parse(timedelta(milliseconds=rng.randrange(-(2**31), 2**31))),
        "timedelta_i64": lambda: i64Timedelta.parse(timedelta(milliseconds=rng.randrange(-(2**40), 2**40))),
    }
    return made[kind]()


@pytest.mark.parametrize("direction", ["request", "response"])
@pytest.mark.parametrize(("api", "version"), _versions(), ids=str)
def test_bytes_of_any_entity_are_those_of_kios_writer(api: Api, version: int, direction: str) -> None:
    rng = random.Random(f"{api.name}-{version}")
    entity_class = schema_class(api, version, direction)
    for _ in range(5):
        entity = _any_entity(entity_class, rng)
        out = io.BytesIO()
        entity_writer(entity_class)(out, entity)
        assert b"".join(encoder_of(entity_class).pieces(entity)) == out.getvalue(), entity


def _row(name: str, **given: Any) -> bytes:
    module = __import__("kio.schema.describe_configs.v4.response", fromlist=[name])
    return encoder_of(getattr(module, name)).row(given)


def test_rows_are_made_when_they_are_written() -> None:
    made: list[str] = []

    def make(name: str) -> bytes:
        made.append(name)
        return _row(
            "DescribeConfigsResult", error_code=0, error_message=None, resource_type=2, resource_name=name, configs=()
        )

    response_class = schema_class(BY_NAME["DescribeConfigs"], 4, "response")
    response = encoder_of(response_class).unwritten({"results": Rows(["a", "b"], make)})
    pieces = response.pieces()
    seen = [b""]
    while made != ["a"]:
        seen.append(next(pieces))
    decoded, _ = entity_reader(response_class)(b"".join([*seen, *pieces]), 0)
    assert [one.resource_name for one in decoded.results] == ["a", "b"]
    assert made == ["a", "b"]


@pytest.mark.parametrize("version", [1, 4])
@pytest.mark.parametrize("letter", ["x", "é", "€"])
def test_string_longer_than_its_field_is_cut_between_characters(version: int, letter: str) -> None:
    module = __import__(f"kio.schema.describe_configs.v{version}.response", fromlist=["DescribeConfigsResponse"])
    row = encoder_of(module.DescribeConfigsResult).row(
        {
            "error_code": 42,
            "error_message": letter * 40_000,
            "resource_type": 2,
            "resource_name": "n",
            "configs": (),
        }
    )
    decoded, _ = entity_reader(module.DescribeConfigsResult)(row, 0)
    assert decoded.error_message == letter * (MAX_STRING_BYTES // len(letter.encode()))
    assert decoded.resource_name == "n"


def test_value_that_a_handler_left_out_fails() -> None:
    with pytest.raises(Exception, match="NotGiven"):
        _row("DescribeConfigsResult", error_code=0)


def _described_group(version: int) -> Encoder:
    """A new encoder instead of the cached one, so that the test encodes its first row."""
    return Encoder(__import__(f"kio.schema.describe_groups.v{version}.response", fromlist=["x"]).DescribedGroup)


GROUP = {
    "error_code": 0,
    "group_id": "g",
    "group_state": "Empty",
    "protocol_type": "consumer",
    "protocol_data": "",
    "members": [],
}
OF_OTHER_VERSIONS = {"authorized_operations": 7, "error_message": "why"}


def test_field_that_only_other_versions_have_is_left_out() -> None:
    encoder = _described_group(0)
    assert encoder.row(GROUP | OF_OTHER_VERSIONS) == _described_group(0).row(GROUP)
    assert encoder.row(OF_OTHER_VERSIONS | GROUP) == _described_group(0).row(GROUP)
    assert _described_group(6).row(GROUP | OF_OTHER_VERSIONS) != _described_group(6).row(GROUP)


@pytest.mark.parametrize("version", [0, 6])
@pytest.mark.parametrize("others", [{}, OF_OTHER_VERSIONS], ids=["alone", "beside-other-versions"])
def test_field_that_no_version_has_raises_with_its_name(version: int, others: dict[str, Any]) -> None:
    encoder = _described_group(version)
    named = "describe_groups: no served version of DescribedGroup has the field 'eror_message'"
    for _ in range(2):
        with pytest.raises(UnknownFieldError, match=named):
            encoder.row(GROUP | others | {"eror_message": "why"})
        with pytest.raises(UnknownFieldError, match=named):
            encoder.unwritten(GROUP | others | {"eror_message": "why"})
        encoder.row(GROUP | others)


def test_misspelt_field_beside_one_that_is_left_out_raises() -> None:
    """The row then has as many fields as the class."""
    given = {name: value for name, value in GROUP.items() if name != "group_id"} | {"group": "g"}
    with pytest.raises(UnknownFieldError, match="'group'"):
        _described_group(0).row(given)


def _classes() -> list[tuple[str, str]]:
    return [(module, name) for module, classes in VERSIONED_FIELDS.items() for name in classes]


@pytest.mark.parametrize(("module", "name"), _classes())
def test_every_version_of_a_class_takes_the_fields_of_all(module: str, name: str) -> None:
    (api,) = (api for api in APIS + INTER_BROKER_APIS if api.module == module)
    taken = 0
    for version in range(api.min_version, api.max_version + 1):
        entity_class = getattr(schema_module(api, version, "response"), name, None)
        if entity_class is not None:
            Encoder(entity_class).unwritten(dict.fromkeys(VERSIONED_FIELDS[module][name]))
            taken += 1
    assert taken
