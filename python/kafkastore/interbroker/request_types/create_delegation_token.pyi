"""Requests of CreateDelegationToken, versions 0 to 3; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias, final

@final
@dataclass(frozen=True, kw_only=True)
class CreatableRenewers:
    """Versions 0 to 3."""

    principal_type: str
    principal_name: str

@final
@dataclass(frozen=True, kw_only=True)
class CreateDelegationTokenRequestV0:
    """Versions 0 to 2."""

    renewers: tuple[CreatableRenewers, ...]
    max_lifetime: timedelta

@final
@dataclass(frozen=True, kw_only=True)
class CreateDelegationTokenRequestV3:
    """Version 3."""

    owner_principal_type: str | None
    owner_principal_name: str | None
    renewers: tuple[CreatableRenewers, ...]
    max_lifetime: timedelta

CreateDelegationTokenRequest: TypeAlias = CreateDelegationTokenRequestV0 | CreateDelegationTokenRequestV3
