"""``/feature``: the levels of features that the cluster has agreed on (KIP-584), in Kafka's layout.

    {"version":2,"status":1,"features":{"transaction.version":{"max_version_level":2}}}

A cluster without the node has :data:`INITIAL_LEVELS`; in a node, a feature that is missing has level 0. Status 0 means
that no feature is finalized. Version 1 also has a ``min_version_level``, which nothing here reads.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from kafkastore.metadata.node_content import InvalidNodeError, json_object, number, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

FEATURE: Final = "/feature"

INITIAL_LEVELS: Final = {"transaction.version": 2}
"""The levels of a new cluster."""

_VERSION, _ENABLED, _LARGEST_LEVEL = 2, 1, 32767


def decode_features(data: bytes) -> dict[str, int]:
    """The finalized levels above 0. Raises InvalidNodeError."""
    content = json_object(data)
    number(content, "version", 1, _VERSION)
    if number(content, "status", 0, _ENABLED) != _ENABLED:
        return {}
    features = content.get("features")
    if not isinstance(features, dict) or not all(isinstance(one, dict) for one in features.values()):
        raise InvalidNodeError(f"features is {shown(features)}, which is no object of objects")
    found = {name: number(one, "max_version_level", 0, _LARGEST_LEVEL) for name, one in features.items()}
    return {name: level for name, level in found.items() if level}


def encode_features(levels: Mapping[str, int]) -> bytes:
    """A node with these levels; those of 0 are left out."""
    features = {name: {"max_version_level": level} for name, level in sorted(levels.items()) if level}
    content = {"version": _VERSION, "status": _ENABLED, "features": features}
    return json.dumps(content, separators=(",", ":")).encode()
