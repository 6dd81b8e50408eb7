"""Messages of alter_client_quotas; made by `make schema`."""

from typing import Final, final

@final
class AlterClientQuotasRequest:
    """Versions 0-1."""

    entries: Final[tuple[AlterClientQuotasRequestEntryData, ...]]
    validate_only: Final[bool]

@final
class AlterClientQuotasRequestEntryData:
    """Of AlterClientQuotasRequest."""

    entity: Final[tuple[AlterClientQuotasRequestEntityData, ...]]
    ops: Final[tuple[OpData, ...]]

@final
class AlterClientQuotasRequestEntityData:
    """Of AlterClientQuotasRequest."""

    entity_type: Final[str]
    entity_name: Final[str | None]

@final
class OpData:
    """Of AlterClientQuotasRequest."""

    key: Final[str]
    value: Final[float]
    remove: Final[bool]

@final
class AlterClientQuotasResponse:
    """Versions 0-1."""

    throttle_time_ms: Final[int]
    entries: Final[tuple[AlterClientQuotasResponseEntryData, ...]]

@final
class AlterClientQuotasResponseEntryData:
    """Of AlterClientQuotasResponse."""

    error_code: Final[int]
    error_message: Final[str | None]
    entity: Final[tuple[AlterClientQuotasResponseEntityData, ...]]

@final
class AlterClientQuotasResponseEntityData:
    """Of AlterClientQuotasResponse."""

    entity_type: Final[str]
    entity_name: Final[str | None]
