"""Features that brokers support and that a cluster has agreed on (KIP-584). See ``admin_client.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkastore._core import __version__
from kafkastore.admin.admin_client import NONE, KafkaError, refusals

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkastore.admin.admin_client import AdminClient

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
"""org.apache.kafka.clients.admin.FeatureUpdate.UpgradeType"""
DRY_RUN: Final = 1
"""The first version of UpdateFeatures with types of upgrades and dry runs (Kafka 3.3)."""


class Features(NamedTuple):
    """``supported`` are the lowest and the highest level by feature, ``finalized`` the levels above 0; ``epoch`` is
    None where there are none."""

    supported: dict[str, tuple[int, int]]
    finalized: dict[str, int]
    epoch: int | None


async def describe_features(client: AdminClient, node: int | None = None) -> Features:
    """The features of a broker, or of any, and of the cluster. Raises AdminError, UnsupportedApiError before Kafka
    2.4."""
    fields = {"client_software_name": "kafkastore", "client_software_version": __version__}
    if node is None:
        answer = await client.ask_any("ApiVersions", fields)
    else:
        answer = await client.ask_broker(node, "ApiVersions", fields)
    return Features(
        {one.name: (one.min_version, one.max_version) for one in answer.supported_features},
        {one.name: one.max_version_level for one in answer.finalized_features},
        answer.finalized_features_epoch if answer.finalized_features_epoch >= 0 else None,
    )


async def update_features(
    client: AdminClient, levels: Mapping[str, int], upgrade_type: int, *, validate_only: bool = False
) -> dict[str, KafkaError]:
    """Sets the levels of features, all or none from Kafka 4.0 on; those that were refused. Raises KafkaError,
    AdminError."""

    async def attempt(names: list[str]) -> dict[str, KafkaError]:
        if await client.serves("UpdateFeatures", DRY_RUN):
            kind: dict[str, Any] = {"upgrade_type": upgrade_type}
            dry_run = {"validate_only": validate_only}
        else:
            kind = {"allow_downgrade": upgrade_type != UPGRADE}
            dry_run = {"validate_only": True} if validate_only else {}
        updates = [{"feature": name, "max_version_level": levels[name], **kind} for name in names]
        answer = await client.ask_controller_to("UpdateFeatures", {"feature_updates": updates, **dry_run})
        if answer.error_code != NONE:
            return dict.fromkeys(names, KafkaError(answer.error_code, answer.error_message))
        return refusals((row.feature, row) for row in answer.results)

    return await client.settled(levels, attempt)
