"""Profiles: a client.properties for each cluster that a user works with, by name, and which one is in use.

```text
$XDG_CONFIG_HOME/kafkastore/profiles/NAME.properties   Java's or librdkafka's keys, for this user's eyes alone
$XDG_CONFIG_HOME/kafkastore/profile                    the name of the profile in use
```

The files serve Kafka's own tools as ``--command-config``, and kcat as ``-F``, where the keys are theirs. Each is
replaced as a whole. Without a home there are none.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kafkastore.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

SUFFIX: Final = ".properties"
IN_USE: Final = "profile"
LONGEST_NAME: Final = 200
"""In bytes: a file system takes names of 255, and the file is replaced by way of one with a longer name."""
HIDDEN: Final = "[hidden]"
SECRET_WORDS: Final = ("password", "secret", "jaas", "keystore.key", "key.pem", "private.key", "assertion", "user.info")
"""Parts of the names of keys whose values are for nobody's eyes, in Java's and librdkafka's names."""


def folder() -> Path | None:
    """Where the profiles are, whether it is there or not."""
    given = os.environ.get("XDG_CONFIG_HOME")
    home = os.environ.get("HOME")
    if not given and not home:
        return None
    return (Path(given) if given else Path(home or "") / ".config") / "kafkastore"


def profile_in_use(name: str | None) -> dict[str, str]:
    """The keys of the profile of this name, or of the one in use; none where nothing is in use. Raises ConfigError."""
    name = name or name_in_use()
    if name is None:
        return {}
    return read_profile(name)


def name_in_use() -> str | None:
    place = folder()
    if place is None:
        return None
    try:
        return (place / IN_USE).read_bytes().decode(errors="replace").strip() or None
    except OSError:
        return None


def path_of(name: str) -> Path:
    """The file of a profile. Raises ConfigError for what can be no name."""
    place = folder()
    if place is None:
        raise ConfigError("--profile: neither HOME nor XDG_CONFIG_HOME is set, so there are no profiles; set one")
    is_plain = all(one.isalnum() or one in "-_." for one in name)
    if not name or name.startswith(".") or not is_plain or len(name.encode()) > LONGEST_NAME:
        raise ConfigError(
            f"--profile: {name!r} can be no profile's name; use up to {LONGEST_NAME} letters, digits, - and _"
        )
    return place / "profiles" / (name + SUFFIX)


def names() -> list[str]:
    """Those that there are."""
    place = folder()
    found = [] if place is None else (place / "profiles").glob(f"*{SUFFIX}")
    return sorted(path.name.removesuffix(SUFFIX) for path in found if path.is_file())


def read_profile(name: str) -> dict[str, str]:
    """Its keys. Raises ConfigError."""
    path = path_of(name)
    if not path.is_file():
        raise ConfigError(f"there is no profile {name}; see kafkastore profile list")
    return read_client_properties("--profile", str(path))


def write_profile(name: str, properties: Mapping[str, str]) -> None:
    """Makes or replaces it. Raises ConfigError."""
    from kafkastore.config.properties import properties_text

    _replace(path_of(name), properties_text(properties))


def use_profile(name: str) -> None:
    """Raises ConfigError."""
    read_profile(name)
    _replace(path_of(name).parents[1] / IN_USE, f"{name}\n")


def delete_profile(name: str) -> bool:
    """Whether it was the one in use; then none is. Raises ConfigError."""
    read_profile(name)
    path = path_of(name)
    is_in_use = name == name_in_use()
    try:
        if is_in_use:
            (path.parents[1] / IN_USE).unlink()
        path.unlink()
    except OSError as error:
        raise ConfigError(f"{path} cannot be deleted: {error.strerror or error}") from None
    return is_in_use


def is_secret(key: str) -> bool:
    """Whether the value of a client's key is a secret."""
    return any(word in key.lower() for word in SECRET_WORDS)


def _replace(path: Path, text: str) -> None:
    """Writes the file, for its owner alone. Raises ConfigError."""
    from kafkastore.plain_files import replace_file

    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(str(path), text, 0o600)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror or error}") from None


def read_client_properties(option: str, path: str) -> dict[str, str]:
    """The keys of a file. Raises ConfigError of one sentence that begins with the option."""
    from kafkastore.config.properties import read_properties

    try:
        return read_properties(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(f"{option} {path} cannot be read: {reason}; give a client.properties") from None
