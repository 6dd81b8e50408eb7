"""Messages as Python objects and back, after the table of ``rust/protocol``: what the crate's own tests do not see."""

from __future__ import annotations

import enum
import gc
import time
import uuid
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from kafkastore._core import (
    LazyRows,
    TooManyRowsError,
    UnknownFieldError,
    decode_message,
    decode_request,
    decode_response,
    message_encoder,
    message_type,
    request_encoder,
    response_encoder,
)

JOIN_GROUP, LIST_GROUPS, DESCRIBE_GROUPS, CREATE_TOPICS, DELETE_TOPICS, DESCRIBE_CONFIGS = 11, 16, 15, 19, 20, 32

GROUP = {
    "error_code": 0,
    "group_id": "g",
    "group_state": "Empty",
    "protocol_type": "consumer",
    "protocol_data": "",
    "members": [],
}
OF_OTHER_VERSIONS = {"authorized_operations": 7, "error_message": "why"}


def _join(version: int, **more: Any) -> dict[str, Any]:
    given = {
        "group_id": "g",
        "session_timeout_ms": 1,
        "member_id": "m",
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": b"x"}],
    }
    return given | ({"rebalance_timeout_ms": 2} if version else {}) | more


# ---- reading
@pytest.mark.parametrize("version", range(10))
def test_request_of_any_version_is_an_object_of_one_type(version: int) -> None:
    body = request_encoder(JOIN_GROUP, version).row(_join(version))
    request = decode_request(JOIN_GROUP, version, body)
    assert type(request) is message_type("JoinGroupRequest")
    assert type(request).__name__ == "JoinGroupRequest"
    assert request.protocols == (("range", b"x"),)
    assert request.rebalance_timeout_ms == (2 if version else -1)
    assert request.group_instance_id is None
    assert request_encoder(JOIN_GROUP, version).bytes_of(request) == body
    assert repr(request).startswith(
        "kafkastore.protocol.join_group.JoinGroupRequest(group_id='g', session_timeout_ms=1,"
    )


def test_object_cannot_be_changed() -> None:
    request = decode_request(LIST_GROUPS, 0, b"")
    with pytest.raises((AttributeError, TypeError)):
        request.states_filter = ("Empty",)
    assert request.states_filter == request.types_filter == ()


def test_malformed_body_raises_one_sentence() -> None:
    with pytest.raises(ValueError, match=r"^more elements are declared than the bytes that follow can hold$"):
        decode_request(LIST_GROUPS, 4, b"\xff\xff\xff\xff\x0f\0")
    with pytest.raises(ValueError, match=r"^bytes follow the last field$"):
        decode_response(LIST_GROUPS, 0, bytes(11))
    for key, version in ((LIST_GROUPS, 99), (-1, 0)):
        with pytest.raises(KeyError, match="the table has no"):
            decode_request(key, version, b"")


def test_request_of_more_rows_than_its_api_takes_is_refused() -> None:
    body = request_encoder(LIST_GROUPS, 4).row({"states_filter": ["a"] * 6})
    assert len(decode_request(LIST_GROUPS, 4, body, 6).states_filter) == 6
    with pytest.raises(TooManyRowsError, match="more rows than this API takes"):
        decode_request(LIST_GROUPS, 4, body, 5)


def test_uuid_is_bytes_or_none() -> None:
    encoder = request_encoder(DELETE_TOPICS, 6)
    ids: list[Any] = [b"0123456789abcdef", uuid.UUID(int=7), None]
    body = encoder.row({"topics": [{"name": None, "topic_id": one} for one in ids], "timeout_ms": 1})
    topics = decode_request(DELETE_TOPICS, 6, body).topics
    assert [topic.topic_id for topic in topics] == [ids[0], ids[1].bytes, None]


def test_record_of_an_internal_topic_is_read_by_its_name() -> None:
    with pytest.raises(UnknownFieldError, match="group_metadata: no version of GroupMetadataValue has"):
        message_encoder("GroupMetadataValue", 3).row({"protocolType": 1})
    body = message_encoder("OffsetCommitKey", 0).row({"group": "g", "topic": "t", "partition": 3})
    assert decode_message("OffsetCommitKey", 0, body) == ("g", "t", 3)


