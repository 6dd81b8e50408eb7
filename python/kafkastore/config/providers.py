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
import stat
from typing import TYPE_CHECKING, Final

from kafkastore.config.properties import read_properties
from kafkastore.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Provider = Callable[[str, str], str | None]
    """(path, key) → the value, None when there is none. Raises OSError."""

KEY: Final = "config.providers"
MOST_BYTES: Final = 1 << 20
_PACKAGE: Final = "org.apache.kafka.common.config.provider."
_CLASSES: Final = ("EnvVarConfigProvider", "FileConfigProvider", "DirectoryConfigProvider")
_ALLOWED_VARIABLES, _ALLOWED_PATHS = "allowlist.pattern", "allowed.paths"
_REFERENCE: Final = r"\$\{([^}]*?):(([^}]*?):)?([^}]*?)\}"


def resolved(given: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The pairs of a file without those of the providers, their references replaced; and of the values that have come
    from elsewhere what stands in the file, for messages. Raises ConfigError, which has no value of a provider."""
    names = [name.strip() for name in given.get(KEY, "").split(",") if name.strip()]
    providers = {name: _provider(given, name) for name in names}
    own = tuple(f"{KEY}.{name}." for name in names)
    rest = {key: value for key, value in given.items() if key != KEY and not key.startswith(own)}
    found = {key: _replaced(key, value, providers) for key, value in rest.items()}
    return found, {value: rest[key] for key, value in found.items() if value and value != rest[key]}


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
    listed = given.get(f"{KEY}.{name}.param.{_ALLOWED_PATHS}", "").split(",")
    allowed_paths = [os.path.realpath(path) for one in listed if (path := one.strip())]
    if kind == f"{_PACKAGE}EnvVarConfigProvider":
        pattern_key = f"{KEY}.{name}.param.{_ALLOWED_VARIABLES}"
        pattern = given.get(pattern_key, "").strip()
        try:
            allowed = re.compile(pattern or ".*", re.DOTALL)
        except re.error as error:
            raise ConfigError(f"{pattern_key}={pattern} is no regular expression: {error}") from None
        return lambda _, variable: os.environ.get(variable) if allowed.fullmatch(variable) else None
    if kind == f"{_PACKAGE}FileConfigProvider":
        return lambda path, wanted: _property(path, wanted) if _is_allowed(path, allowed_paths) else None
    if kind == f"{_PACKAGE}DirectoryConfigProvider":
        return lambda path, file: _content(path, file) if _is_allowed(path, allowed_paths) else None
    given_class = f"{key}={kind}" if kind else f"{KEY}={name} has no {key}"
    raise ConfigError(f"{given_class}; give {_PACKAGE}{', '.join(_CLASSES[:-1])} or {_CLASSES[-1]}")


def _is_allowed(path: str, allowed: list[str]) -> bool:
    real_path = os.path.realpath(path)
    return not allowed or any(os.path.commonpath([real_path, one]) == one for one in allowed)


def _content(folder: str, name: str) -> str | None:
    path = os.path.join(folder, name)
    if os.path.dirname(name) or not os.path.isfile(path):
        return None
    _check_file(path)
    with open(path, "rb") as file:
        data = file.read()
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None


def _property(path: str, wanted: str) -> str | None:
    _check_file(path)
    return read_properties(path).get(wanted)


def _check_file(path: str) -> None:
    """Raises ValueError for what may have no end."""
    about = os.stat(path)
    if not stat.S_ISREG(about.st_mode) or about.st_size > MOST_BYTES:
        raise ValueError(f"it is no file of {MOST_BYTES} bytes at the most")
