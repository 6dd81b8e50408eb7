//! The list against a naive twin, a plain vector that is searched from end to end.

use std::path::Path;

use proptest::prelude::*;

use super::*;
use ::io::OsFileSystem;
use base::place::LeaderEpoch;
use record::LOG_OVERHEAD;

/// A batch in the twin: base offset, next offset, position, bytes.
type TwinBatch = (Offset, Offset, Position, u64);

/// A segment in the twin.
#[derive(Debug, Clone, PartialEq)]
struct TwinSegment {
    base: i64,
    size: u64,
    timestamp: i64,
}

struct Twins {
    segments: Segments,
    naive: Vec<TwinSegment>,
    /// Of the active segment, as far as they are remembered.
    last_batches: Vec<TwinBatch>,
    start: i64,
    end: i64,
}

fn empty(base: i64) -> Segment {
    Segment::unmade(Path::new("topic-0"), Offset(base), 0)
}

fn header(base_offset: i64, count: i32, bytes: i32, max_timestamp: i64) -> BatchHeader {
    BatchHeader {
        base_offset: Offset(base_offset),
        batch_length: bytes - LOG_OVERHEAD as i32,
        partition_leader_epoch: LeaderEpoch(0),
        magic: 2,
        crc: 0,
        attributes: 0,
        last_offset_delta: count - 1,
        base_timestamp: max_timestamp,
        max_timestamp,
        producer_id: -1,
        producer_epoch: -1,
        base_sequence: -1,
        record_count: count,
    }
}

/// A segment of one batch.
fn written(base: i64, bytes: i32, timestamp: i64) -> (Segment, TwinSegment) {
    let mut segment = empty(base);
    segment.note(&header(base, 1, bytes, timestamp), Position::START, 4096);
    let twin = TwinSegment {
        base,
        size: bytes as u64,
        timestamp,
    };
    (segment, twin)
}

impl Twins {
    fn new() -> Self {
        Self {
            segments: Segments::new(empty(0)),
            naive: vec![TwinSegment {
                base: 0,
                size: 0,
                timestamp: -1,
            }],
            last_batches: Vec::new(),
            start: 0,
            end: 0,
        }
    }

    fn active(&mut self) -> &mut TwinSegment {
        self.naive.last_mut().unwrap()
    }

    fn run(&mut self, verb: u8, number: i64) {
        match verb {
            0..=2 => self.append(number),
            3..=4 => self.roll(),
            5 => self.pop(),
            6 => self.remove_first(),
            7 => self.raise_start(number),
            8 => self.replace(number),
            _ => self.refuse(number),
        }
    }

    fn append(&mut self, number: i64) {
        let (count, bytes, timestamp) = (number as i32 % 4 + 1, number as i32 % 300 + 61, number * 37 % 500);
        let position = Position(self.active().size);
        self.segments
            .note(&header(self.end, count, bytes, timestamp), position, 4096);
        let next = self.end + i64::from(count);
        self.last_batches
            .push((Offset(self.end), Offset(next), position, bytes as u64));
        if self.last_batches.len() > 8 {
            self.last_batches.remove(0);
        }
        self.end = next;
        let active = self.active();
        active.size += bytes as u64;
        active.timestamp = active.timestamp.max(timestamp);
    }

    fn roll(&mut self) {
        let base = self.end;
        if self.active().base == base {
            return;
        }
        self.segments.push(&OsFileSystem, empty(base), Offset(self.start));
        self.naive.push(TwinSegment {
            base,
            size: 0,
            timestamp: -1,
        });
        self.last_batches.clear();
    }

    fn pop(&mut self) {
        let popped = self.segments.pop().map(|segment| segment.base_offset());
        assert_eq!(popped.is_some(), self.naive.len() > 1, "the only segment stays");
        if popped.is_some() {
            self.end = self.naive.pop().unwrap().base;
            assert_eq!(popped, Some(Offset(self.end)));
            self.start = self.start.min(self.end);
            self.last_batches.clear();
        }
    }

    fn remove_first(&mut self) {
        if self.naive.get(1).is_some_and(|second| second.base <= self.start) {
            let removed = self.segments.remove_first().map(|segment| segment.base_offset());
            assert_eq!(removed, Some(Offset(self.naive.remove(0).base)));
        }
    }

    fn raise_start(&mut self, number: i64) {
        self.start += (self.end - self.start) * (number % 10) / 10;
        self.segments
            .on_log_start_offset_incremented(&OsFileSystem, Offset(self.start));
    }

    /// A run of sealed segments becomes fewer of them, with other sizes and timestamps, as compaction would leave them.
    fn replace(&mut self, number: i64) {
        let sealed = self.naive.len() - 1;
        if sealed == 0 {
            return;
        }
        let (from, step) = (number as usize % sealed, number as usize % 3 + 1);
        let to = from + 1 + (number as usize / 7) % (sealed - from);
        let old = Offset(self.naive[from].base)..Offset(self.naive[to].base);
        let kept = self.naive[from..to].iter().step_by(step);
        let (new, twins): (Vec<_>, Vec<_>) = kept
            .map(|segment| written(segment.base, number as i32 % 90 + 61, number * 11 % 600))
            .unzip();
        let given_back = self.segments.replace(old, new).map_err(|_| "refused").unwrap();
        let replaced: Vec<_> = self
            .naive
            .splice(from..to, twins)
            .map(|segment| Offset(segment.base))
            .collect();
        let given_back: Vec<_> = given_back.iter().map(Segment::base_offset).collect();
        assert_eq!(given_back, replaced);
    }