# ---- writing
def test_field_that_only_other_versions_have_is_left_out_of_a_response() -> None:
    encoder = response_encoder(DESCRIBE_GROUPS, 0, "DescribedGroup")
    assert encoder.row(GROUP | OF_OTHER_VERSIONS) == encoder.row(GROUP)
    newest = response_encoder(DESCRIBE_GROUPS, 6, "DescribedGroup")
    assert newest.row(GROUP | OF_OTHER_VERSIONS) != newest.row(GROUP | {"error_message": None})


@pytest.mark.parametrize("version", [0, 6])
@pytest.mark.parametrize("others", [{}, OF_OTHER_VERSIONS], ids=["alone", "beside-other-versions"])
def test_field_that_no_version_has_raises_with_its_name(version: int, others: dict[str, Any]) -> None:
    encoder = response_encoder(DESCRIBE_GROUPS, version, "DescribedGroup")
    given = GROUP | {"error_message": None} | others | {"eror_message": "why"}
    named = "describe_groups: no version of DescribedGroup has the field 'eror_message'"
    for write in (encoder.row, encoder.unwritten):
        with pytest.raises(UnknownFieldError, match=named):
            write(given)


def test_value_that_is_left_out_or_of_a_wrong_type_raises_with_its_name() -> None:
    encoder = response_encoder(DESCRIBE_CONFIGS, 4, "DescribeConfigsResult")
    good: dict[str, Any] = {
        "error_code": 0,
        "error_message": None,
        "resource_type": 2,
        "resource_name": "n",
        "configs": [],
    }
    assert encoder.row(good)
    for name, value, error, message in (
        ("resource_name", None, TypeError, "resource_name is null"),
        ("resource_name", 7, TypeError, "resource_name cannot be written: a int"),
        ("resource_type", 128, ValueError, "resource_type cannot be 128"),
        ("resource_type", 1 << 70, ValueError, f"resource_type cannot be {1 << 70}"),
        ("resource_type", "2", TypeError, "resource_type cannot be written: a str"),
        ("configs", None, TypeError, "configs is null"),
        ("configs", [7], TypeError, "a int is no DescribeConfigsResourceResult"),
        ("configs", [good], UnknownFieldError, "no version of DescribeConfigsResourceResult has the field"),
    ):
        with pytest.raises((TypeError, ValueError), match=message) as raised:
            encoder.row(good | {name: value})
        assert raised.type is error
    for write in (encoder.row, encoder.unwritten):
        with pytest.raises(TypeError, match=r"DescribeConfigsResult\.error_message is not given"):
            write({"error_code": 0})


def test_error_code_is_any_number() -> None:
    class Code(enum.IntEnum):
        NOT_COORDINATOR = 16

    encoder = response_encoder(DESCRIBE_GROUPS, 0, "DescribedGroup")
    assert encoder.row(GROUP | {"error_code": Code.NOT_COORDINATOR}) == encoder.row(GROUP | {"error_code": 16})
    assert encoder.row(GROUP | {"error_code": 30_000})


def test_request_says_nothing_that_its_version_cannot_carry() -> None:
    with pytest.raises(ValueError, match=r"JoinGroupRequest\.group_instance_id is not in version 4"):
        request_encoder(JOIN_GROUP, 4).row(_join(4, group_instance_id="i"))
    request_encoder(JOIN_GROUP, 4).row(_join(4, group_instance_id=None, reason="ignorable"))
    typed = decode_request(JOIN_GROUP, 5, request_encoder(JOIN_GROUP, 5).row(_join(5, group_instance_id="i")))
    with pytest.raises(ValueError, match="is not in version 4"):
        request_encoder(JOIN_GROUP, 4).bytes_of(typed)


