"""IncrementalAlterConfigs (44): sets, deletes, appends to or subtracts from single overrides of topics and brokers
(KIP-339).

Shares its translation with AlterConfigs (33); see ``config_changes.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.handlers import config_changes
from kafkastore.handlers.config_changes import KeyChange

if TYPE_CHECKING:
    from kafkastore._core import Unwritten
    from kafkastore.protocol.incremental_alter_configs import (
        AlterConfigsResource,
        IncrementalAlterConfigsRequest,
    )
    from kafkastore.requests.context import RequestContext


async def handle(context: RequestContext, request: IncrementalAlterConfigsRequest) -> Unwritten:
    return await config_changes.alter(
        context, request.resources, _changes, validate_only=request.validate_only, is_incremental=True
    )


def _changes(resource: AlterConfigsResource) -> list[KeyChange]:
    return [KeyChange(one.name, one.config_operation, one.value) for one in resource.configs]
