"""Requests of ListGroups, versions 0 to 5; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from typing import TypeAlias, final

@final
@dataclass(frozen=True, kw_only=True)
class ListGroupsRequestV0:
    """Versions 0 to 3."""

@final
@dataclass(frozen=True, kw_only=True)
class ListGroupsRequestV4:
    """Version 4."""

    states_filter: tuple[str, ...]

@final
@dataclass(frozen=True, kw_only=True)
class ListGroupsRequestV5:
    """Version 5."""

    states_filter: tuple[str, ...]
    types_filter: tuple[str, ...]

ListGroupsRequest: TypeAlias = ListGroupsRequestV0 | ListGroupsRequestV4 | ListGroupsRequestV5
