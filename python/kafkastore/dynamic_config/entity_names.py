"""Names of users and clients as parts of the store's paths: percent-encoded, as Kafka's Sanitizer writes them."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote, unquote

from kafkastore.errors import InvalidRequestError

MAX_NAME: Final = 1000
"""Characters, as the store has it. Longer names serve nobody, and requests of many would hold up the loop."""


def check_name_length(what: str, name: str) -> None:
    """Raises InvalidRequestError."""
    if len(name) > MAX_NAME or len(sanitize(name)) > MAX_NAME:
        raise InvalidRequestError(
            f"The {what} has more than {MAX_NAME} characters, percent-encoded; give it a shorter name"
        )


def sanitize(name: str) -> str:
    """Letters, digits, ``.``, ``-`` and ``_`` stay; every other byte of the UTF-8 text becomes ``%XX``."""
    return quote(name, safe="").replace("~", "%7E")


def desanitize(sanitized: str) -> str:
    """The name that :func:`sanitize` was given. A node that was written by hand gives some name, never an error."""
    return unquote(sanitized, errors="replace")
