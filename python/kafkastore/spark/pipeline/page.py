"""The figures of topics as an HTML page of one file: plots, tables and hints, light and dark, without a network.

Everything that comes from files (names of topics, keys) is escaped.
"""

from __future__ import annotations

from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING, Final

from kafkastore.scanning.topics import readable
from kafkastore.spark.pipeline.charts import bars_chart, columns_chart, rate_chart, shares_chart, short
from kafkastore.spark.pipeline.hints import hints

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kafkastore.spark.pipeline.stats import HeavyKey, TopicStats

MANY_PARTITIONS: Final = 64
"""Beyond, the plot shows the largest."""
WORTH_A_LINE: Final = 0.001
"""Of a topic's records: keys with fewer are not named to people."""
_STYLE: Final = """
:root { color-scheme: light dark; --page: #f5f6f8; --card: #ffffff; --ink: #1a1f27; --muted: #5b6472; --rule: #e2e6eb;
  --mark: #2f6fde; --soft: #2f6fde26; --hue0: #2f6fde; --hue1: #e08a1e; --hue2: #1f9d85; --hue3: #9259c9;
  --hue4: #cf4d6f; --hue5: #7b8794; }
@media (prefers-color-scheme: dark) { :root { --page: #0e1116; --card: #171c23; --ink: #e8ebf0; --muted: #9aa5b4;
  --rule: #2b323c; --mark: #6ba1ff; --soft: #6ba1ff2e; --hue0: #6ba1ff; --hue1: #f0a848; --hue2: #45c4aa;
  --hue3: #b98ae8; --hue4: #ea7f9b; --hue5: #94a0ae; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", Roboto, sans-serif; }
main { max-width: 1180px; margin: 0 auto; padding: 32px 20px 64px; }
h1 { font-size: 26px; margin: 0; letter-spacing: -.01em; }
h2 { font-size: 19px; margin: 0 0 14px; overflow-wrap: anywhere; }
h3 { font-size: 13px; font-weight: 600; margin: 0 0 8px; color: var(--muted); }
p.sub { margin: 4px 0 24px; color: var(--muted); }
section { background: var(--card); border: 1px solid var(--rule); border-radius: 10px; padding: 20px 22px;
  margin-bottom: 22px; }
.scroll { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; }
th { font-size: 12.5px; font-weight: 600; color: var(--muted); text-align: right; padding: 0 0 8px 18px;
  white-space: nowrap; }
td { border-top: 1px solid var(--rule); padding: 8px 0 8px 18px; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
a { color: var(--mark); text-decoration: none; } a:hover { text-decoration: underline; }
.tiles { display: grid; grid-template-columns: repeat(4, 1fr); gap: 16px 24px; margin: 0 0 26px; }
@media (max-width: 760px) { .tiles { grid-template-columns: repeat(2, 1fr); } }
.tiles dt { font-size: 12.5px; color: var(--muted); } .tiles dd { margin: 0; font-size: 20px; font-weight: 600;
  letter-spacing: -.01em; font-variant-numeric: tabular-nums; }
.tiles small { display: block; font-size: 12px; font-weight: 400; color: var(--muted); letter-spacing: 0; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 460px), 1fr)); gap: 24px 32px; }
figure { margin: 0; min-width: 0; } svg { display: block; width: 100%; height: auto; }
svg text { font: 11.5px system-ui, "Segoe UI", Roboto, sans-serif; fill: var(--muted); }
svg .label { fill: var(--ink); font-size: 12px; } svg .figure { fill: var(--ink); font-size: 12px;
  font-variant-numeric: tabular-nums; }
svg .end { text-anchor: end; } svg .middle { text-anchor: middle; }
svg .grid { stroke: var(--rule); stroke-width: 1; } svg .line { fill: none; stroke: var(--mark); stroke-width: 1.5; }
svg .area { fill: var(--soft); } svg .bar { fill: var(--mark); } svg .hover { fill: transparent; }
svg .hover:hover { fill: var(--soft); }
svg .hue0 { fill: var(--hue0); } svg .hue1 { fill: var(--hue1); } svg .hue2 { fill: var(--hue2); }
svg .hue3 { fill: var(--hue3); } svg .hue4 { fill: var(--hue4); } svg .hue5 { fill: var(--hue5); }
ul.hints { margin: 20px 0 0; padding: 14px 16px 14px 34px; background: var(--soft); border-radius: 8px; }
ul.hints li + li { margin-top: 6px; }
"""


