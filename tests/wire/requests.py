"""Well-formed requests as bytes; the wire tests cut and corrupt them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from parity.messages import request
from peer.wire_socket import request_header


@dataclass(frozen=True)
class Encoded:
    """One request, ready to be sent."""

    name: str
    api_key: int
    api_version: int
    flexible: bool
    body: bytes

    def header(self, correlation_id: int = 1) -> bytes:
        return request_header(self.api_key, self.api_version, correlation_id, self.flexible)


def encode(api: str, version: int, **given: Any) -> Encoded:
    made = request(api, version, given)
    return Encoded(f"{api}-v{version}", made.api_key, version, made.is_flexible, made.body())


WELL_FORMED = [
    encode("metadata", 1, topics=[{"name": "nowhere"}]),
    encode("api_versions", 3, client_software_name="wire", client_software_version="1"),
    encode("find_coordinator", 2, key="some-group", key_type=0),
    encode("list_groups", 4, states_filter=("Stable", "Empty")),
]
