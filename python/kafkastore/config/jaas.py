"""A JAAS configuration of one login module, as ``sasl.jaas.config`` holds it (KIP-85)::

    org.apache.kafka.common.security.plain.PlainLoginModule required username="admin" user_alice="...";

Comments (``//``, ``/* */``), quoted and bare values, and escapes in quotes are read. No message has a value, which may
be a password. Never: loads a class.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from kafkastore.errors import ConfigError

FLAGS: Final = ("required", "requisite", "sufficient", "optional")

_TOKEN: Final = re.compile(
    r"\s+|//[^\n]*|/\*.*?\*/"
    r"""|(?P<quoted>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
    r"""|(?P<sign>[=;])|(?P<word>[^\s=;"']+)""",
    re.DOTALL,
)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


class LoginModule(NamedTuple):
    """The Java name of a login module, and its options."""

    name: str
    options: dict[str, str]

    def __repr__(self) -> str:
        return f"LoginModule({self.name}, hidden)"


class _Token(NamedTuple):
    text: str
    is_sign: bool


def parse_jaas(key: str, text: str) -> LoginModule:
    """The one login module of ``text``, the value of ``key``. Raises ConfigError."""
    tokens = _tokens(key, text)
    if len(tokens) < 2 or tokens[0].is_sign or tokens[1].is_sign:
        raise _wrong(key, "give the class of a login module, required, its options and a semicolon")
    name, flag = tokens[0].text, tokens[1].text
    if flag.lower() not in FLAGS:
        raise _wrong(key, f"the word after {name} has to be {' or '.join(FLAGS)}")
    options: dict[str, str] = {}
    at = 2
    while at < len(tokens) and tokens[at] != _Token(";", is_sign=True):
        option, rest = tokens[at], tokens[at + 1 : at + 3]
        if option.is_sign or len(rest) < 2 or rest[0] != _Token("=", is_sign=True) or rest[1].is_sign:
            raise _wrong(key, 'an option is not name=value, as in user_alice="..."; the last ends with a semicolon')
        options[option.text] = rest[1].text
        at += 3
    if at == len(tokens):
        raise _wrong(key, "it does not end with a semicolon")
    if at + 1 < len(tokens):
        raise _wrong(key, "give one login module; the key of each mechanism has its own")
    return LoginModule(name, options)


def parse_login(key: str, text: str) -> tuple[str, str]:
    """The user and the password of the login module of ``text``, the value of ``key``. Raises ConfigError."""
    options = parse_jaas(key, text).options if text.strip() else {}
    user, password = options.get("username"), options.get("password")
    if not user or not password:
        raise ConfigError(f'{key} has no username and password; give them as username="kafka" password="..."')
    return user, password


def _tokens(key: str, text: str) -> list[_Token]:
    found, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _wrong(key, "a quotation mark is not closed")
        at = match.end()
        if (quoted := match["quoted"]) is not None:
            found.append(_Token(re.sub(r"\\(.)", _unescaped, quoted[1:-1], flags=re.DOTALL), is_sign=False))
        elif (sign := match["sign"]) is not None:
            found.append(_Token(sign, is_sign=True))
        elif (word := match["word"]) is not None:
            found.append(_Token(word, is_sign=False))
    return found


def _unescaped(match: re.Match[str]) -> str:
    return _ESCAPES.get(match[1], match[1])


def _wrong(key: str, reason: str) -> ConfigError:
    return ConfigError(f"Invalid value [hidden] for configuration {key}: {reason}")