def stats_page(topics: Sequence[TopicStats], log_dirs: Sequence[str], made_at: datetime) -> str:
    """The page. ``log_dirs`` and ``made_at`` stand below the title."""
    records, size = sum(one.records for one in topics), sum(one.segment_bytes for one in topics)
    count = "1 topic" if len(topics) == 1 else f"{len(topics)} topics"
    where = ", ".join(log_dirs)
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
        f"<title>{escape(count)} in {escape(where)}</title><style>{_STYLE}</style></head><body><main>",
        f"<h1>{count}, {short(records)} records, {readable(size)}</h1>",
        f'<p class="sub">{escape(where)}, {made_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC</p>',
        _overview(topics) if len(topics) > 1 else "",
        *(_topic(topic, number) for number, topic in enumerate(topics)),
        "</main></body></html>\n",
    ]
    return "\n".join(filter(None, parts))


def _overview(topics: Iterable[TopicStats]) -> str:
    titles = ("topic", "partitions", "records", "stored", "payload / stored", "codec", "first record", "last record")
    head = "".join(f"<th>{title}</th>" for title in titles)
    rows = [
        [
            f'<a href="#topic{number}">{escape(one.topic)}</a>',
            str(len(one.partitions)),
            f"{one.records:,}",
            readable(one.segment_bytes),
            ratio_of(one),
            escape(codec_of(one)),
            time_of(one.first_timestamp_ms),
            time_of(one.last_timestamp_ms),
        ]
        for number, one in enumerate(topics)
    ]
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<section class="scroll"><table><tr>{head}</tr>{body}</table></section>'


def _topic(topic: TopicStats, number: int) -> str:
    plots = "".join(f"<figure><h3>{escape(title)}</h3>{svg}</figure>" for title, svg in _plots(topic))
    said = "".join(f"<li>{escape(hint)}</li>" for hint in hints(topic))
    return (
        f'<section id="topic{number}"><h2>{escape(topic.topic)}</h2>{_tiles(topic)}'
        f'<div class="plots">{plots}</div><ul class="hints">{said}</ul></section>'
    )


def _tiles(topic: TopicStats) -> str:
    rate = f"{short(topic.records / topic.span_s)}/s" if topic.span_s else "-"
    p50, p99 = (topic.value_sizes[0], topic.value_sizes[2]) if topic.value_sizes else (0, 0)
    batches = topic.batches.batches
    keys = "-" if topic.distinct_keys is None else short(topic.distinct_keys)
    its = [
        (
            "records",
            short(topic.records),
            "1 partition" if len(topic.partitions) == 1 else f"{len(topic.partitions)} partitions",
        ),
        ("stored", readable(topic.segment_bytes), f"{readable(topic.payload_bytes)} of keys and values"),
        ("payload / stored", ratio_of(topic), codec_of(topic)),
        ("mean rate", rate, f"over {span_of(topic)}"),
        ("value, median", readable(p50), f"99th percentile {readable(p99)}"),
        ("batch, mean", readable(round(topic.segment_bytes / batches)) if batches else "-", _per_batch(topic)),
        ("distinct keys, about", keys, f"{topic.null_keys:,} null, {topic.tombstones:,} tombstones"),
        ("last record", time_of(topic.last_timestamp_ms), f"first {time_of(topic.first_timestamp_ms)}"),
    ]
    cells = "".join(f"<div><dt>{name}</dt><dd>{one}<small>{escape(more)}</small></dd></div>" for name, one, more in its)
    return f'<dl class="tiles">{cells}</dl>'


