"""Requests of AlterReplicaLogDirs, versions 0 to 2; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from typing import final

@final
@dataclass(frozen=True, kw_only=True)
class AlterReplicaLogDirTopic:
    """Versions 0 to 2."""

    name: str
    partitions: tuple[int, ...]

@final
@dataclass(frozen=True, kw_only=True)
class AlterReplicaLogDir:
    """Versions 0 to 2."""

    path: str
    topics: tuple[AlterReplicaLogDirTopic, ...]

@final
@dataclass(frozen=True, kw_only=True)
class AlterReplicaLogDirsRequest:
    """Versions 0 to 2."""

    dirs: tuple[AlterReplicaLogDir, ...]
