"""Messages of describe_cluster; made by `make schema`."""

from typing import Final, final

@final
class DescribeClusterRequest:
    """Versions 0-2.

    Not in every version: endpoint_type 1+, include_fenced_brokers 2.
    """

    include_cluster_authorized_operations: Final[bool]
    endpoint_type: Final[int]
    include_fenced_brokers: Final[bool]

@final
class DescribeClusterResponse:
    """Versions 0-2.

    Not in every version: endpoint_type 1+.
    """

    throttle_time_ms: Final[int]
    error_code: Final[int]
    error_message: Final[str | None]
    endpoint_type: Final[int]
    cluster_id: Final[str]
    controller_id: Final[int]
    brokers: Final[tuple[DescribeClusterBroker, ...]]
    cluster_authorized_operations: Final[int]

@final
class DescribeClusterBroker:
    """Of DescribeClusterResponse.

    Not in every version: is_fenced 2.
    """

    broker_id: Final[int]
    host: Final[str]
    port: Final[int]
    rack: Final[str | None]
    is_fenced: Final[bool]
