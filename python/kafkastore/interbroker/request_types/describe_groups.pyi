"""Requests of DescribeGroups, versions 0 to 6; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from typing import TypeAlias, final

@final
@dataclass(frozen=True, kw_only=True)
class DescribeGroupsRequestV0:
    """Versions 0 to 2."""

    groups: tuple[str, ...]

@final
@dataclass(frozen=True, kw_only=True)
class DescribeGroupsRequestV3:
    """Versions 3 to 6."""

    groups: tuple[str, ...]
    include_authorized_operations: bool

DescribeGroupsRequest: TypeAlias = DescribeGroupsRequestV0 | DescribeGroupsRequestV3
