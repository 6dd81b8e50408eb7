"""Requests of ExpireDelegationToken, versions 0 to 2; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from datetime import timedelta
from typing import final

@final
@dataclass(frozen=True, kw_only=True)
class ExpireDelegationTokenRequest:
    """Versions 0 to 2."""

    hmac: bytes
    expiry_time_period: timedelta
