"""ControlledShutdown version 3."""

from kafkastore.interbroker.schema.controlled_shutdown.v3.request import ControlledShutdownRequest
from kafkastore.interbroker.schema.controlled_shutdown.v3.response import ControlledShutdownResponse

__all__ = (
    "ControlledShutdownRequest",
    "ControlledShutdownResponse",
)
