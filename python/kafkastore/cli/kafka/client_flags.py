"""The flags that the tools for records share: properties out of a file and out of words, and what is out of date."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from kafkastore.cli.kafka.flags import FlagsError

if TYPE_CHECKING:
    from collections.abc import Iterable


def pairs(words: Iterable[str] | None) -> dict[str, str]:
    """Words ``key=value``; a word without ``=`` has an empty value, as with Kafka's."""
    return {key: value for key, _, value in (word.partition("=") for word in words or ())}


def properties_of(given: Any, flag: str, path: str | None) -> dict[str, str]:
    """The keys of a file, if there is one, and the words of ``flag`` above them."""
    from kafkastore.cli.profiles import read_client_properties

    return ({} if path is None else read_client_properties(flag, path)) | pairs(given)


def choose(given: Any, new: str, old: str, *, warning: str) -> Any:
    """What one of two names of a flag was given, of which ``old`` is out of date: it works, and stdout says so, as with
    Kafka's. Raises FlagsError when both are given."""
    current, former = (getattr(given, name.replace("-", "_")) for name in (new, old))
    if current and former:
        raise FlagsError(f"Options --{new} and --{old} cannot be specified together.")
    if former:
        sys.stdout.write(f"{warning}\n")
    return current or former


def one_config(given: Any, old: str) -> dict[str, str]:
    """The properties of ``--command-config``, or of ``old``, which is out of date. Raises FlagsError for both."""
    former = getattr(given, old)
    if former and given.command_config:
        raise FlagsError(f"Options --{old} and --command-config are mutually exclusive.")
    if former:
        sys.stdout.write(
            f"Option --{old} has been deprecated and will be removed in a future version. Use --command-config "
            "instead.\n"
        )
    return properties_of((), "--command-config", given.command_config or former)
