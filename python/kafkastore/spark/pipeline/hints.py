"""What the figures of a topic mean for its configuration, in sentences. Arithmetic only.

A hint is given where a figure is far from usual, with the figure and the configuration that changes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkastore.scanning.topics import readable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkastore.spark.pipeline.stats import TopicStats

DAY_S: Final = 86_400
MIN_SPAN_S: Final = 60.0
"""Below, a rate says nothing about a day."""
SMALL_BATCH_BYTES: Final = 8 << 10
BIG_TOPIC_BYTES: Final = 1 << 20
"""Below, the sizes of batches matter to nobody."""
SKEWED_PARTITION: Final = 1.5
HEAVY_KEY: Final = 0.1
COMPACTABLE: Final = 0.5
LITTLE: Final = 0.01


def hints(topic: TopicStats) -> list[str]:
    """The hints, the most useful first."""
    return list(_hints(topic)) if topic.records else ["there is no record to judge"]


def _hints(topic: TopicStats) -> Iterator[str]:
    size = topic.segment_bytes
    if topic.span_s >= MIN_SPAN_S:
        a_day = size / topic.span_s * DAY_S
        week = round(a_day * 7)
        yield (
            f"at {readable(round(a_day))} a day, retention.ms=604800000 (7 days) keeps about {readable(week)} of each"
            f" replica; retention.bytes={round(week / len(topic.partitions))} is as much for one partition"
        )
    plain = topic.batches.codecs.get("none")
    if plain is not None and size >= BIG_TOPIC_BYTES and plain.size_bytes > size / 2:
        yield (
            f"{plain.size_bytes / size:.0%} of the bytes are not compressed: compression.type=zstd or lz4 at the"
            " producer saves disk and network"
        )
    mean = size / topic.batches.batches
    if mean < SMALL_BATCH_BYTES and size >= BIG_TOPIC_BYTES:
        yield (
            f"a batch has {readable(round(mean))} in the mean: linger.ms and batch.size of the producer make larger"
            " ones, which compress better and cost less"
        )
    yield from _of_keys(topic)


def _of_keys(topic: TopicStats) -> Iterator[str]:
    mean = topic.records / len(topic.partitions)
    greatest = max(topic.partitions, key=lambda one: one.records)
    if len(topic.partitions) > 1 and greatest.records > SKEWED_PARTITION * mean:
        yield f"partition {greatest.partition} has {greatest.records / mean:.1f} times the mean of the partitions"
    keyed = topic.records - topic.null_keys
    if topic.heavy_keys and (heaviest := topic.heavy_keys[0]).key is not None:
        share = heaviest.records / topic.records
        if share >= HEAVY_KEY:
            yield f"one key has {share:.0%} of the records, all in one partition: more partitions do not spread them"
    if keyed and topic.distinct_keys is not None and topic.distinct_keys < COMPACTABLE * keyed:
        share = topic.distinct_keys / keyed
        kept = f"about {share:.0%}" if share >= LITTLE else "less than 1%"
        yield (
            f"{keyed:,} records with a key have about {topic.distinct_keys:,} keys: cleanup.policy=compact would keep"
            f" {kept} of them"
        )
    if topic.tombstones:
        yield (
            f"{topic.tombstones:,} tombstones ({topic.tombstones / topic.records:.1%}): they delete keys only in a"
            " topic with cleanup.policy=compact"
        )
