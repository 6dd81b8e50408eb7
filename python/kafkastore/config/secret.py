"""The secret that the brokers of a cluster share: the one line of ``kafkastore.inter.broker.secret.file``, read once at
the start.

No message and no log has the text of the secret; errors name its file.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkastore.errors import StartupError
from kafkastore.plain_files import open_plain

if TYPE_CHECKING:
    from collections.abc import Callable

FILE_KEY: Final = "kafkastore.inter.broker.secret.file"
REQUIRED_KEY: Final = "kafkastore.inter.broker.secret.required"

MIN_CHARACTERS: Final = 16
MAX_BYTES: Final = 4096
"""A longer file is taken for a wrong file."""

_NEW_BYTES: Final = 32


class Secret(NamedTuple):
    """``is_required``: a connection that does not prove the secret may not act as a broker. Without it such a
    connection may, for the time of an upgrade."""

    text: str
    is_required: bool = True

    def __repr__(self) -> str:
        return "Secret(hidden)"


def new_secret() -> str:
    """A random secret of 32 bytes, as many as a SHA-256 has, in letters, digits, "-" and "_"."""
    import secrets  # brings OpenSSL, 5 MB that a broker without a secret does without

    return secrets.token_urlsafe(_NEW_BYTES)


def write_secret(path: str | os.PathLike[str], secret: str) -> None:
    """Creates the file, which only its owner may read. Raises OSError; FileExistsError when the file exists."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(secret + "\n")


def read_secret(get: Callable[[str], object]) -> Secret | None:
    """The secret in the file that the configuration names; None when it names no file. Raises StartupError."""
    path = get(FILE_KEY)
    if not isinstance(path, str):
        return None
    return Secret(_read(path), get(REQUIRED_KEY) is not False)


def _read(path: str) -> str:
    setting = f"{FILE_KEY}={path}"
    try:
        with open(path, "rb", opener=open_plain) as file:
            mode = os.fstat(file.fileno()).st_mode
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise StartupError(f"{setting} cannot be read: {error.strerror}; copy it from another broker") from None
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise StartupError(f"{setting} may be read by others (mode {stat.S_IMODE(mode):o}); chmod 600 it")
    text = data.decode("ascii", "replace").strip()
    is_one_line = text.isprintable() and "\ufffd" not in text and " " not in text
    if not MIN_CHARACTERS <= len(text) <= MAX_BYTES or not is_one_line:
        raise StartupError(
            f"{setting} does not hold one line of at least {MIN_CHARACTERS} letters, digits or signs; copy it from "
            "another broker, or make one with: openssl rand -hex 32"
        )
    return text
