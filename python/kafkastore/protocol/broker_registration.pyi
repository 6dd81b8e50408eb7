"""Messages of broker_registration; made by `make schema`."""

from typing import Final, final

@final
class BrokerRegistrationRequest:
    """Versions 0-4.

    Not in every version: is_migrating_zk_broker 1+, log_dirs 2+, previous_broker_epoch 3+.
    """

    broker_id: Final[int]
    cluster_id: Final[str]
    incarnation_id: Final[bytes | None]
    listeners: Final[tuple[Listener, ...]]
    features: Final[tuple[Feature, ...]]
    rack: Final[str | None]
    is_migrating_zk_broker: Final[bool]
    log_dirs: Final[tuple[bytes | None, ...]]
    previous_broker_epoch: Final[int]

@final
class Listener:
    """Of BrokerRegistrationRequest."""

    name: Final[str]
    host: Final[str]
    port: Final[int]
    security_protocol: Final[int]

@final
class Feature:
    """Of BrokerRegistrationRequest."""

    name: Final[str]
    min_supported_version: Final[int]
    max_supported_version: Final[int]

@final
class BrokerRegistrationResponse:
    """Versions 0-4."""

    throttle_time_ms: Final[int]
    error_code: Final[int]
    broker_epoch: Final[int]
