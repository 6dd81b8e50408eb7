"""Configuration of brokers that was changed while they run, as far as the controller decides by it (KIP-226): the
minimum in sync and unclean elections, of topics that do not have their own, and the brokers on which nothing is placed.

Read from the store before every decision about who leads, and not from this broker's copy: a leader commits by a lower
minimum as soon as it has heard of it, and from then on nobody is eligible who is not in sync (KIP-966). What brokers
have in their files is the business of whoever writes them: it has to be the same in all.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kafkastore.config.definitions import broker_keys
from kafkastore.config.removed import REMOVED_KEY, parse_removed
from kafkastore.errors import ConfigError
from kafkastore.metadata.node_content import InvalidNodeError
from kafkastore.metadata.nodes import decode_config

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkastore.controller.settings import ControllerSettings
    from kafkastore.metadata.store import MetadataStore

BROKERS = "/config/brokers"
DEFAULT = "<default>"
MINIMUM, UNCLEAN = "min.insync.replicas", "unclean.leader.election.enable"


async def settings_now(store: MetadataStore, node_id: int, started_with: ControllerSettings) -> ControllerSettings:
    """``started_with`` with what was changed since. The least minimum that any broker may lead by holds."""
    removed = started_with.removed_brokers
    minimums: dict[str, int] = {}
    unclean: dict[str, bool] = {}
    for path, data, _ in await store.get_tree(BROKERS):
        name = path.rpartition("/")[2]
        with suppress(InvalidNodeError):  # the broker that it is for names it
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
    with suppress(ConfigError):  # the broker drops a wrong value too
        if key in content:
            found[name] = broker_keys()[key].parse(content[key])
