"""Logs to be compacted, each drawn from a seed: segments of batches, and when and how they are cleaned.

A log comes in stages. A stage brings segments, as if a broker had written them and crashed; then the log is opened and
cleaned at the stage's time, with the stage's configuration. What a log has is drawn once for the whole log
(:class:`Traits`), so that few records make a log of one kind, and hundreds of logs have every mixture.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from interop.batches import ABORT, CODECS, COMMIT, TRANSACTIONAL, Record, build, build_marker

START_MS = 1_700_000_000_000
HOUR_MS = 3_600_000
LAST_SEQUENCE = 2**31 - 1


@dataclass(frozen=True)
class Segment:
    base_offset: int
    batches: tuple[bytes, ...]
    modified_ms: int

    def write(self, folder: Path) -> None:
        """As a crash leaves it: without indexes."""
        name = folder / f"{self.base_offset:020}"
        for suffix in (".index", ".timeindex", ".txnindex", ".snapshot"):
            name.with_suffix(suffix).unlink(missing_ok=True)
        path = name.with_suffix(".log")
        path.write_bytes(b"".join(self.batches))
        os.utime(path, ns=(self.modified_ms * 1_000_000, self.modified_ms * 1_000_000))


@dataclass(frozen=True)
class Stage:
    segments: tuple[Segment, ...]
    end_offset: int
    now_ms: int
    config: dict[str, str]
    deletes_to: int = 0
    """DeleteRecords. As ``deletes``, only of a last stage: a recovery of Apache Kafka leaves out producers and
    transactions below the log start offset, ours counts them."""
    checkpoint: str = "kept"
    """Of the first dirty offset: kept, lost, zero or beyond (the log's end)."""
    reopens_from: str = "start"
    """Recovery from the start or from the last stage's end; cleanly, when there is no new segment."""
    deletes: bool = False
    """Retention."""
    exchanges: bool = False
    """Each cleaner goes on with the directory of the other."""
    options: dict[str, Any] = field(default_factory=dict)
    """map_slots, load_factor, io_bytes, producer_expiration_ms."""


@dataclass(frozen=True)
class Traits:
    """What a whole log is like."""

    keys: int
    key_bytes: int
    has_empty_key: bool
    tombstones: float
    null_keys: float
    headers: float
    codecs: tuple[str, ...]
    most_records: int
    most_value_bytes: int
    idempotent: int
    transactional: int
    appends_time: float
    odd_times: float
    gaps: float
    segment_bytes: int
    stages: int


def draw_traits(random: Random) -> Traits:
    def pick(*values: Any) -> Any:
        return random.choice(values)

    return Traits(
        keys=pick(1, 3, 20, 200, 5000),
        key_bytes=pick(0, 4, 4, 4, 900),
        has_empty_key=random.random() < 0.2,
        tombstones=pick(0.0, 0.05, 0.3, 0.9),
        null_keys=pick(0.0, 0.0, 0.0, 0.0, 0.2),
        headers=pick(0.0, 0.2, 0.8),
        codecs=pick(CODECS, CODECS, ("none",), ("gzip",), ("snappy",), ("lz4",), ("zstd",)),
        most_records=pick(1, 3, 12, 50),
        most_value_bytes=pick(8, 60, 400, 12_000),
        idempotent=pick(0, 0, 1, 3),
        transactional=pick(0, 0, 1, 2, 4),
        appends_time=pick(0.0, 0.0, 0.3, 1.0),
        odd_times=pick(0.0, 0.0, 0.1, 0.5),
        gaps=pick(0.0, 0.0, 0.2),
        segment_bytes=pick(1_000, 4_000, 16_384, 32_768, 65_536),
        stages=pick(1, 2, 3, 4, 5),
    )


class _Producer:
    def __init__(self, producer_id: int, random: Random) -> None:
        self.producer_id = producer_id
        self.epoch = random.choice([0, 0, 7])
        self.sequence = random.choice([0, 0, 0, LAST_SEQUENCE - 5])
        self.is_open = False

    def next_epoch(self) -> None:
        self.epoch, self.sequence = self.epoch + 1, 0

    def take(self, count: int) -> tuple[int, int, int]:
        taken = self.producer_id, self.epoch, self.sequence
        self.sequence = (self.sequence + count) % (LAST_SEQUENCE + 1)
        return taken


class _Writer:
    """Writes batch after batch, at a clock of its own."""

    def __init__(self, random: Random, traits: Traits, start_ms: int) -> None:
        self.random = random
        self.start_ms = start_ms
        self.traits = traits
        self.offset = random.choice([0, 0, 0, 17, 2**33])
        self.first_offset = self.offset
        self.clock_ms = start_ms
        self.leader_epoch = 0
        self.idempotent = [_Producer(100 + number, random) for number in range(traits.idempotent)]
        self.transactional = [_Producer(200 + number, random) for number in range(traits.transactional)]

    def segment(self, least_bytes: int) -> Segment:
        """A segment that ends with the batch that fills it."""
        base, size = self.offset, 0
        found: list[bytes] = []
        while size < least_bytes and (not found or self.random.random() > 0.02):
            found.append(self.batch())
            size += len(found[-1])
        return Segment(base, tuple(found), self.clock_ms + self.random.randrange(1000))

    def batch(self) -> bytes:
        random = self.random
        if random.random() < self.traits.gaps:
            self.offset += random.randrange(1, 30)
        self.clock_ms += random.choice([0, 1, 10, 500])
        if self.transactional and random.random() < 0.6:
            return self._of_transaction(random.choice(self.transactional))
        if self.idempotent and random.random() < 0.7:
            producer = random.choice(self.idempotent)
            if random.random() < 0.05:
                producer.next_epoch()
            return self._data(producer)
        return self._data(None)

    def _of_transaction(self, producer: _Producer) -> bytes:
        chance = self.random.random()
        if chance < 0.3 and (producer.is_open or chance < 0.05):  # without records now and then
            return self.end(producer)
        producer.is_open = True
        return self._data(producer, TRANSACTIONAL)

    def end(self, producer: _Producer) -> bytes:
        """A marker; as in version 2 of transactions, half of them raise the epoch."""
        kind = self.random.choice([ABORT, COMMIT])
        if self.random.random() < 0.5:
            producer.next_epoch()
        producer.is_open = False
        time = self._timestamp()
        marker = build_marker(
            self.offset, time, producer.producer_id, producer.epoch, kind, leader_epoch=self.leader_epoch
        )
        self.offset += 1
        return marker

    def _timestamp(self) -> int:
        if self.random.random() < self.traits.odd_times:
            return self.random.choice(
                [0, 1, -1, self.start_ms - 10**9, self.start_ms + 10**12, self.clock_ms + HOUR_MS]
            )
        return self.clock_ms + self.random.randrange(-50, 50)

    def _data(self, producer: _Producer | None, flags: int = 0) -> bytes:
        random, traits = self.random, self.traits
        count = random.randint(1, traits.most_records)
        records = [self._record(self.offset + number) for number in range(count)]
        self.offset += count
        given: dict[str, Any] = {"codec": random.choice(traits.codecs), "flags": flags}
        if producer:
            given["producer"] = producer.take(count)
        if random.random() < traits.appends_time:
            given["append_time"] = self.clock_ms
        return build(records, leader_epoch=self.leader_epoch, **given)

    def _record(self, offset: int) -> Record:
        random, traits = self.random, self.traits
        headers: tuple[tuple[bytes, bytes | None], ...] = ()
        if random.random() < traits.headers:
            names = random.choices([b"", b"trace", b"trace", b"x" * 60], k=random.randint(1, 3))
            headers = tuple((name, random.choice([None, b"", b"1", random.randbytes(20)])) for name in names)
        value = None if random.random() < traits.tombstones else self._value(offset)
        return Record(offset, self._timestamp(), self._key(), value, headers)

    def _key(self) -> bytes | None:
        if self.random.random() < self.traits.null_keys:
            return None
        number = self.random.randrange(self.traits.keys)
        if number == 0 and self.traits.has_empty_key:
            return b""
        return b"%d" % number + b"k" * self.traits.key_bytes

    def _value(self, offset: int) -> bytes:
        size = self.random.randint(0, self.traits.most_value_bytes)
        text = b"value of %d " % offset
        return (text * (size // len(text) + 1))[:size] if self.random.random() < 0.8 else self.random.randbytes(size)


@dataclass(frozen=True)
class CompactedLog:
    seed: int
    traits: Traits
    first_offset: int
    stages: tuple[Stage, ...]


def draw(seed: int, *, start_ms: int = START_MS, has_epochs: bool = True) -> CompactedLog:
    """The log of this seed, always the same but for its times."""
    random = Random(seed)
    traits = draw_traits(random)
    writer = _Writer(random, traits, start_ms)
    config = _config(random, traits)
    expiration_ms = random.choice([1, HOUR_MS, 24 * HOUR_MS])
    stages: list[Stage] = []
    now_ms, log_start = start_ms, writer.first_offset
    for number in range(traits.stages):
        writer.leader_epoch += random.choice([0, 1]) * has_epochs
        segments = _segments(random, writer, is_first=number == 0)
        now_ms = max(now_ms, writer.clock_ms) + random.choice([0, 1, 999, 1000, 5000, HOUR_MS, 30 * HOUR_MS])
        writer.clock_ms = now_ms
        is_last = number == traits.stages - 1
        if is_last and random.random() < 0.4:
            log_start = random.randint(log_start, writer.offset)
        if random.random() < 0.3:
            config = config | _retention(random)
        stages.append(
            Stage(
                segments=segments,
                end_offset=writer.offset,
                now_ms=now_ms,
                config=config,
                deletes_to=log_start,
                checkpoint=random.choice(["kept"] * 8 + ["lost", "zero", "beyond"]) if number else "lost",
                reopens_from=random.choice(["start", "end"]) if segments else "cleanly",
                deletes=is_last and random.random() < 0.4,
                exchanges=random.random() < 0.5,
                options={"io_bytes": random.choice([4096, 65_536, 524_288]), "producer_expiration_ms": expiration_ms},
            )
        )
    return CompactedLog(seed, traits, writer.first_offset, tuple(stages))


def _segments(random: Random, writer: _Writer, *, is_first: bool) -> tuple[Segment, ...]:
    count = random.randint(2, 8) if is_first else random.choice([0, 1, 1, 2, 4])
    segments = []
    for _ in range(count):
        share = random.choice([1.0, 1.0, 0.5, 0.1])
        segments.append(writer.segment(int(share * writer.traits.segment_bytes)))
    if segments and random.random() < 0.2:  # the active segment is empty
        segments.append(Segment(writer.offset, (), writer.clock_ms))
    return tuple(segments)


def _config(random: Random, traits: Traits) -> dict[str, str]:
    return {
        "cleanup.policy": random.choice(["compact", "compact", "compact", "compact,delete"]),
        "segment.bytes": str(traits.segment_bytes * random.choice([1, 1, 2])),
        "index.interval.bytes": str(random.choice([0, 100, 4096])),
        "segment.index.bytes": "1048576",
        "min.cleanable.dirty.ratio": random.choice(["0", "0", "0", "0.01", "0.5"]),
        "min.compaction.lag.ms": str(random.choice([0, 0, 0, 1, 500, HOUR_MS])),
        "max.compaction.lag.ms": str(random.choice([2**63 - 1, 2**63 - 1, HOUR_MS])),
        "retention.ms": str(random.choice([-1, 5000, 7 * 24 * HOUR_MS])),
        "retention.bytes": str(random.choice([-1, -1, traits.segment_bytes * 3])),
        **_retention(random),
    }


def _retention(random: Random) -> dict[str, str]:
    return {"delete.retention.ms": str(random.choice([0, 0, 1, 1000, HOUR_MS, 24 * HOUR_MS]))}
