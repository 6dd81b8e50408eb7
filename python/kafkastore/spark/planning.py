"""Plans a read and reads what its options say; ``rust/planner`` does, for every source.

A plan is fixed here, on the driver: closed ranges of offsets that do not move while tasks run. Requests and answers are
JSON, described in ``rust/planner/requests.rs``.
"""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from kafkastore import _core
from kafkastore.errors import ConfigError
from kafkastore.interbroker.command_config import spark_options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DEFAULT_SPLIT_BYTES = 512 << 20
"""Shares are large because a Python task costs Spark about 0.07 s whatever it reads, the time that 100 MB take to cross
to the JVM."""

COMMAND_CONFIG = "commandconfig"
"""The option ``commandConfig``, as it is compared."""

_LOG = logging.getLogger("kafkastore.spark")


@dataclass(frozen=True)
class Chosen:
    """What the options say about the read itself."""

    include_headers: bool
    push_filters: bool


@dataclass(frozen=True)
class Share:
    """What one task reads: encoded ``Split`` objects, in order, and ``how``, the limits of the scan as JSON. ``lease``
    is its part in a lease on links. A share pickles to little more than the splits."""

    splits: tuple[str, ...]
    size_bytes: int
    how: str
    lease: str | None = None

    def encode(self) -> str:
        """The share as JSON."""
        return json.dumps(asdict(self))

    @staticmethod
    def decode(text: str) -> Share:
        """The share that :meth:`encode` encoded. Raises ValueError for any other text."""
        try:
            fields = json.loads(text)
            return Share(**{**fields, "splits": tuple(fields["splits"])})
        except (ValueError, TypeError, KeyError):
            raise ValueError(f"splits: {text[:60]!r} is no share; give the rows of segments() as they are") from None


def parse(options: Mapping[str, str]) -> Chosen:
    """Raises ValueError of one sentence for an option that is missing or wrong."""
    answer = json.loads(_core.read_options(_request(options)))
    return Chosen(answer["includeHeaders"], answer["pushFilters"])


def plan(
    options: Mapping[str, str], filters: Sequence[Mapping[str, Any]] = (), cores: int | None = None
) -> list[Share]:
    """The shares of a read; warnings go to the log. Raises what :func:`_core.plan_read` raises."""
    answer = json.loads(_core.plan_read(_request(options, filters, cores), DEFAULT_SPLIT_BYTES))
    _warn(answer)
    how = json.dumps({name: answer[name] for name in ("scan", "checkCrcs", "failOnDataLoss", "ignoreCorruptBatches")})
    return [Share(tuple(share["splits"]), share["sizeBytes"], how, share["lease"]) for share in answer["shares"]]


def offsets(options: Mapping[str, str]) -> list[dict[str, Any]]:
    """Every partition of a read with its ``topic``, ``partition``, ``startOffset`` and ``endOffset``."""
    answer = json.loads(_core.read_offsets(_request(options), DEFAULT_SPLIT_BYTES))
    _warn(answer)
    found: list[dict[str, Any]] = answer["partitions"]
    return found


def loss_sentence(topic: str, partition: int, start: int, end: int) -> str:
    """The warning about offsets that are gone or cannot be read, where the options say that this is no failure."""
    return (
        f"{topic}-{partition}: offsets {start} to {end} are gone, by retention or with their topic, or cannot be read;"
        ' some data may have been lost (the options "failOnDataLoss" and "ignoreCorruptBatches" make this fail)'
    )


def with_command_config(options: Mapping[str, str]) -> dict[str, str]:
    """The options with those that the file of the option ``commandConfig`` stands for. Raises ValueError."""
    given = {name: value for name, value in options.items() if name.lower() != COMMAND_CONFIG}
    path = next((value for name, value in options.items() if name.lower() == COMMAND_CONFIG), None)
    try:
        return {**spark_options(path), **given}
    except ConfigError as error:
        raise ValueError(error.client_message.replace("--command-config", "commandConfig")) from None


def _request(options: Mapping[str, str], filters: Sequence[Mapping[str, Any]] = (), cores: int | None = None) -> str:
    given = {name: str(value) for name, value in options.items()}
    return json.dumps({"options": given, "filters": list(filters), "cores": cores})


def _warn(answer: Mapping[str, Any]) -> None:
    for warning in answer["warnings"]:
        _LOG.warning("%s", warning)
