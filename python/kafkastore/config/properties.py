"""Reads and writes Java properties files (``server.properties``): comments, escapes, continued lines, ``=``, ``:`` or
space.

Knows nothing of which keys exist.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPED = {ord(character): f"\\{letter}" for letter, character in {**_ESCAPES, "\\": "\\"}.items()}
_BLANKS = " \t\f"


def parse_properties(text: str) -> dict[str, str]:
    """The keys and values of a properties file; the last of equal keys counts, as in ``java.util.Properties.load``."""
    found: dict[str, str] = {}
    for line in _logical_lines(text):
        key, value = _split(line)
        found[_unescape(key)] = _unescape(value)
    return found


def read_properties(path: str) -> dict[str, str]:
    """Those of a file: UTF-8, with or without its mark; what is not is ISO-8859-1, as Java reads every such file.
    Raises OSError, and ValueError for what is not text or no path."""
    with open(path, "rb") as file:
        data = file.read()
    try:
        return parse_properties(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        if b"\0" in data:
            raise ValueError("it is not text") from None
        return parse_properties(data.decode("iso-8859-1"))


def properties_text(pairs: Mapping[str, str]) -> str:
    """The text of a file with these pairs, in ASCII: Java reads a file as ISO-8859-1. A key has no blank and no sign of
    the format."""
    return "".join(f"{key}={escaped(value)}\n" for key, value in pairs.items())


def escaped(value: str) -> str:
    """A value as it stands in a file."""
    text = value.translate(_ESCAPED)
    text = "\\" + text if text.startswith(" ") else text
    if text.isascii():
        return text
    units = text.encode("utf-16-be", "surrogatepass")
    codes = (int.from_bytes(units[at : at + 2]) for at in range(0, len(units), 2))
    return "".join(chr(code) if code < 128 else f"\\u{code:04x}" for code in codes)


def _logical_lines(text: str) -> list[str]:
    """Lines without comments and blank lines; a line that ends in an odd number of backslashes continues."""
    lines: list[str] = []
    pending: str | None = None
    for raw in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        line = raw.lstrip(_BLANKS)
        if pending is None and (not line or line[0] in "#!"):
            continue
        line = (pending or "") + line
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            pending = line[:-1]
        else:
            lines.append(line)
            pending = None
    if pending is not None:
        lines.append(pending)
    return lines


def _split(line: str) -> tuple[str, str]:
    """Key and value at the first unescaped separator; blanks around it do not count."""
    position = 0
    while position < len(line) and line[position] not in "=:" + _BLANKS:
        position += 2 if line[position] == "\\" else 1
    key = line[:position]
    rest = line[position:].lstrip(_BLANKS)
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip(_BLANKS)
    return key, rest


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    out: list[str] = []
    position = 0
    while position < len(text):
        character = text[position]
        position += 1
        if character != "\\" or position >= len(text):
            if character != "\\":
                out.append(character)
            continue
        escaped = text[position]
        position += 1
        if escaped == "u" and _is_hex(text[position : position + 4]):
            out.append(chr(int(text[position : position + 4], 16)))
            position += 4
        else:
            out.append(_ESCAPES.get(escaped, escaped))
    made = "".join(out)
    # characters beyond 16 bits are two escapes
    return made if made.isascii() else made.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _is_hex(digits: str) -> bool:
    return len(digits) == 4 and all(digit in "0123456789abcdefABCDEF" for digit in digits)
