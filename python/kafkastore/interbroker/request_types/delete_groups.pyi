"""Requests of DeleteGroups, versions 0 to 2; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from typing import final

@final
@dataclass(frozen=True, kw_only=True)
class DeleteGroupsRequest:
    """Versions 0 to 2."""

    groups_names: tuple[str, ...]
