"""Values that a configuration file takes from elsewhere: ``${provider:path:key}`` (KIP-297, KIP-421).

``config.providers`` names the providers, ``config.providers.NAME.class`` says which of Kafka's three each is::

    org.apache.kafka.common.config.provider.EnvVarConfigProvider     ${NAME:VARIABLE}
    org.apache.kafka.common.config.provider.FileConfigProvider       ${NAME:/a/file.properties:key}
    org.apache.kafka.common.config.provider.DirectoryConfigProvider  ${NAME:/a/folder:file}

Kafka keeps the text ``${…}`` where a provider has no value, so a password may be that text; here the start is refused.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

from kafkastore.config.properties import read_properties
from kafkastore.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Provider = Callable[[str, str], str | None]
    """(path, key) → the value, None when there is none. Raises OSError."""

KEY: Final = "config.providers"
_PACKAGE: Final = "org.apache.kafka.common.config.provider."
_CLASSES: Final = ("EnvVarConfigProvider", "FileConfigProvider", "DirectoryConfigProvider")
_ALLOWED_VARIABLES, _ALLOWED_PATHS = "allowlist.pattern", "allowed.paths"
_REFERENCE: Final = r"\$\{([^}]*?):(([^}]*?):)?([^}]*?)\}"


def resolved(given: Mapping[str, str]) -> dict[str, str]:
    """The pairs of a file without those of the providers, their references replaced. Raises ConfigError, which has no
    value of a provider."""
    names = [name.strip() for name in given.get(KEY, "").split(",") if name.strip()]
    providers = {name: _provider(given, name) for name in names}
    own = tuple(f"{KEY}.{name}." for name in names)
    rest = {key: value for key, value in given.items() if key != KEY and not key.startswith(own)}
    return {key: _replaced(key, value, providers) for key, value in rest.items()}


def _replaced(key: str, value: str, providers: Mapping[str, Provider]) -> str:
    def found(reference: re.Match[str]) -> str:
        provider = providers.get(reference[1])
        if provider is None:
            return reference[0]  # no provider's: as it stands
        try:
            text = provider(reference[3] or "", reference[4])
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ConfigError(f"{key}={reference[0]}: it cannot be read: {reason}") from None
        if text is None:
            raise ConfigError(f"{key}={reference[0]}: there is no such value, or it is not allowed; set it")
        return text

    return re.sub(_REFERENCE, found, value) if providers else value


def _provider(given: Mapping[str, str], name: str) -> Provider:
    key = f"{KEY}.{name}.class"
    kind = given.get(key, "").strip()
    allowed_paths = [
        path for one in given.get(f"{KEY}.{name}.param.{_ALLOWED_PATHS}", "").split(",") if (path := one.strip())
    ]
    if kind == f"{_PACKAGE}EnvVarConfigProvider":
        pattern = given.get(f"{KEY}.{name}.param.{_ALLOWED_VARIABLES}", "").strip()
        return lambda _, variable: _variable(variable, pattern)
    if kind == f"{_PACKAGE}FileConfigProvider":
        return lambda path, wanted: read_properties(path).get(wanted) if _is_allowed(path, allowed_paths) else None
    if kind == f"{_PACKAGE}DirectoryConfigProvider":
        return lambda path, file: _content(path, file) if _is_allowed(path, allowed_paths) else None
    given_class = f"{key}={kind}" if kind else f"{KEY}={name} has no {key}"
    raise ConfigError(f"{given_class}; give {_PACKAGE}{', '.join(_CLASSES[:-1])} or {_CLASSES[-1]}")


def _variable(name: str, pattern: str) -> str | None:
    return os.environ.get(name) if not pattern or re.fullmatch(pattern, name) else None


def _is_allowed(path: str, allowed: list[str]) -> bool:
    whole = os.path.realpath(path)
    return not allowed or any(
        os.path.commonpath([whole, os.path.realpath(one)]) == os.path.realpath(one) for one in allowed
    )


def _content(folder: str, name: str) -> str | None:
    path = os.path.join(folder, name)
    if os.path.dirname(name) or not os.path.isfile(path):
        return None
    with open(path, encoding="utf-8") as file:
        return file.read()
