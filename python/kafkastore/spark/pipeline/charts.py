"""Plots as SVG texts: a rate over time, columns, bars, shares. Colours are CSS variables of the page around them.

Every mark has its figure as a ``<title>``, which browsers show under the pointer. Knows nothing of topics.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

WIDTH: Final = 640
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 10, 24
BAR_HEIGHT: Final = 24
LABEL_WIDTH: Final = 190
FIGURE_WIDTH: Final = 110
LABEL_LETTERS: Final = 26
HUES: Final = 6
_STEPS: Final = (1.0, 2.0, 2.5, 5.0, 10.0)


def short(number: float) -> str:
    """A number with at most three digits and a unit."""
    for unit in ("", "k", "M", "G", "T"):
        if abs(number) < 999.5:
            return f"{number:.3g}{unit}"
        number /= 1000
    return f"{number:.3g}P"


def rate_chart(points: Sequence[tuple[int, int]], bucket_ms: int, unit: str, height: int = 190) -> str:
    """Steps over time: ``points`` are (beginning in ms, number), buckets without a point are 0. The axis is a second's
    share of a bucket's number."""
    first, last = points[0][0], points[-1][0] + bucket_ms
    per_second = {start: number / (bucket_ms / 1000) for start, number in points}
    top, ticks = _axis(max(per_second.values()))

    def x(moment: float) -> float:
        return LEFT + (moment - first) / (last - first) * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return TOP + (1 - value / top) * (height - TOP - BOTTOM)

    outline, hovers, previous = [f"M{x(first):.1f},{y(0):.1f}"], [], first
    for start, number in points:
        if start > previous:
            outline.append(f"V{y(0):.1f}H{x(start):.1f}")
        outline.append(f"V{y(per_second[start]):.1f}H{x(start + bucket_ms):.1f}")
        previous = start + bucket_ms
        said = f"{_moment(start, bucket_ms)}: {short(per_second[start])} {unit}/s ({number:,})"
        hovers.append(_hover(x(start), TOP, x(previous) - x(start), height - TOP - BOTTOM, said))
    outline.append(f"V{y(0):.1f}")
    steps = "".join(outline)
    marks = [*_grid(ticks, y), f'<path class="area" d="{steps}Z"/><path class="line" d="{steps}"/>', *hovers]
    return _svg(height, [*marks, *_times(first, last, x, height)], f"{unit} a second over time")


def columns_chart(values: Sequence[tuple[str, float]], unit: str, height: int = 160) -> str:
    """A column for each (label, number), in this order; where there are many, not every label is shown."""
    top, ticks = _axis(max(number for _, number in values))
    step = (WIDTH - LEFT - RIGHT) / max(len(values), 4)
    every = max(1, math.ceil(len(values) / 16))

    def y(value: float) -> float:
        return TOP + (1 - value / top) * (height - TOP - BOTTOM)

    marks = [*_grid(ticks, y)]
    for at, (label, number) in enumerate(values):
        left, wide = LEFT + at * step, min(step * 0.76, 44)
        middle = left + step / 2
        drawn = max(y(0) - y(number), 1.0 if number else 0.0)
        title = f"<title>{escape(label)}: {number:,.0f} {escape(unit)}</title>"
        place = f'x="{middle - wide / 2:.1f}" y="{y(0) - drawn:.1f}" width="{wide:.1f}" height="{drawn:.1f}"'
        marks.append(f'<rect class="bar" rx="1.5" {place}>{title}</rect>')
        if at % every == 0:
            marks.append(_text(middle, height - 7, label, "tick middle"))
    return _svg(height, marks, f"{unit} by {len(values)} columns")


