"""Shared by the configuration APIs (32, 33, 44, 74): the types of resources, and the broker id in a resource's name.

Holds no state and reaches no owner of a configuration.
"""

from __future__ import annotations

from typing import Final

from kafkastore.errors import InvalidRequestError

# org.apache.kafka.common.config.ConfigResource.Type
TOPIC: Final = 2
BROKER: Final = 4
BROKER_LOGGER: Final = 8
CLIENT_METRICS: Final = 16
GROUP: Final = 32
RESOURCE_TYPES: Final = (TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP)


def broker_id(name: str, what: str = "Broker") -> int:
    """The number in a broker resource's name. Raises InvalidRequestError with Kafka's message."""
    try:
        return int(name)
    except ValueError:
        raise InvalidRequestError(f"{what} id must be an integer, but it is: {name}") from None
