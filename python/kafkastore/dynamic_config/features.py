"""The finalized features of the cluster (KIP-584): kept in ``/feature``, watched by every broker, published to clients.

A change is one write under the version that was read, so brokers that change features at once do not undo each other's
change, whichever of them a client asks. The epoch that clients see grows with each change: 0 without the node, else one
more than its version. A broker that cannot read the node keeps the levels that it has.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkastore._core import supported_features
from kafkastore.errors import ErrorCode, KafkastoreError
from kafkastore.metadata.features import FEATURE, INITIAL_LEVELS, decode_features, encode_features
from kafkastore.metadata.node_content import InvalidNodeError, report
from kafkastore.metadata.retries import RetriedWork
from kafkastore.metadata.store import BadVersionError, NodeExistsError, NoNodeError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kafkastore._core import Engine
    from kafkastore.metadata.store import MetadataStore, Node, WatchEvent

logger = logging.getLogger("kafkastore.dynamic_config.features")

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
"""org.apache.kafka.clients.admin.FeatureUpdate.UpgradeType"""

_NONE: Final = (-1, -1)
"""In place of when the node was created, and its version."""


class FeatureUpdate(NamedTuple):
    """The level that a client asks for, and in which direction it may go."""

    feature: str
    level: int
    upgrade_type: int


class InvalidUpdateError(KafkastoreError):
    """A feature cannot have this level; nothing was changed."""

    code = ErrorCode.INVALID_UPDATE_VERSION


class FeatureUpdateFailedError(KafkastoreError):
    """The node cannot be read; nothing was changed."""

    code = ErrorCode.FEATURE_UPDATE_FAILED


class Features:
    """See the module. Runs on the loop. ``start`` comes before clients connect."""

    def __init__(self, node_id: int, store: MetadataStore, engine: Engine) -> None:
        self._node_id = node_id
        self._store = store
        self._engine = engine
        self._seen = _NONE
        self._taking_over = RetriedWork(self.start, FEATURE)

    async def start(self) -> None:
        """Publishes the levels and watches them from now on. May be called again, for another session."""
        await self._store.exists(FEATURE, self._on_change)
        await self._take_over()

    async def stop(self) -> None:
        await self._taking_over.stop()

    async def update(self, updates: Sequence[FeatureUpdate], *, is_validated_only: bool) -> None:
        """Changes all of these features or none; they are published here when this returns. Raises InvalidUpdateError
        and FeatureUpdateFailedError."""
        while True:
            node = await self._read()
            try:
                levels = _levels(node)
            except InvalidNodeError as error:
                raise FeatureUpdateFailedError(f"{FEATURE} is invalid: {error}") from None
            fixed = _fixed_levels()
            judged = self._judge(updates, levels | fixed)
            changed = levels | {name: level for name, level in judged.items() if name not in fixed}
            if is_validated_only or changed == levels:
                return
            try:
                await self._write(encode_features(changed), node)
            except (BadVersionError, NodeExistsError, NoNodeError):
                continue  # another broker was quicker
            logger.info("Finalized features: %s", {name: level for name, level in changed.items() if level})
            await self._take_over()
            return

    # ---- inside
    async def _read(self) -> Node | None:
        try:
            return await self._store.get(FEATURE)
        except NoNodeError:
            return None

    async def _write(self, data: bytes, replaced: Node | None) -> None:
        if replaced is None:
            await self._store.create(FEATURE, data)
        else:
            await self._store.set(FEATURE, data, replaced.version)

    def _judge(self, updates: Sequence[FeatureUpdate], levels: Mapping[str, int]) -> dict[str, int]:
        """The new levels; of two updates of one feature the last counts, as in Kafka."""
        last = {one.feature: one for one in updates}
        for one in last.values():
            reason = self._refusal(one, levels.get(one.feature, 0))
            if reason is not None:
                raise InvalidUpdateError(
                    "The update failed for all features since the following feature had an error: Invalid update"
                    f" version {one.level} for feature {one.feature}. {reason}"
                )
        return {name: one.level for name, one in last.items()}

    def _refusal(self, requested: FeatureUpdate, current: int) -> str | None:
        if requested.upgrade_type not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
            return "The controller does not support the given upgrade type."
        if requested.level < 0:
            return "A feature version cannot be less than 0."
        levels = {name: (least, most) for name, least, most in supported_features()}.get(requested.feature)
        if levels is None and requested.level == 0:
            return f"Feature {requested.feature} not found."
        if levels is None:
            return f"Local controller {self._node_id} does not support this feature."
        if not levels[0] <= requested.level <= levels[1]:
            return f"Local controller {self._node_id} only supports versions {levels[0]}-{levels[1]}"
        if requested.level < current and requested.upgrade_type == UPGRADE:
            return (
                "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe"
                " downgrade."
            )
        if requested.level > current and requested.upgrade_type != UPGRADE:
            return "Can't downgrade to a newer version."
        return None

    async def _take_over(self) -> None:
        """Publishes what the node says, unless a later state of the node was published already."""
        node = await self._read()
        seen = _NONE if node is None else (node.created, node.version)
        if node is not None and seen <= self._seen:
            return
        try:
            levels = _levels(node)
        except InvalidNodeError as error:
            report(FEATURE, "the features stay as they are", error)
            if self._seen != _NONE:
                return
            levels = INITIAL_LEVELS
        self._seen = seen
        epoch = 0 if node is None else node.version + 1
        known = dict.fromkeys(INITIAL_LEVELS, 0) | levels | _fixed_levels()
        self._engine.publish_features(epoch, sorted(known.items()))

    def _on_change(self, _: WatchEvent) -> None:
        self._taking_over.ask()


def _fixed_levels() -> dict[str, int]:
    """The features that can have one level only have it, whatever the node says."""
    return {name: most for name, least, most in supported_features() if least == most > 0}


def _levels(node: Node | None) -> dict[str, int]:
    """Raises InvalidNodeError."""
    return dict(INITIAL_LEVELS) if node is None else decode_features(node.data)
