"""Requests of DescribeTransactions, versions 0; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from typing import final

@final
@dataclass(frozen=True, kw_only=True)
class DescribeTransactionsRequest:
    """Version 0."""

    transactional_ids: tuple[str, ...]
