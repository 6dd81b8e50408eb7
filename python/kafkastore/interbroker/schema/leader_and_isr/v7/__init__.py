"""LeaderAndIsr version 7."""

from kafkastore.interbroker.schema.leader_and_isr.v7.request import LeaderAndIsrRequest
from kafkastore.interbroker.schema.leader_and_isr.v7.response import LeaderAndIsrResponse

__all__ = (
    "LeaderAndIsrRequest",
    "LeaderAndIsrResponse",
)
