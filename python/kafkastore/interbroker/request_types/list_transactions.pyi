"""Requests of ListTransactions, versions 0 to 2; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from typing import TypeAlias, final

@final
@dataclass(frozen=True, kw_only=True)
class ListTransactionsRequestV0:
    """Version 0."""

    state_filters: tuple[str, ...]
    producer_id_filters: tuple[int, ...]

@final
@dataclass(frozen=True, kw_only=True)
class ListTransactionsRequestV1:
    """Version 1."""

    state_filters: tuple[str, ...]
    producer_id_filters: tuple[int, ...]
    duration_filter: int

@final
@dataclass(frozen=True, kw_only=True)
class ListTransactionsRequestV2:
    """Version 2."""

    state_filters: tuple[str, ...]
    producer_id_filters: tuple[int, ...]
    duration_filter: int
    transactional_id_pattern: str | None

ListTransactionsRequest: TypeAlias = ListTransactionsRequestV0 | ListTransactionsRequestV1 | ListTransactionsRequestV2
