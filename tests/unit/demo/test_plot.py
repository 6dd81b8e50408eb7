"""The picture of delays: the values that matplotlib gets, and the file."""

from __future__ import annotations

import struct
from pathlib import Path

from demo import plot
from demo.flights import Delays
from matplotlib.patches import Rectangle

DELAYS = Delays.of_rows([("HA", 342, 342, -2365), ("F9", 685, 681, 14_928), ("AA", 10, 10, 4), ("ZZ", 1, 0, 0)])
NAMES = {"F9": "Frontier", "HA": "Hawaiian", "AA": "American"}


def test_bars_are_sorted_latest_first_and_named() -> None:
    drawn = plot.bars(DELAYS, NAMES)
    assert [(bar.name, round(bar.minutes, 2), bar.arrivals) for bar in drawn] == [
        ("Frontier", 21.92, 681),
        ("American", 0.4, 10),
        ("Hawaiian", -6.92, 342),
    ]


def test_figure_draws_each_bar_at_its_name_from_the_top_down() -> None:
    drawn = plot.bars(DELAYS, NAMES)
    (axes,) = plot.figure(drawn, "a source").axes
    widths = [bar.get_width() for bar in axes.patches if isinstance(bar, Rectangle)]
    assert widths == [bar.minutes for bar in drawn]
    assert [label.get_text() for label in axes.get_yticklabels()] == [bar.name for bar in drawn]
    bottom, top = axes.get_ylim()
    assert bottom > top, "the first bar is on top"
    left, right = axes.get_xlim()
    assert left < min(widths) < 0 < max(widths) < right


def test_figure_says_what_is_drawn_in_which_unit_and_from_what_source() -> None:
    picture = plot.figure(plot.bars(DELAYS, NAMES), "1,038 records of the topic flights")
    assert "minutes" in picture.axes[0].get_xlabel()
    assert {text.get_text() for text in picture.texts} == {plot.TITLE, "1,038 records of the topic flights"}
    assert {"21.9", "0.4", "\N{MINUS SIGN}6.9", "681"} <= {text.get_text() for text in picture.axes[0].texts}


def test_saved_file_is_a_png_of_1500_by_1050_pixels(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "delays.png"
    plot.save(DELAYS, NAMES, "a source", path)
    head = path.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", head[16:24]) == (1500, 1050)
