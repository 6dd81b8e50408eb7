"""Which version a request is of; its types, one overload for each version in which an entity changes, are in
``since.pyi``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kio.static.protocol import Entity


def since(entity: Entity, version: int) -> bool:
    """Whether ``entity``, a request or a part of one, is of ``version`` or a later one, and has the fields of these."""
    return entity.__version__ >= version
