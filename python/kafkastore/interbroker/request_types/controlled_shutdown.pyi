"""Requests of ControlledShutdown, versions 3; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from typing import final

@final
@dataclass(frozen=True, kw_only=True)
class ControlledShutdownRequest:
    """Version 3."""

    broker_id: int
    broker_epoch: int
