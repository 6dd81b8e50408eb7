"""Requests of DescribeDelegationToken, versions 0 to 3; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from typing import final

@final
@dataclass(frozen=True, kw_only=True)
class DescribeDelegationTokenOwner:
    """Versions 0 to 3."""

    principal_type: str
    principal_name: str

@final
@dataclass(frozen=True, kw_only=True)
class DescribeDelegationTokenRequest:
    """Versions 0 to 3."""

    owners: tuple[DescribeDelegationTokenOwner, ...] | None
