"""A picture of the delays: one bar for each carrier, the latest on top. Writes a PNG; needs no display."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from demo.flights import Delays

INCHES = (10.0, 7.0)
DOTS_PER_INCH = 150
EDGE = 0.03
TITLE = "Flights that left New York in 2013: delay at arrival by carrier"
INK, FAINT, GRID = "#222222", "#6b6b6b", "#e4e4e4"
LATE, EARLY = "#c8553d", "#3d7ea6"
"""The colours of the bars. Late and early also differ without colour: early bars point the other way."""
ROOM = 0.14  # share of the longest bar, left free for a bar's figure


@dataclass(frozen=True)
class Bar:
    """`minutes`: the mean delay at arrival, negative when early; `arrivals`: the number of flights in the mean."""

    name: str
    minutes: float
    arrivals: int


def bars(delays: Delays, names: Mapping[str, str]) -> list[Bar]:
    """A bar for each carrier with an arrival, the most delayed first."""
    return [Bar(names.get(c, c), delays.mean(c), delays.arrivals[c]) for c in delays.carriers()]


def figure(drawn: Sequence[Bar], source: str) -> Figure:
    """The bars from the top down, under a title and the line `source`."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    picture = Figure(figsize=INCHES, dpi=DOTS_PER_INCH)
    FigureCanvasAgg(picture)
    picture.text(EDGE, 0.965, TITLE, fontsize=15, weight="bold", color=INK, va="top")
    picture.text(EDGE, 0.915, source, fontsize=10, color=FAINT, va="top")
    axes = picture.add_subplot()
    picture.subplots_adjust(left=0.235, right=1 - EDGE, top=0.84, bottom=0.095)
    minutes = [bar.minutes for bar in drawn]
    places = range(len(drawn))
    axes.barh(places, minutes, height=0.72, color=[LATE if value > 0 else EARLY for value in minutes])
    axes.set_yticks(places, [bar.name for bar in drawn])
    axes.set_ylim(len(drawn) - 0.4, -0.6)
    longest = max(map(abs, minutes), default=1.0)
    axes.set_xlim(min(0.0, *minutes) - ROOM * longest, max(0.0, *minutes) + 2.2 * ROOM * longest)
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.set_xlabel("mean delay at arrival, minutes (below zero: early)", color=INK, labelpad=8)
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0, colors=INK)
    axes.tick_params(axis="x", length=0, colors=FAINT)
    axes.spines[:].set_visible(False)
    _figures_beside(axes, drawn)
    return picture


def _figures_beside(axes: Axes, drawn: Sequence[Bar]) -> None:
    """Writes each mean at the end of its bar, and its number of arrivals at the right edge."""
    for place, bar in enumerate(drawn):
        shift, side = (4, "left") if bar.minutes > 0 else (-4, "right")
        mean = f"{bar.minutes:.1f}".replace("-", "\N{MINUS SIGN}")
        axes.annotate(mean, (bar.minutes, place), (shift, 0), "data", "offset points", ha=side, va="center", color=INK)
        right: Any = ("axes fraction", "data")
        axes.annotate(f"{bar.arrivals:,}", (1.0, place), xycoords=right, ha="right", va="center", color=FAINT)
    axes.annotate("arrivals", (1.0, 1.01), xycoords="axes fraction", ha="right", va="bottom", color=FAINT)


def save(delays: Delays, names: Mapping[str, str], source: str, path: Path) -> None:
    """Writes the picture to `path`, 1500 by 1050 pixels; makes its folder. OSError when it cannot."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure(bars(delays, names), source).savefig(path, format="png")
