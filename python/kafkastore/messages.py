"""A request that this process makes, for another broker or for its own handlers: an API, a version, and the fields as
plain values by Kafka's names. No I/O."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkastore._core import decode_request, decode_response, is_flexible, message_encoder, message_key

if TYPE_CHECKING:
    from collections.abc import Mapping


MOST_VERSIONS: Final = 32
"""More than any API of Kafka has."""


class OutgoingRequest(NamedTuple):
    """``fields``: structs are mappings, arrays any collections, a UUID 16 bytes; what is left out has its default."""

    api: str
    """Kafka's name, such as ``AlterPartition``."""
    version: int
    fields: Mapping[str, Any]

    @property
    def api_key(self) -> int:
        key = message_key(f"{self.api}Request")
        assert key is not None, self.api
        return key

    @property
    def is_flexible(self) -> bool:
        return is_flexible(f"{self.api}Request", self.version)

    def body(self) -> bytes:
        """Raises ValueError or TypeError for values that the version does not take."""
        return message_encoder(f"{self.api}Request", self.version).row(dict(self.fields))

    def decoded(self) -> Any:
        """The request as a broker reads it."""
        return decode_request(self.api_key, self.version, self.body())

    def response(self, body: bytes) -> Any:
        """The answer's body, read. Raises ValueError."""
        return decode_response(self.api_key, self.version, body)


@cache
def request_versions(api: str) -> tuple[int, int]:
    """The lowest and the highest version of an API's request that the table has."""
    known = [version for version in range(MOST_VERSIONS) if _has_version(api, version)]
    return known[0], known[-1]


def _has_version(api: str, version: int) -> bool:
    try:
        message_encoder(f"{api}Request", version)
    except KeyError:
        return False
    return True


def replaced(message: Any, **fields: Any) -> Any:
    """A message like another one, of which some fields are others."""
    kind = type(message)
    return kind([fields[name] if name in fields else getattr(message, name) for name in kind.__match_args__])
