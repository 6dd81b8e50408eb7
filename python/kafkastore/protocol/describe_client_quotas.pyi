"""Messages of describe_client_quotas; made by `make schema`."""

from typing import Final, final

@final
class DescribeClientQuotasRequest:
    """Versions 0-1."""

    components: Final[tuple[ComponentData, ...]]
    strict: Final[bool]

@final
class ComponentData:
    """Of DescribeClientQuotasRequest."""

    entity_type: Final[str]
    match_type: Final[int]
    match: Final[str | None]

@final
class DescribeClientQuotasResponse:
    """Versions 0-1."""

    throttle_time_ms: Final[int]
    error_code: Final[int]
    error_message: Final[str | None]
    entries: Final[tuple[EntryData, ...] | None]

@final
class EntryData:
    """Of DescribeClientQuotasResponse."""

    entity: Final[tuple[EntityData, ...]]
    values: Final[tuple[ValueData, ...]]

@final
class EntityData:
    """Of DescribeClientQuotasResponse."""

    entity_type: Final[str]
    entity_name: Final[str | None]

@final
class ValueData:
    """Of DescribeClientQuotasResponse."""

    key: Final[str]
    value: Final[float]
