"""Requests of DescribeConfigs, versions 0 to 4; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from typing import TypeAlias, final

@final
@dataclass(frozen=True, kw_only=True)
class DescribeConfigsResource:
    """Versions 0 to 4."""

    resource_type: int
    resource_name: str
    configuration_keys: tuple[str, ...] | None

@final
@dataclass(frozen=True, kw_only=True)
class DescribeConfigsRequestV0:
    """Version 0."""

    resources: tuple[DescribeConfigsResource, ...]

@final
@dataclass(frozen=True, kw_only=True)
class DescribeConfigsRequestV1:
    """Versions 1 to 2."""

    resources: tuple[DescribeConfigsResource, ...]
    include_synonyms: bool

@final
@dataclass(frozen=True, kw_only=True)
class DescribeConfigsRequestV3:
    """Versions 3 to 4."""

    resources: tuple[DescribeConfigsResource, ...]
    include_synonyms: bool
    include_documentation: bool

DescribeConfigsRequest: TypeAlias = DescribeConfigsRequestV0 | DescribeConfigsRequestV1 | DescribeConfigsRequestV3
