"""Messages of controller_registration; made by `make schema`."""

from typing import Final, final

@final
class ControllerRegistrationRequest:
    """Versions 0."""

    controller_id: Final[int]
    incarnation_id: Final[bytes | None]
    zk_migration_ready: Final[bool]
    listeners: Final[tuple[Listener, ...]]
    features: Final[tuple[Feature, ...]]

@final
class Listener:
    """Of ControllerRegistrationRequest."""

    name: Final[str]
    host: Final[str]
    port: Final[int]
    security_protocol: Final[int]

@final
class Feature:
    """Of ControllerRegistrationRequest."""

    name: Final[str]
    min_supported_version: Final[int]
    max_supported_version: Final[int]

@final
class ControllerRegistrationResponse:
    """Versions 0."""

    throttle_time_ms: Final[int]
    error_code: Final[int]
    error_message: Final[str | None]
