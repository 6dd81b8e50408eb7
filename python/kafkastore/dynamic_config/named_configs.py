"""The configurations of groups (KIP-848) and of subscriptions to clients' metrics (KIP-714): in the store, and read
from there when somebody asks.

``/config/groups/<name>`` and ``/config/client-metrics/<name>`` have them in the layout of the other configurations; the
names are percent-encoded, so that they may be anything. A configuration without keys is none. No part of this version
acts on them: groups of these kinds and a receiver of metrics are still to come (``docs/features.md``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.dynamic_config.config_nodes import edit_nodes, read_nodes
from kafkastore.dynamic_config.entity_names import desanitize, sanitize
from kafkastore.errors import KafkastoreError
from kafkastore.metadata.node_content import InvalidNodeError, report
from kafkastore.metadata.nodes import decode_config
from kafkastore.metadata.store import child_in
from kafkastore.purgatory.turns import Turn

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from kafkastore.dynamic_config.config_nodes import Edit
    from kafkastore.metadata.store import MetadataStore

GROUPS, CLIENT_METRICS = "groups", "client-metrics"
"""The kinds, as the store names them."""


def node_name(name: str) -> str:
    """The node of a name; no node may be called ``.`` or ``..``."""
    return name.replace(".", "%2E") if name in (".", "..") else sanitize(name)


class NamedConfigs:
    """See the module."""

    def __init__(self, store: MetadataStore) -> None:
        self._store = store

    async def read(self, kind: str, names: Collection[str]) -> dict[str, dict[str, str]]:
        """The configuration of each name, empty for one that has none."""
        found: dict[str, dict[str, str]] = {}
        turn = Turn()
        by_node = await _by_node(names, turn)
        async for some in read_nodes(self._store, f"/config/{kind}", list(by_node)):
            async for node, data in turn.each(some.items()):
                found[by_node[node]] = _content(kind, node, data or b"")
        return found

    async def names(self, kind: str) -> list[str]:
        """Those that have a configuration, in alphabetical order."""
        root, found = f"/config/{kind}", []
        async for path, data, _ in Turn().each(await self._store.get_tree(root)):
            node = child_in(root, path)
            if node and _content(kind, node, data):
                found.append(desanitize(node))
        return sorted(found)

    async def edit(
        self, kind: str, edits: Mapping[str, Edit], *, is_validated_only: bool = False
    ) -> dict[str, KafkastoreError]:
        """Changes configurations, each made of what it is. Returns why some were not, or could not be, changed."""
        if is_validated_only:
            return await self._refusals(kind, edits)
        by_node = await _by_node(edits, Turn())
        outcomes = await edit_nodes(self._store, kind, {node: edits[name] for node, name in by_node.items()})
        return {by_node[node]: one for node, one in outcomes.items() if isinstance(one, KafkastoreError)}

    async def _refusals(self, kind: str, edits: Mapping[str, Edit]) -> dict[str, KafkastoreError]:
        found: dict[str, KafkastoreError] = {}
        async for name, content in Turn().each((await self.read(kind, edits)).items()):
            try:
                edits[name](content)
            except KafkastoreError as error:
                found[name] = error.with_traceback(None)
        return found


async def _by_node(names: Collection[str], turn: Turn) -> dict[str, str]:
    return {node_name(name): name async for name in turn.each(names)}


def _content(kind: str, node: str, data: bytes) -> dict[str, str]:
    try:
        return decode_config(data)
    except InvalidNodeError as error:
        report(f"/config/{kind}/{node}", "it counts as empty", error)
        return {}
