"""Profiles: a client.properties for each cluster that a user works with, by name, and which one is in use.

```text
$XDG_CONFIG_HOME/kafkastore/profiles/NAME.properties   Java's or librdkafka's keys, for this user's eyes alone
$XDG_CONFIG_HOME/kafkastore/profile                    the name of the profile in use
```

The files serve Kafka's own tools as ``--command-config``, and kcat as ``-F``. Without a home there are none.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from kafkastore.config.properties import read_properties
from kafkastore.errors import ConfigError

SUFFIX: Final = ".properties"


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
    path = path_of(name)
    if not path.exists():
        raise ConfigError(f"--profile: there is no profile {name}; see kafkastore profile list")
    return read_client_properties("--profile", str(path))


def name_in_use() -> str | None:
    place = folder()
    if place is None:
        return None
    try:
        return (place / "profile").read_text().strip() or None
    except OSError:
        return None


def path_of(name: str) -> Path:
    """The file of a profile. Raises ConfigError for what can be no name."""
    place = folder()
    if place is None:
        raise ConfigError("--profile: neither HOME nor XDG_CONFIG_HOME is set, so there are no profiles; set one")
    if not name or name.startswith(".") or not all(one.isalnum() or one in "-_." for one in name):
        raise ConfigError(f"--profile: {name!r} can be no profile's name; use letters, digits, - and _")
    return place / "profiles" / (name + SUFFIX)


def read_client_properties(option: str, path: str) -> dict[str, str]:
    """The keys of a file. Raises ConfigError of one sentence that begins with the option."""
    try:
        return read_properties(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(f"{option} {path} cannot be read: {reason}; give a client.properties") from None
