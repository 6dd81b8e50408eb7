"""Whether a text is a regular expression of RE2 (https://github.com/google/re2/wiki/Syntax), as brokers take them for
subscriptions of consumers (KIP-848), in the words of RE2/J that Kafka's tool prints. Nothing is matched here.

```text
expression  branch ("|" branch)*
branch      (atom repeat?)*
repeat      "*" "+" "?" "{n}" "{n,}" "{n,m}", then "?"; no second one behind it
atom        literal "." "^" "$" class escape "(" expression ")" "(?P<name>" "(?<name>" "(?flags)" "(?flags:"
```
"""

from __future__ import annotations

import re
from typing import Final

MOST_REPEATS: Final = 1000
REPEAT: Final = re.compile(r"\{(\d+)(?:(,)(\d*))?\}")
NAMED: Final = re.compile(r"\(\?P?<([^>]*)>")
GROUP_FLAGS: Final = re.compile(r"\(\?([imsU]*)(-[imsU]+)?([:)])")
HEX: Final = re.compile(r"x(?:\{([0-9A-Fa-f]+)\}|[0-9A-Fa-f]{2})")
OCTAL: Final = re.compile(r"[1-7][0-7]{1,2}|0[0-7]{0,2}")
PROPERTY: Final = re.compile(r"[pP](?:\{(\^?)([^}]*)\}|(.))", re.DOTALL)
POSIX: Final = re.compile(r"\[:(\^?)(\w+):\]")
POSIX_NAMES: Final = "alnum alpha ascii blank cntrl digit graph lower print punct space upper word xdigit"
POSIX_CLASSES: Final = frozenset(POSIX_NAMES.split())
PERL_CLASSES: Final = frozenset("dDsSwW")
CONTROL: Final = dict(zip("aftnrv", "\a\f\t\n\r\v", strict=True))
ANCHORS: Final = frozenset("AbBz")
MOST: Final = 0x10FFFF
CATEGORIES: Final = """
Any C Cc Cf Co Cs L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs
"""
SCRIPTS: Final = """
Arabic Armenian Avestan Balinese Bamum Batak Bengali Bopomofo Brahmi Braille Buginese Buhid Canadian_Aboriginal
Carian Cham Cherokee Common Coptic Cuneiform Cypriot Cyrillic Deseret Devanagari Egyptian_Hieroglyphs Ethiopic
Georgian Glagolitic Gothic Greek Gujarati Gurmukhi Han Hangul Hanunoo Hebrew Hiragana Imperial_Aramaic Inherited
Inscriptional_Pahlavi Inscriptional_Parthian Javanese Kaithi Kannada Katakana Kayah_Li Kharoshthi Khmer Lao
Latin Lepcha Limbu Linear_B Lisu Lycian Lydian Malayalam Mandaic Meetei_Mayek Mongolian Myanmar New_Tai_Lue Nko
Ogham Ol_Chiki Old_Italic Old_Persian Old_South_Arabian Old_Turkic Oriya Osmanya Phags_Pa Phoenician Rejang
Runic Samaritan Saurashtra Shavian Sinhala Sundanese Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le Tai_Tham
Tai_Viet Tamil Telugu Thaana Thai Tibetan Tifinagh Ugaritic Unknown Vai Yi
"""
"""Of Unicode, that RE2/J knows."""
PROPERTIES: Final = frozenset((CATEGORIES + SCRIPTS).split())
BAD_ESCAPE: Final = "invalid escape sequence"
BAD_RANGE: Final = "invalid character class range"
BAD_PERL: Final = "invalid or unsupported Perl syntax"


class _FaultError(Exception):
    """What is wrong."""


