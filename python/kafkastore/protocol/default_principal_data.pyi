"""DefaultPrincipalData; made by `make schema` of `rust/protocol/messages`, see `__init__.py`."""

from typing import Final, final

@final
class DefaultPrincipalData:
    """Versions 0."""

    type: Final[str]
    name: Final[str]
    token_authenticated: Final[bool]
