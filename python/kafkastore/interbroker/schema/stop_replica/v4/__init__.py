"""StopReplica version 4."""

from kafkastore.interbroker.schema.stop_replica.v4.request import StopReplicaRequest
from kafkastore.interbroker.schema.stop_replica.v4.response import StopReplicaResponse

__all__ = (
    "StopReplicaRequest",
    "StopReplicaResponse",
)
