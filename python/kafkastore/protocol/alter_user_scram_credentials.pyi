"""Messages of alter_user_scram_credentials; made by `make schema`."""

from typing import Final, final

@final
class AlterUserScramCredentialsRequest:
    """Versions 0."""

    deletions: Final[tuple[ScramCredentialDeletion, ...]]
    upsertions: Final[tuple[ScramCredentialUpsertion, ...]]

@final
class ScramCredentialDeletion:
    """Of AlterUserScramCredentialsRequest."""

    name: Final[str]
    mechanism: Final[int]

@final
class ScramCredentialUpsertion:
    """Of AlterUserScramCredentialsRequest."""

    name: Final[str]
    mechanism: Final[int]
    iterations: Final[int]
    salt: Final[bytes]
    salted_password: Final[bytes]

@final
class AlterUserScramCredentialsResponse:
    """Versions 0."""

    throttle_time_ms: Final[int]
    results: Final[tuple[AlterUserScramCredentialsResult, ...]]

@final
class AlterUserScramCredentialsResult:
    """Of AlterUserScramCredentialsResponse."""

    user: Final[str]
    error_code: Final[int]
    error_message: Final[str | None]
