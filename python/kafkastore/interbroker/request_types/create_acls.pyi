"""Requests of CreateAcls, versions 0 to 3; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from typing import TypeAlias, final

@final
@dataclass(frozen=True, kw_only=True)
class AclCreationV0:
    """Version 0."""

    resource_type: int
    resource_name: str
    principal: str
    host: str
    operation: int
    permission_type: int

@final
@dataclass(frozen=True, kw_only=True)
class AclCreationV1:
    """Versions 1 to 3."""

    resource_type: int
    resource_name: str
    resource_pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int

AclCreation: TypeAlias = AclCreationV0 | AclCreationV1

@final
@dataclass(frozen=True, kw_only=True)
class CreateAclsRequest:
    """Versions 0 to 3."""

    creations: tuple[AclCreation, ...]
