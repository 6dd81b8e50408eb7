"""AlterConfigs (33): replaces all overrides of topics and brokers; a key that is not named goes back to its default.

Superseded by IncrementalAlterConfigs (44), whose translation it shares; see ``config_changes.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.handlers import config_changes
from kafkastore.handlers.config_changes import SET, KeyChange

if TYPE_CHECKING:
    from kafkastore._core import Unwritten
    from kafkastore.protocol.alter_configs import AlterConfigsRequest, AlterConfigsResource
    from kafkastore.requests.context import RequestContext


async def handle(context: RequestContext, request: AlterConfigsRequest) -> Unwritten:
    return await config_changes.alter(
        context, request.resources, _changes, validate_only=request.validate_only, is_incremental=False
    )


def _changes(resource: AlterConfigsResource) -> list[KeyChange]:
    return [KeyChange(one.name, SET, one.value) for one in resource.configs]