    /// What may not take a place changes nothing.
    fn refuse(&mut self, number: i64) {
        let (first, active) = (self.naive[0].base, self.naive[self.naive.len() - 1].base);
        let refused: [(Range<i64>, &[i64]); 5] = [
            (first..active + 1, &[first]),
            (active..active + 1, &[active]),
            (first..active, &[]),
            (first..active, &[first, first]),
            (first..active, &[first, active + number]),
        ];
        for (old, bases) in refused {
            let new = bases.iter().map(|base| written(*base, 61, 0).0).collect();
            let given_back = self
                .segments
                .replace(Offset(old.start)..Offset(old.end), new)
                .map(drop)
                .unwrap_err();
            assert!(
                given_back
                    .iter()
                    .map(Segment::base_offset)
                    .eq(bases.iter().copied().map(Offset))
            );
        }
    }

    fn compare(&self, number: i64) {
        let segments = &self.segments;
        let found: Vec<_> = segments
            .all()
            .map(|segment| TwinSegment {
                base: segment.base_offset().get(),
                size: segment.size(),
                timestamp: segment.max_timestamp(&OsFileSystem).unwrap().timestamp,
            })
            .collect();
        assert_eq!(found, self.naive);
        assert_eq!(segments.count(), self.naive.len());
        assert_eq!(segments.size_bytes(), self.naive.iter().map(|it| it.size).sum::<u64>());
        assert_eq!(segments.first().base_offset(), Offset(self.naive[0].base));
        assert_eq!(
            segments.active().base_offset(),
            Offset(self.naive[segments.active_place()].base)
        );
        for (at, naive) in self.naive.iter().enumerate() {
            assert_eq!(segments.get(at).map(Segment::base_offset), Some(Offset(naive.base)));
            assert_eq!(
                segments.next_base(at),
                self.naive.get(at + 1).map(|next| next.base).map(Offset)
            );
            let behind: Vec<_> = segments.all_from(at).map(Segment::base_offset).collect();
            assert!(behind.into_iter().eq(self.naive[at..].iter().map(|it| Offset(it.base))));
        }
        assert!(segments.get(self.naive.len()).is_none() && segments.all_from(self.naive.len()).next().is_none());
        for offset in [0, self.start, number, self.end - 1, self.end, self.end + 10] {
            let naive = self
                .naive
                .iter()
                .rposition(|segment| segment.base <= offset)
                .unwrap_or(0);
            assert_eq!(segments.place_of(Offset(offset)), naive, "place of {offset}");
            assert_eq!(
                segments.holding(Offset(offset)).base_offset(),
                Offset(self.naive[naive].base)
            );
            let batch = segments.last_batch_with(Offset(offset));
            let batch = batch.map(|it| (it.base_offset, it.next_offset, it.position, it.size));
            let naive = self
                .last_batches
                .iter()
                .find(|it| (it.0..it.1).contains(&Offset(offset)));
            assert_eq!(batch, naive.copied(), "last batch with {offset}");
        }
    }

    /// Only sometimes, so that the peaks are both made anew and kept.
    fn look_up(&self, target: i64) {
        let first = self.segments.place_of(Offset(self.start)) + 1;
        let covered = self.naive[..self.naive.len() - 1].get(first..).unwrap_or_default();
        let peaks = self.segments.peaks(&OsFileSystem, Offset(self.start)).unwrap();
        let naive = covered.iter().find(|segment| segment.timestamp >= target);
        assert_eq!(
            peaks.first_at_least(target),
            naive.map(|it| it.base).map(Offset),
            "first at {target}"
        );
        let greatest = covered.iter().map(|segment| segment.timestamp).max();
        let naive = covered.iter().find(|segment| Some(segment.timestamp) == greatest);
        assert_eq!(peaks.greatest(), naive.map(|it| it.base).map(Offset), "greatest");
    }
}

proptest! {
    #[test]
    fn list_matches_naive_after_every_verb(steps in prop::collection::vec((0u8..10, 0i64..1000), 1..80)) {
        let mut twins = Twins::new();
        for (verb, number) in steps {
            twins.run(verb, number);
            twins.compare(number);
            if number % 3 == 0 {
                twins.look_up(number % 600);
            }
        }
    }
}

#[test]
fn list_without_a_segment_is_refused_and_any_other_ends_with_the_active_one() {
    assert!(Segments::from_ascending(Vec::new()).is_none());
    let segments = Segments::from_ascending(vec![empty(3), empty(7)]).unwrap();
    assert_eq!((segments.count(), segments.active().base_offset()), (2, Offset(7)));
    assert_eq!(segments.sealed_from(0).len(), 1);
}
