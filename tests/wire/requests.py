"""Well-formed requests as bytes, encoded by kio; the wire tests cut and corrupt them."""

from __future__ import annotations

import importlib
import io
from dataclasses import dataclass
from typing import Any

from kio.serial import entity_writer

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


def encode(api: str, version: int, build: Any) -> Encoded:
    """`build(module)` returns the request entity of kio's module for that API and version."""
    module = importlib.import_module(f"kio.schema.{api}.v{version}.request")
    entity = build(module)
    buffer = io.BytesIO()
    entity_writer(type(entity))(buffer, entity)
    return Encoded(f"{api}-v{version}", int(entity.__api_key__), version, bool(entity.__flexible__), buffer.getvalue())


def decode(api: str, version: int, answer: bytes) -> Any:
    """kio's entity of a response; ``answer`` begins after the correlation id."""
    from kio.serial import entity_reader

    module = importlib.import_module(f"kio.schema.{api}.v{version}.response")
    name = "".join(part.capitalize() for part in api.split("_")) + "Response"
    entity = getattr(module, name)
    flexible_header = bool(entity.__flexible__) and api != "api_versions"
    result, _ = entity_reader(entity)(answer, 1 if flexible_header else 0)
    return result


def _topics(module: Any, entity: str, **fields: Any) -> tuple[Any, ...]:
    return (getattr(module, entity)(**fields),)


WELL_FORMED = [
    encode("metadata", 1, lambda m: m.MetadataRequest(topics=_topics(m, "MetadataRequestTopic", name="nowhere"))),
    encode("api_versions", 3, lambda m: m.ApiVersionsRequest(client_software_name="wire", client_software_version="1")),
    encode("find_coordinator", 2, lambda m: m.FindCoordinatorRequest(key="some-group", key_type=0)),
    encode("list_groups", 4, lambda m: m.ListGroupsRequest(states_filter=("Stable", "Empty"))),
]
