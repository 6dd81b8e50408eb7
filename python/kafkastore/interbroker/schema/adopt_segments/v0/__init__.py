"""AdoptSegments version 0."""

from kafkastore.interbroker.schema.adopt_segments.v0.request import AdoptSegmentsRequest
from kafkastore.interbroker.schema.adopt_segments.v0.response import AdoptSegmentsResponse

__all__ = (
    "AdoptSegmentsRequest",
    "AdoptSegmentsResponse",
)
