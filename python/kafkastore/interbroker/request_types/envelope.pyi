"""Requests of Envelope, versions 0; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from typing import final

@final
@dataclass(frozen=True, kw_only=True)
class EnvelopeRequest:
    """Version 0."""

    request_data: bytes
    request_principal: bytes | None
    client_host_address: bytes
