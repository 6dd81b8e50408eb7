"""The versions of Kafka's metadata from 3.3 to 4.4, and the levels of features that each release begins with. Facts of
Apache Kafka 4.4.0; no I/O."""

from __future__ import annotations

from typing import Final

METADATA_FEATURE: Final = "metadata.version"
FIRST_LEVEL: Final = 7
_NAMES: Final = (
    "3.3-IV3 3.4-IV0 3.5-IV0 3.5-IV1 3.5-IV2 3.6-IV0 3.6-IV1 3.6-IV2 3.7-IV0 3.7-IV1 3.7-IV2 3.7-IV3 3.7-IV4 3.8-IV0 "
    "3.9-IV0 4.0-IV0 4.0-IV1 4.0-IV2 4.0-IV3 4.1-IV0 4.1-IV1 4.2-IV0 4.2-IV1 4.3-IV0 4.4-IV0 4.4-IV1 4.4-IV2 4.5-IV0"
)
NAMES: Final = tuple(_NAMES.split())
"""Of the levels from FIRST_LEVEL on; the last one is of the release to come."""
LATEST: Final = "4.4-IV2"
DEFAULTS: Final[dict[str, tuple[tuple[str, int], ...]]] = {
    "kraft.version": (("3.9-IV0", 1),),
    "transaction.version": (("4.0-IV2", 2),),
    "group.version": (("4.0-IV0", 1),),
    "eligible.leader.replicas.version": (("4.1-IV0", 1),),
    "share.version": (("4.2-IV0", 1), ("4.4-IV0", 2)),
    "streams.version": (("4.2-IV1", 1),),
}
"""From which metadata version on a new cluster has which level of a feature; 0 before. The last is the highest."""
DEPENDENCIES: Final = {("eligible.leader.replicas.version", 1): (METADATA_FEATURE, 23)}


def level_of(name: str) -> int | None:
    """The level of a version (``4.0-IV2``), or of the last one of a release (``4.0``, ``4.0.1``)."""
    if name in NAMES:
        return FIRST_LEVEL + NAMES.index(name)
    release = ".".join(name.split(".")[:2])
    found = [one for one in NAMES if one.partition("-")[0] == release]
    return FIRST_LEVEL + NAMES.index(found[-1]) if found else None


def name_of(level: int) -> str | None:
    return NAMES[level - FIRST_LEVEL] if FIRST_LEVEL <= level < FIRST_LEVEL + len(NAMES) else None


def shown_level(feature: str, level: int) -> str:
    """A level for eyes: of the metadata its name."""
    if feature != METADATA_FEATURE:
        return str(level)
    return name_of(level) or f"UNKNOWN {level}"


def default_levels(metadata_level: int) -> dict[str, int]:
    """The levels of the other features, in Kafka's order, for a metadata version."""
    return {
        feature: max((level for name, level in steps if (level_of(name) or 0) <= metadata_level), default=0)
        for feature, steps in DEFAULTS.items()
    }


def highest_level(feature: str) -> int:
    return DEFAULTS[feature][-1][1]
