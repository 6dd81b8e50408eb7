"""The dynamic broker configuration that the controller's decisions depend on (KIP-226): min.insync.replicas and
unclean.leader.election.enable for topics without their own, and the removed brokers, which get no new replicas.

It is read from the store before every decision about leaders, and not from this broker's copy: a leader commits by a
lower minimum as soon as it knows the minimum, and from then on a replica outside the isr is no longer eligible
(KIP-966). The values in the brokers' files are the administrator's task: they must be the same on all brokers.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kafkastore.config.definitions import broker_keys
from kafkastore.config.removed import REMOVED_KEY, parse_removed
from kafkastore.errors import ConfigError
from kafkastore.metadata.node_content import InvalidNodeError
from kafkastore.metadata.nodes import decode_config
from kafkastore.metadata.store import child_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkastore.controller.settings import ControllerSettings
    from kafkastore.metadata.store import MetadataStore

BROKERS = "/config/brokers"
DEFAULT = "<default>"
MINIMUM, UNCLEAN = "min.insync.replicas", "unclean.leader.election.enable"


async def settings_now(store: MetadataStore, node_id: int, started_with: ControllerSettings) -> ControllerSettings:
    """``started_with`` with the changes since. The lowest min.insync.replicas of any broker applies."""
    removed = started_with.removed_brokers
    minimums: dict[str, int] = {}
    unclean: dict[str, bool] = {}
    for path, data, _ in await store.get_tree(BROKERS):
        name = child_in(BROKERS, path)
        if not name:
            continue
        with suppress(InvalidNodeError):  # the broker that the node configures logs the fault
            content = decode_config(data)
            _take(content, MINIMUM, name, minimums)
            _take(content, UNCLEAN, name, unclean)
            if name == DEFAULT and REMOVED_KEY in content:
                with suppress(ConfigError):
                    removed = parse_removed(content[REMOVED_KEY])
    default = minimums.pop(DEFAULT, started_with.min_insync_replicas)
    allowed = unclean.get(str(node_id), unclean.get(DEFAULT, started_with.is_unclean_election_allowed))
    return started_with._replace(
        min_insync_replicas=min([default, *minimums.values()]),
        is_unclean_election_allowed=allowed,
        removed_brokers=removed,
    )


def _take(content: Mapping[str, str], key: str, name: str, found: dict[str, Any]) -> None:
    with suppress(ConfigError):  # an invalid value is ignored, as the broker ignores it
        if key in content:
            found[name] = broker_keys()[key].parse(content[key])
