"""Changes of the finalized features (KIP-584, KIP-778). Apache Kafka has levels of features that are always off here,
so the lists of ApiVersions are not compared; a change shows in what the next request may do."""

from __future__ import annotations

from typing import Any

from parity.cases import Case, Given

FEATURES: list[Case] = []
OFF, UPGRADE, SAFE, UNSAFE = 0, 1, 2, 3
NAME = "transaction.version"


def update(name: str, *updates: tuple[str, int, int], versions: tuple[int, ...] = (1, 2), **more: Any) -> None:
    rows = [{"feature": feature, "max_version_level": level, "upgrade_type": kind} for feature, level, kind in updates]
    _case(name, versions, rows, **more)


def update_first(name: str, *updates: tuple[str, int, bool]) -> None:
    """A request of version 0."""
    rows = [{"feature": feature, "max_version_level": level, "allow_downgrade": may} for feature, level, may in updates]
    _case(name, (0,), rows)


def _case(name: str, versions: tuple[int, ...], rows: list[Given], **more: Any) -> None:
    FEATURES.append(Case(name, "update_features", versions, {"feature_updates": rows, "timeout_ms": 60_000, **more}))


update("no feature")
update("the level it has", (NAME, 2, UPGRADE))
update("a level above the highest", (NAME, 3, UPGRADE))
update("a level below 0", (NAME, -1, UPGRADE))
update("down as an upgrade", (NAME, 1, UPGRADE))
update("down, only checked", (NAME, 1, SAFE), validate_only=True)
update("down unsafely, only checked", (NAME, 1, UNSAFE), validate_only=True)
for kind in (OFF, 4, -1):
    update(f"upgrade type {kind}", (NAME, 1, kind))
update("unknown feature", ("nothing", 1, UPGRADE))
update("unknown feature at level 0", ("nothing", 0, SAFE))
update("feature without a name", ("", 1, UPGRADE))
update("one of two is unknown", (NAME, 1, SAFE), ("nothing", 1, UPGRADE))
update("down as an upgrade: nothing was changed before", (NAME, 1, UPGRADE))
update("one feature twice, only checked", (NAME, 1, SAFE), (NAME, 0, SAFE), validate_only=True)
update("another feature off, only checked", ("group.version", 0, SAFE), validate_only=True)
update("down", (NAME, 1, SAFE))
update("down to where it is", (NAME, 1, UNSAFE))
update("up as a downgrade", (NAME, 2, SAFE))
update("up as an unsafe downgrade", (NAME, 2, UNSAFE))
update("off", (NAME, 0, SAFE))
update("from off up as a downgrade", (NAME, 1, SAFE))
update_first("up by the first version", (NAME, 1, False))
update_first("down by the first version without leave", (NAME, 0, False))
update_first("down by the first version", (NAME, 0, True))
update("up", (NAME, 2, UPGRADE))
