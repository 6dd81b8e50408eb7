"""Requests of DescribeUserScramCredentials, versions 0; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from typing import final

@final
@dataclass(frozen=True, kw_only=True)
class UserName:
    """Version 0."""

    name: str

@final
@dataclass(frozen=True, kw_only=True)
class DescribeUserScramCredentialsRequest:
    """Version 0."""

    users: tuple[UserName, ...] | None
