"""Requests of InitProducerId, versions 0 to 5; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias, final

@final
@dataclass(frozen=True, kw_only=True)
class InitProducerIdRequestV0:
    """Versions 0 to 2."""

    transactional_id: str | None
    transaction_timeout: timedelta

@final
@dataclass(frozen=True, kw_only=True)
class InitProducerIdRequestV3:
    """Versions 3 to 5."""

    transactional_id: str | None
    transaction_timeout: timedelta
    producer_id: int
    producer_epoch: int

InitProducerIdRequest: TypeAlias = InitProducerIdRequestV0 | InitProducerIdRequestV3
