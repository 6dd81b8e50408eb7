"""shapes.program_for covers every request of kio, and encodes each kind of field."""

from __future__ import annotations

import dataclasses
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import pytest
from kio.schema.index import schema_name_map
from kio.static.constants import EntityType

from kafkastore.interbroker.shapes import program_for
from unit.opcodes import opcodes_of

if TYPE_CHECKING:
    from collections.abc import Iterator


def request_classes() -> Iterator[Any]:
    for versions in schema_name_map.values():
        for entities in versions.values():
            if EntityType.request in entities:
                yield resolve_name(entities[EntityType.request])


def test_every_request_of_kio_has_a_program_that_few_opcodes_make() -> None:
    classes = list(request_classes())
    programs: list[bytes] = []
    spent = opcodes_of(lambda: programs.extend(program_for(entity_class) for entity_class in classes))
    assert len(programs) > 300
    assert all(program[0] == 1 for program in programs)
    assert spent / len(programs) < 4000  # well below a millisecond


def test_program_of_heartbeat_is_its_fields_in_order() -> None:
    heartbeat = resolve_name("kio.schema.heartbeat.v4.request:HeartbeatRequest")
    assert program_for(heartbeat) == bytes([1, 1, 4, 4, 2, 1, 4, 4, 2, 4, 3, 0])


def test_tagged_fields_come_last_by_tag_and_are_never_null() -> None:
    fetch = resolve_name("kio.schema.fetch.v15.request:FetchRequest")
    program = program_for(fetch)
    replica_state = bytes([7, 1, 2, 1, 4, 1, 8, 0])
    assert program.endswith(bytes([2, 0, 0, 4, 2, 0, 1]) + replica_state)


def test_array_of_ids_is_null_only_if_the_array_is_annotated_so() -> None:
    registration = resolve_name("kio.schema.broker_registration.v2.request:BrokerRegistrationRequest")
    assert bytes([6, 2, 1, 16]) in program_for(registration)


def test_field_of_an_unknown_kind_is_named() -> None:
    @dataclasses.dataclass
    class Odd:
        __flexible__ = True
        size: int = dataclasses.field(metadata={"kafka_type": "int24"})

    with pytest.raises(TypeError, match="field size has the unknown kafka_type 'int24'"):
        program_for(Odd)  # type: ignore[arg-type]
