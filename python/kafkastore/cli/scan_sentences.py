"""What the commands say of scans and loads: errors with the options as the command line has them, and what was left
out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_OPTIONS: Final = {
    "ignore_corrupt_batches (Spark: ignoreCorruptBatches) goes on": "--ignore-corrupt-batches goes on",
    "leave bootstrap_servers out": "leave --bootstrap-server out",
    "the topic and bootstrap_servers": "the topic and --bootstrap-server",
}
_ARGUMENTS: Final = {"bootstrap_servers": "--bootstrap-server", "command_config": "--command-config"}
_ARGUMENT: Final = re.compile(r"\A(?:bootstrap_servers(?=: | is empty)|command_config(?= .* cannot be read: ))")


def error_sentence(error: BaseException) -> str:
    """The error's sentence, see :func:`option_names`; of an error of the system the file and the reason."""
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return option_names(str(error))


def option_names(sentence: str) -> str:
    """The sentence with the names of the command's options for those of Python's arguments."""
    text = _ARGUMENT.sub(lambda found: _ARGUMENTS[found[0]], sentence, count=1)
    for argument, option in _OPTIONS.items():
        text = text.replace(argument, option)
    return text


def unreadable_sentences(topic: str, lost: Iterable[tuple[int, int, int]]) -> list[str]:
    """A sentence for each (partition, from, to) of the offsets that were passed over."""
    return [
        f"{topic}-{number}: offsets {start} to {end} cannot be read and are left out" for number, start, end in lost
    ]
