"""Plans a read; ``rust/planner`` does, for ``format("kafkastore")`` too.

A plan is fixed here, on the driver: closed ranges of offsets that do not move while tasks run. Requests and answers are
JSON, described in ``rust/planner/requests.rs``.
"""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from kafkastore import _core

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_SPLIT_BYTES = 512 << 20
"""Shares are large because a Python task costs Spark about 0.07 s whatever it reads, the time that 100 MB take to cross
to the JVM."""

_LOG = logging.getLogger("kafkastore.spark")


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


def plan(options: Mapping[str, str], cores: int | None = None) -> list[Share]:
    """The shares of a read; warnings go to the log. Raises what :func:`_core.plan_read` raises."""
    request = json.dumps({"options": dict(options), "cores": cores})
    answer = json.loads(_core.plan_read(request, DEFAULT_SPLIT_BYTES))
    for warning in answer["warnings"]:
        _LOG.warning("%s", warning)
    how = json.dumps({name: answer[name] for name in ("checkCrcs", "failOnDataLoss", "ignoreCorruptBatches")})
    return [Share(tuple(share["splits"]), share["sizeBytes"], how, share["lease"]) for share in answer["shares"]]


def loss_sentence(topic: str, partition: int, start: int, end: int) -> str:
    """The warning about offsets that are gone or cannot be read, where the options say that this is no failure."""
    return (
        f"{topic}-{partition}: offsets {start} to {end} are gone, by retention or with their topic, or cannot be read;"
        ' some data may have been lost (the options "failOnDataLoss" and "ignoreCorruptBatches" make this fail)'
    )