@pytest.mark.parametrize("letter", ["x", "é", "€"])
def test_string_longer_than_its_field_is_cut_in_a_response_and_refused_in_a_request(letter: str) -> None:
    row = response_encoder(DESCRIBE_GROUPS, 6, "DescribedGroup").row(GROUP | {"error_message": letter * 40_000})
    body = response_encoder(DESCRIBE_GROUPS, 6).row({"groups": [row]})
    (group,) = decode_response(DESCRIBE_GROUPS, 6, body).groups
    assert group.error_message == letter * (32767 // len(letter.encode()))
    with pytest.raises(ValueError, match=r"JoinGroupRequest\.group_id is longer than 32767 bytes"):
        request_encoder(JOIN_GROUP, 4).row(_join(4, group_id=letter * 40_000))


def test_every_form_of_a_struct_and_of_an_array_gives_the_same_bytes() -> None:
    result = {"name": "t", "topic_id": b"0123456789abcdef", "error_code": 0, "error_message": None, "configs": None}
    part = response_encoder(CREATE_TOPICS, 7, "CreatableTopicResult")
    whole = response_encoder(CREATE_TOPICS, 7)
    written = whole.row({"topics": [part.row(result)]})
    (typed,) = decode_response(CREATE_TOPICS, 7, written).topics
    for form in (result, part.unwritten(result), typed):
        for array in ([form], (form,), {0: form}.values(), LazyRows([form], lambda one: one)):
            assert whole.row({"topics": array}) == written
            assert b"".join(whole.unwritten({"topics": array}).pieces()) == written


def test_default_of_a_tagged_field_is_not_written() -> None:
    result = {"name": "t", "topic_id": None, "error_code": 0, "error_message": None, "configs": None}
    part = response_encoder(CREATE_TOPICS, 7, "CreatableTopicResult")
    assert part.row(result) == part.row(result | {"topic_config_error_code": 0})
    assert part.row(result | {"topic_config_error_code": 29}).endswith(b"\x01\x00\x02\x00\x1d")


def test_misspelt_field_beside_one_that_is_left_out_raises() -> None:
    """The row then has as many fields as the struct."""
    given = {name: value for name, value in GROUP.items() if name != "group_id"} | {"group": "g"}
    encoder = response_encoder(DESCRIBE_GROUPS, 0, "DescribedGroup")
    for write in (encoder.row, encoder.unwritten):
        with pytest.raises(UnknownFieldError, match="'group'"):
            write(given)


# ---- piece by piece
def test_rows_are_made_when_they_are_written_and_let_go() -> None:
    class Item:
        pass

    seen: list[weakref.ref[Item]] = []

    def make(number: int) -> dict[str, Any]:
        item = Item()
        seen.append(weakref.ref(item))
        time.sleep(0.002)  # longer than a piece takes
        return {"error_code": number, "group_id": "g", "group_state": "", "protocol_type": "", "protocol_data": "",
                "members": LazyRows([item], lambda _: b""), "error_message": None}  # fmt: skip

    unwritten = response_encoder(DESCRIBE_GROUPS, 6).unwritten({"groups": LazyRows(range(5), make)})
    assert len(LazyRows(range(5), make)) == 5
    assert seen == []
    pieces = unwritten.pieces()
    count = 0
    for count, _ in enumerate(pieces, start=1):  # noqa: B007
        gc.collect()
        assert sum(one() is not None for one in seen) <= 1
    assert len(seen) == 5
    assert count >= 5


def test_piece_ends_at_64_kib() -> None:
    rows = LazyRows(range(1000), lambda _: GROUP | {"error_message": "x" * 1000})
    pieces = list(response_encoder(DESCRIBE_GROUPS, 6).unwritten({"groups": rows}).pieces())
    assert all(len(piece) < 66_000 for piece in pieces)
    assert len(decode_response(DESCRIBE_GROUPS, 6, b"".join(pieces)).groups) == 1000


def test_array_that_changes_its_size_while_it_is_written_raises() -> None:
    class Wrong:
        def __len__(self) -> int:
            return 2

        def __iter__(self) -> Iterator[str]:
            yield "a"

    with pytest.raises(RuntimeError, match="states_filter changed its size"):
        request_encoder(LIST_GROUPS, 4).row({"states_filter": Wrong()})
    with pytest.raises(RuntimeError, match="states_filter changed its size"):
        list(request_encoder(LIST_GROUPS, 4).unwritten({"states_filter": Wrong()}).pieces())


def test_error_of_a_row_ends_the_pieces() -> None:
    def make(number: int) -> Any:
        if number == 3:
            msg = "the row"
            raise LookupError(msg)
        return GROUP | {"error_message": None}

    pieces = response_encoder(DESCRIBE_GROUPS, 6).unwritten({"groups": LazyRows(range(5), make)}).pieces()
    with pytest.raises(LookupError, match="the row"):
        list(pieces)
    assert list(pieces) == []