def _per_batch(topic: TopicStats) -> str:
    batches = topic.batches.batches - topic.batches.control_batches
    return f"{short(topic.records / batches)} records each" if batches else ""


def _plots(topic: TopicStats) -> Iterable[tuple[str, str]]:
    if not topic.records:
        return
    points = [(start, records) for start, records, _ in topic.rate]
    yield "records a second", rate_chart(points, topic.bucket_ms, "records")
    sizes = [(start, size) for start, _, size in topic.rate]
    yield "bytes of keys and values a second", rate_chart(sizes, topic.bucket_ms, "B")
    partitions = sorted(topic.partitions, key=lambda one: -one.records)[:MANY_PARTITIONS]
    partitions.sort(key=lambda one: one.partition)
    which = f", the {MANY_PARTITIONS} largest" if len(topic.partitions) > MANY_PARTITIONS else ""
    by_partition = [(str(one.partition), float(one.records)) for one in partitions]
    yield f"records by partition{which}", columns_chart(by_partition, "records")
    classes = topic.batches.size_classes
    every = range(min(classes), max(classes) + 1)
    yield "batches by size, from", columns_chart([(binary(one), classes.get(one, 0)) for one in every], "batches")
    codecs = sorted(topic.batches.codecs.items(), key=lambda one: -one[1].size_bytes)
    size = topic.segment_bytes
    shares = [(name, float(one.size_bytes), f"{one.size_bytes / size:.1%}") for name, one in codecs]
    yield "stored bytes by codec", shares_chart(shares)
    if heavy := heaviest(topic):
        keys = [
            (key_text(one.key), float(one.records), f"{one.records / topic.records:.2%}  {short(one.records)}")
            for one in heavy
        ]
        share = sum(one.records for one in heavy) / topic.records
        yield f"heaviest keys: {share:.1%} of the records", bars_chart(keys)


def heaviest(topic: TopicStats) -> list[HeavyKey]:
    """The heaviest keys that are worth a line."""
    return [one for one in topic.heavy_keys if one.records >= WORTH_A_LINE * topic.records]


def binary(size_class: int) -> str:
    """2^class bytes."""
    unit, power = divmod(size_class, 10)
    return f"{1 << power} {('B', 'KiB', 'MiB', 'GiB')[min(unit, 3)]}"


def key_text(key: bytes | None) -> str:
    """A key as text, in hexadecimal where it is none."""
    if key is None:
        return "null"
    try:
        text = key.decode()
    except UnicodeDecodeError:
        return f"0x{key.hex()}"
    return text if text.isprintable() and text else f"0x{key.hex()}"


def ratio_of(topic: TopicStats) -> str:
    """Payload bytes for each stored byte."""
    ratio = topic.compression_ratio
    return "-" if ratio is None else f"{ratio:.2f}"


def codec_of(topic: TopicStats) -> str:
    """The codec of most bytes, and its share where there are several."""
    if not topic.segment_bytes:
        return "-"
    name, most = max(topic.batches.codecs.items(), key=lambda one: one[1].size_bytes)
    return name if len(topic.batches.codecs) == 1 else f"{name} {most.size_bytes / topic.segment_bytes:.0%}"


def time_of(timestamp_ms: int | None) -> str:
    """A time in UTC to the minute."""
    try:
        return "-" if timestamp_ms is None else f"{datetime.fromtimestamp(timestamp_ms / 1000, UTC):%Y-%m-%d %H:%M}"
    except (OverflowError, ValueError, OSError):
        return str(timestamp_ms)


def span_of(topic: TopicStats) -> str:
    """The time from the first to the last record, in its largest unit."""
    span = topic.span_s
    for name, seconds in (("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if span >= 2 * seconds:
            return f"{span / seconds:.3g} {name}"
    return f"{span:.3g} seconds"
