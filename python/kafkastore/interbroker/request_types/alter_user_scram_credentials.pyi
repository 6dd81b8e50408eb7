"""Requests of AlterUserScramCredentials, versions 0; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from typing import final

@final
@dataclass(frozen=True, kw_only=True)
class ScramCredentialDeletion:
    """Version 0."""

    name: str
    mechanism: int

@final
@dataclass(frozen=True, kw_only=True)
class ScramCredentialUpsertion:
    """Version 0."""

    name: str
    mechanism: int
    iterations: int
    salt: bytes
    salted_password: bytes

@final
@dataclass(frozen=True, kw_only=True)
class AlterUserScramCredentialsRequest:
    """Version 0."""

    deletions: tuple[ScramCredentialDeletion, ...]
    upsertions: tuple[ScramCredentialUpsertion, ...]
