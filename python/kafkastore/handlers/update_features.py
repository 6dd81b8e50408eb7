"""UpdateFeatures (57): changes the finalized levels of features (KIP-584, KIP-778). All updates of a request are
made, or none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.acl_words import ALTER
from kafkastore.dynamic_config.features import SAFE_DOWNGRADE, UPGRADE, FeatureUpdate
from kafkastore.errors import ErrorCode
from kafkastore.requests.authorization import require_cluster

if TYPE_CHECKING:
    from kafkastore._core import Unwritten
    from kafkastore.protocol.update_features import FeatureUpdateKey, UpdateFeaturesRequest
    from kafkastore.requests.context import RequestContext

RESULTS_UNTIL = 1
"""The last version whose answer has a row for each update."""


async def handle(context: RequestContext, request: UpdateFeaturesRequest) -> Unwritten:
    require_cluster(context, ALTER)
    updates: list[FeatureUpdate] = []
    async for one in context.turn().each(request.feature_updates):
        kind = one.upgrade_type if context.api_version >= 1 else _upgrade_type(one)
        updates.append(FeatureUpdate(one.feature, one.max_version_level, kind))
    is_validated_only = request.validate_only
    await context.broker.features.update(updates, is_validated_only=is_validated_only)
    rows = updates if context.api_version <= RESULTS_UNTIL else ()
    results = [  # "NONE": Kafka's message
        context.row("UpdatableFeatureResult", feature=one.feature, error_code=ErrorCode.NONE, error_message="NONE")
        for one in rows
    ]
    return context.answer(error_code=ErrorCode.NONE, error_message=None, results=results)


def _upgrade_type(update: FeatureUpdateKey) -> int:
    return SAFE_DOWNGRADE if update.allow_downgrade else UPGRADE
