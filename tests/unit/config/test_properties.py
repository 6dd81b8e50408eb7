"""Java properties files are read as ``java.util.Properties.load`` reads them."""

from __future__ import annotations

import pytest

from kafkastore.config.properties import parse_properties


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=1\nb:2\nc 3\n", {"a": "1", "b": "2", "c": "3"}),
        ("  a =  1  \n", {"a": "1  "}),
        ("# c\n! c\n\n  # c\na=1", {"a": "1"}),
        ("a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}),
        ("a=one,\\\n   two", {"a": "one,two"}),
        ("a=x\\\\\nb=1", {"a": "x\\", "b": "1"}),
        ("a\\=b=c\\:d", {"a=b": "c:d"}),
        ("a=\\u00e9\\t\\q", {"a": "é\tq"}),
        ("a\nb=", {"a": "", "b": ""}),
        ("a=1\na=2", {"a": "2"}),
        ("a==b", {"a": "=b"}),
        ("a=1#2", {"a": "1#2"}),
        ("a=x\\\n# not a comment", {"a": "x# not a comment"}),
        ("", {}),
    ],
)
def test_properties_are_read_as_java_reads_them(text: str, expected: dict[str, str]) -> None:
    assert parse_properties(text) == expected