def fault_of(text: str) -> str | None:
    """What is wrong with it; None if it is right."""
    try:
        _Reader(text).read()
    except _FaultError as fault:
        return str(fault)
    return None


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._names: set[str] = set()
        self._open = 0
        self._has_atom = False
        self._is_repeated = False

    def read(self) -> None:
        while self._at < len(self._text):
            self._step(self._text[self._at])
        if self._open:
            raise _FaultError("missing closing )")

    def _step(self, char: str) -> None:
        if char == "(":
            self._group()
        elif char == ")":
            if not self._open:
                raise _FaultError("regexp/syntax: internal error")
            self._open -= 1
            self._atom(1)
        elif char == "|":
            self._at += 1
            self._has_atom = self._is_repeated = False
        elif char == "[":
            self._class()
        elif char in "*+?":
            self._repeat(1)
        elif char == "{" and (found := REPEAT.match(self._text, self._at)):
            self._counted(found)
        elif char == "\\":
            self._escape()
        else:
            self._atom(1)
            self._is_repeated = char == "{"  # one that counts nothing is taken for itself, but not repeated

    def _atom(self, length: int) -> None:
        self._at += length
        self._has_atom, self._is_repeated = True, False

    def _repeat(self, length: int) -> None:
        if not self._has_atom:
            raise _FaultError("missing argument to repetition operator")
        if self._is_repeated:
            raise _FaultError("invalid nested repetition operator")
        self._at += length
        if self._text.startswith("?", self._at):
            self._at += 1
        self._is_repeated = True

    def _counted(self, found: re.Match[str]) -> None:
        least, _, most = found.groups()
        bounds = [int(one) for one in (least, most) if one]
        if max(bounds) > MOST_REPEATS or bounds != sorted(bounds):
            raise _FaultError("invalid repeat count")
        self._repeat(len(found[0]))

    def _group(self) -> None:
        text = self._text
        if not text.startswith("(?", self._at):
            self._at += 1
            self._open += 1
        elif text.startswith(("(?P<", "(?<"), self._at):
            self._named()
        else:
            found = GROUP_FLAGS.match(text, self._at)
            if found is None:
                raise _FaultError(BAD_PERL)
            self._at = found.end()
            if found[3] == ")":
                self._is_repeated = False
                return
            self._open += 1
        self._has_atom = self._is_repeated = False

    def _named(self) -> None:
        found = NAMED.match(self._text, self._at)
        if found is None or not re.fullmatch(r"[A-Za-z0-9_]+", found[1]):
            raise _FaultError("invalid named capture")
        if found[1] in self._names:
            raise _FaultError("duplicate capture group name")
        self._names.add(found[1])
        self._at = found.end()
        self._open += 1

    def _escape(self) -> None:
        at = self._at + 1
        following = self._text[at : at + 1]
        if not following:
            raise _FaultError("trailing backslash at end of expression")
        if following == "Q":
            end = self._text.find("\\E", at)
            quoted = self._text[at + 1 :] if end < 0 else self._text[at + 1 : end]
            self._at = len(self._text) if end < 0 else end + 2
            if quoted:
                self._atom(0)
        elif following in ANCHORS or following in PERL_CLASSES:
            self._atom(2)
        elif following in "pP":
            self._atom(1 + self._property(at))
        else:
            self._atom(1 + self._char_escape(at)[1])

    def _property(self, at: int) -> int:
        """The length of a Unicode class."""
        found = PROPERTY.match(self._text, at)
        name = found and (found[2] if found[3] is None else found[3])
        if found is None or not name or name not in PROPERTIES:
            raise _FaultError(BAD_RANGE)
        return len(found[0])

    def _char_escape(self, at: int) -> tuple[str, int]:
        """The character that an escape stands for, and the length of the escape behind its backslash."""
        following = self._text[at : at + 1]
        if found := OCTAL.match(self._text, at):
            return chr(int(found[0], 8)), len(found[0])
        if following == "x" and (found := HEX.match(self._text, at)):
            code = int(found[1] or found[0][1:], 16)
            if code <= MOST:
                return chr(code), len(found[0])
        if following in CONTROL:
            return CONTROL[following], 1
        if following and not (following.isascii() and following.isalnum()):
            return following, 1
        raise _FaultError(BAD_ESCAPE if following else "trailing backslash at end of expression")

    # ---- classes
    def _class(self) -> None:
        at = self._at + 1
        at += self._text.startswith("^", at)
        is_first = True
        while is_first or not self._text.startswith("]", at):
            if at >= len(self._text):
                raise _FaultError("missing closing ]")
            at = self._class_item(at, is_first=is_first)
            is_first = False
        self._at = at + 1
        self._atom(0)

    def _class_item(self, at: int, *, is_first: bool) -> int:
        text = self._text
        if text[at] == "-" and not is_first and text[at + 1 : at + 2] != "]":
            following = text[at + 1 : at + 2]
            if following:  # with Perl's syntax a - is taken anywhere before the end
                return self._range(at)
        if text.startswith("[:", at) and text.find(":]", at + 2) >= 0:
            found = POSIX.match(text, at)
            if found is None or found[2] not in POSIX_CLASSES:
                raise _FaultError(BAD_RANGE)
            return found.end()
        if text[at] == "\\" and text[at + 1 : at + 2] in PERL_CLASSES:
            return at + 2
        if text[at] == "\\" and text[at + 1 : at + 2] in ("p", "P"):
            return at + 1 + self._property(at + 1)
        return self._range(at)

    def _range(self, at: int) -> int:
        low, at = self._class_char(at)
        if not self._text.startswith("-", at) or self._text[at + 1 : at + 2] in ("]", ""):
            return at
        high, end = self._class_char(at + 1)
        if high < low:
            raise _FaultError(BAD_RANGE)
        return end

    def _class_char(self, at: int) -> tuple[str, int]:
        if at >= len(self._text):
            raise _FaultError("missing closing ]")
        if self._text[at] != "\\":
            return self._text[at], at + 1
        char, length = self._char_escape(at + 1)
        return char, at + 1 + length
