"""UpdateMetadata version 8."""

from kafkastore.interbroker.schema.update_metadata.v8.request import UpdateMetadataRequest
from kafkastore.interbroker.schema.update_metadata.v8.response import UpdateMetadataResponse

__all__ = (
    "UpdateMetadataRequest",
    "UpdateMetadataResponse",
)
