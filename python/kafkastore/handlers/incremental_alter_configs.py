"""IncrementalAlterConfigs (44): sets, deletes, appends to or subtracts from single overrides of topics and brokers
(KIP-339).

The translation is shared with AlterConfigs (33); see ``config_changes.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkastore.handlers import config_changes

if TYPE_CHECKING:
    from kafkastore.server.context import RequestContext


async def handle(context: RequestContext, request: Any) -> Any:
    return await config_changes.alter(context, request, is_incremental=True)
