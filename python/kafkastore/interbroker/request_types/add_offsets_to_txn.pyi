"""Requests of AddOffsetsToTxn, versions 0 to 4; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from typing import final

@final
@dataclass(frozen=True, kw_only=True)
class AddOffsetsToTxnRequest:
    """Versions 0 to 4."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    group_id: str
