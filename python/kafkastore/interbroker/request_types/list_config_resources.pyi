"""Requests of ListConfigResources, versions 0 to 1; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from typing import TypeAlias, final

@final
@dataclass(frozen=True, kw_only=True)
class ListConfigResourcesRequestV0:
    """Version 0."""

@final
@dataclass(frozen=True, kw_only=True)
class ListConfigResourcesRequestV1:
    """Version 1."""

    resource_types: tuple[int, ...]

ListConfigResourcesRequest: TypeAlias = ListConfigResourcesRequestV0 | ListConfigResourcesRequestV1
