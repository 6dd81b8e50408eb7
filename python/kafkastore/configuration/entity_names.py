"""Names of users and clients as parts of the store's paths: percent-encoded, as Kafka's Sanitizer writes them."""

from __future__ import annotations

from urllib.parse import quote, unquote


def sanitize(name: str) -> str:
    """Letters, digits, ``.``, ``-`` and ``_`` stay; every other byte of the UTF-8 text becomes ``%XX``."""
    return quote(name, safe="").replace("~", "%7E")


def desanitize(sanitized: str) -> str:
    """The name that :func:`sanitize` was given. A node that was written by hand gives some name, never an error."""
    return unquote(sanitized, errors="replace")
