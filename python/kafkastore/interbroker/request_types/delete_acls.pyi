"""Requests of DeleteAcls, versions 0 to 3; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from typing import TypeAlias, final

@final
@dataclass(frozen=True, kw_only=True)
class DeleteAclsFilterV0:
    """Version 0."""

    resource_type_filter: int
    resource_name_filter: str | None
    principal_filter: str | None
    host_filter: str | None
    operation: int
    permission_type: int

@final
@dataclass(frozen=True, kw_only=True)
class DeleteAclsFilterV1:
    """Versions 1 to 3."""

    resource_type_filter: int
    resource_name_filter: str | None
    pattern_type_filter: int
    principal_filter: str | None
    host_filter: str | None
    operation: int
    permission_type: int

DeleteAclsFilter: TypeAlias = DeleteAclsFilterV0 | DeleteAclsFilterV1

@final
@dataclass(frozen=True, kw_only=True)
class DeleteAclsRequest:
    """Versions 0 to 3."""

    filters: tuple[DeleteAclsFilter, ...]
