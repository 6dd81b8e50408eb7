"""Messages of describe_user_scram_credentials; made by `make schema`."""

from typing import Final, final

@final
class DescribeUserScramCredentialsRequest:
    """Versions 0."""

    users: Final[tuple[UserName, ...] | None]

@final
class UserName:
    """Of DescribeUserScramCredentialsRequest."""

    name: Final[str]

@final
class DescribeUserScramCredentialsResponse:
    """Versions 0."""

    throttle_time_ms: Final[int]
    error_code: Final[int]
    error_message: Final[str | None]
    results: Final[tuple[DescribeUserScramCredentialsResult, ...]]

@final
class DescribeUserScramCredentialsResult:
    """Of DescribeUserScramCredentialsResponse."""

    user: Final[str]
    error_code: Final[int]
    error_message: Final[str | None]
    credential_infos: Final[tuple[CredentialInfo, ...]]

@final
class CredentialInfo:
    """Of DescribeUserScramCredentialsResponse."""

    mechanism: Final[int]
    iterations: Final[int]
