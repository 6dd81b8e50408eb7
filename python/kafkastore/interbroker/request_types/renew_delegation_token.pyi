"""Requests of RenewDelegationToken, versions 0 to 2; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from datetime import timedelta
from typing import final

@final
@dataclass(frozen=True, kw_only=True)
class RenewDelegationTokenRequest:
    """Versions 0 to 2."""

    hmac: bytes
    renew_period: timedelta
