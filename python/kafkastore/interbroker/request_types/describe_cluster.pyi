"""Requests of DescribeCluster, versions 0 to 2; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from typing import TypeAlias, final

@final
@dataclass(frozen=True, kw_only=True)
class DescribeClusterRequestV0:
    """Version 0."""

    include_cluster_authorized_operations: bool

@final
@dataclass(frozen=True, kw_only=True)
class DescribeClusterRequestV1:
    """Version 1."""

    include_cluster_authorized_operations: bool
    endpoint_type: int

@final
@dataclass(frozen=True, kw_only=True)
class DescribeClusterRequestV2:
    """Version 2."""

    include_cluster_authorized_operations: bool
    endpoint_type: int
    include_fenced_brokers: bool

DescribeClusterRequest: TypeAlias = DescribeClusterRequestV0 | DescribeClusterRequestV1 | DescribeClusterRequestV2