def bars_chart(values: Sequence[tuple[str, float, str]]) -> str:
    """A bar for each (label, number, figure), one below the other; the figure stands behind the bar."""
    greatest = max(number for _, number, _ in values) or 1.0
    height = len(values) * BAR_HEIGHT + 4
    room = WIDTH - LABEL_WIDTH - FIGURE_WIDTH
    marks = []
    for at, (label, number, figure) in enumerate(values):
        line = at * BAR_HEIGHT + 4
        wide = max(number / greatest * room, 1.5)
        shown = label if len(label) <= LABEL_LETTERS else label[: LABEL_LETTERS - 1] + "…"
        name = f"{escape(shown)}<title>{escape(label)}</title>"
        place = f'x="{LABEL_WIDTH}" y="{line + 2}" width="{wide:.1f}" height="{BAR_HEIGHT - 8}"'
        marks += [
            f'<text x="{LABEL_WIDTH - 10}" y="{line + 14}" class="label end">{name}</text>',
            f'<rect class="bar" rx="1.5" {place}/>',
            _text(LABEL_WIDTH + wide + 8, line + 14, figure, "figure"),
        ]
    return _svg(height, marks, f"{len(values)} bars")


def shares_chart(values: Sequence[tuple[str, float, str]]) -> str:
    """One bar cut by shares, with a legend below: (label, number, figure)."""
    total = sum(number for _, number, _ in values) or 1.0
    at, marks = 0.0, []
    legend: list[str] = []
    for number, (label, share, figure) in enumerate(values):
        wide = share / total * WIDTH
        hue = f"hue{number % HUES}"
        title = f"<title>{escape(label)}: {escape(figure)}</title>"
        marks.append(
            f'<rect class="{hue}" x="{at:.1f}" y="4" width="{max(wide - 2, 1):.1f}" height="22">{title}</rect>'
        )
        row, column = divmod(number, 3)
        left, line = column * WIDTH / 3, 40 + row * 20
        legend.append(f'<rect class="{hue}" x="{left:.1f}" y="{line}" width="10" height="10" rx="2"/>')
        legend.append(_text(left + 16, line + 9, f"{label}  {figure}", "label"))
        at += wide
    height = 40 + 20 * math.ceil(len(values) / 3)
    return _svg(height, [*marks, *legend], "shares")


def _axis(greatest: float) -> tuple[float, list[float]]:
    """(the axis' end, its ticks): three to five round numbers from 0 on."""
    if greatest <= 0:
        return 1.0, [0.0, 1.0]
    power = 10.0 ** math.floor(math.log10(greatest / 4))
    step = next(power * factor for factor in _STEPS if power * factor * 4 >= greatest * 0.999)
    count = math.ceil(greatest / step - 1e-9)
    return step * count, [step * number for number in range(count + 1)]


def _grid(ticks: Sequence[float], y: Callable[[float], float]) -> list[str]:
    marks = []
    for tick in ticks:
        line = y(tick)
        marks.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{line:.1f}" y2="{line:.1f}"/>')
        marks.append(_text(LEFT - 8, line + 4, short(tick), "tick end"))
    return marks


def _times(first: int, last: int, x: Callable[[float], float], height: int) -> list[str]:
    """Five moments below the axis, the outer ones within the plot."""
    marks = []
    for number in range(5):
        moment = first + (last - first) * number / 4
        side = ("start", "middle", "middle", "middle", "end")[number]
        marks.append(_text(x(moment), height - 7, _moment(int(moment), (last - first) // 4), f"tick {side}"))
    return marks


def _moment(ms: int, step_ms: int) -> str:
    """A time in UTC, as exact as steps of this length need."""
    try:
        moment = datetime.fromtimestamp(ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return str(ms)
    if step_ms >= 20 * 86_400_000:
        return f"{moment:%Y-%m-%d}"
    return f"{moment:%d %b %H:%M}" if step_ms >= 60_000 else f"{moment:%H:%M:%S}"


def _hover(left: float, top: float, width: float, height: float, title: str) -> str:
    place = f'x="{left:.1f}" y="{top}" width="{max(width, 0.5):.1f}" height="{height}"'
    return f'<rect class="hover" {place}><title>{escape(title)}</title></rect>'


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{escape(text)}</text>'


def _svg(height: float, marks: Sequence[str], label: str) -> str:
    head = f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(label)}">'
    return "\n".join([head, *marks, "</svg>"])
