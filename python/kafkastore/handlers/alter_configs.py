"""AlterConfigs (33): replaces all overrides of topics and brokers; what is not named goes back to its default.

Superseded by IncrementalAlterConfigs (44), whose translation it shares; see ``config_changes.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkastore.handlers import config_changes

if TYPE_CHECKING:
    from kafkastore.server.context import RequestContext


async def handle(context: RequestContext, request: Any) -> Any:
    return await config_changes.alter(context, request, is_incremental=False)
