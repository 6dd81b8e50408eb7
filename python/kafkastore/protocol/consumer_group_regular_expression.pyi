"""Messages of consumer_group_regular_expression; made by `make schema`."""

from typing import Final, final

@final
class ConsumerGroupRegularExpressionKey:
    """Versions 0."""

    group_id: Final[str]
    regular_expression: Final[str]

@final
class ConsumerGroupRegularExpressionValue:
    """Versions 0."""

    topics: Final[tuple[str, ...]]
    version: Final[int]
    timestamp: Final[int]
