//! Lookups by timestamp after any history of a log, against a list of its records.

use std::sync::Arc;

use proptest::prelude::*;

use super::small;
use crate::testing::{Bench, START_MS};
use crate::{FoundTimestamp, Log, LogConfig};
use base::place::{LeaderEpoch, Offset};
use record::{BatchBuilder, Codec, Origin};

#[derive(Debug, Clone)]
enum Step {
    /// A batch with these timestamps, relative to the start.
    Append(Vec<i64>),
    Roll,
    /// To so many hundredths of the log.
    Truncate(i64),
    StartAnew,
    /// `DeleteRecords` up to so many hundredths.
    MoveStart(i64),
    /// Whole segments below the log start.
    Delete,
    /// By size.
    Retain,
    Reopen(bool),
    Look(i64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => prop::collection::vec(-1i64..3000, 1..4).prop_map(Step::Append),
        4 => Just(Step::Roll),
        2 => (0i64..101).prop_map(Step::Truncate),
        1 => Just(Step::StartAnew),
        2 => (0i64..101).prop_map(Step::MoveStart),
        1 => Just(Step::Delete),
        1 => Just(Step::Retain),
        1 => any::<bool>().prop_map(Step::Reopen),
        6 => (-2i64..3100).prop_map(Step::Look),
    ]
}

/// The log, and what a list of its records says of it: (offset, timestamp), batch by batch.
struct Twin {
    bench: Bench,
    log: Log,
    batches: Vec<Vec<(i64, i64)>>,
}

impl Twin {
    fn take(&mut self, step: &Step) {
        let (start, end) = (self.log.log_start_offset(), self.log.log_end_offset());
        let part = |hundredths: i64| start + (end - start) * hundredths / 100;
        match step {
            Step::Append(timestamps) => self.append(timestamps),
            Step::Roll => self.log.roll(self.bench.now_ms()).unwrap(),
            Step::Truncate(to) => {
                self.log.truncate_to(part(*to)).unwrap();
                let kept = self.log.log_end_offset();
                self.batches
                    .retain(|batch| batch.iter().all(|record| record.0 < kept.get()));
            }
            Step::StartAnew => {
                self.log.truncate_fully_and_start_at(end + 5).unwrap();
                self.batches.clear();
            }
            Step::MoveStart(to) => {
                self.log.advance_log_start_offset(part(*to), end).unwrap();
            }
            Step::Delete => self.delete(),
            Step::Retain => {
                let config = LogConfig::from_pairs([("segment.bytes", "300"), ("retention.bytes", "900")]);
                self.log.set_config(Arc::new(config.unwrap()));
                self.delete();
                self.log.set_config(Arc::new(self.bench.config.clone()));
            }
            Step::Reopen(is_clean) => {
                self.log.close().unwrap();
                self.log = self.bench.open(0, *is_clean).unwrap();
                self.log.advance_log_start_offset(start, end).unwrap();
            }
            Step::Look(_) => {}
        }
    }

    fn append(&mut self, timestamps: &[i64]) {
        let is_plain = self.batches.len().is_multiple_of(2);
        let mut builder = BatchBuilder::new(if is_plain { Codec::None } else { Codec::Lz4 });
        let mut batch = Vec::new();
        for (n, timestamp) in timestamps.iter().enumerate() {
            let timestamp = START_MS + timestamp;
            builder.append(timestamp, None, Some(&[7; 30]), &[]);
            batch.push((self.log.log_end_offset().get() + n as i64, timestamp));
        }
        let appended = self.log.append_as_leader(
            &mut builder.build(Offset(0), LeaderEpoch::NONE),
            LeaderEpoch(3),
            Origin::Client,
            START_MS,
        );
        appended.unwrap();
        self.batches.push(batch);
    }

    fn delete(&mut self) {
        let high_watermark = self.log.log_end_offset();
        let deletion = self.log.delete_old_segments(self.bench.now_ms(), high_watermark);
        deletion.unwrap().run().unwrap();
    }

    fn records(&self) -> impl Iterator<Item = (i64, i64)> {
        let start = self.log.log_start_offset();
        self.batches
            .iter()
            .flatten()
            .copied()
            .filter(move |record| record.0 >= start.get())
    }

    /// Any time, that of a record, and the greatest.
    fn check(&self, target: i64) -> Result<(), TestCaseError> {
        let told = |found: Option<FoundTimestamp>| found.map(|it| (it.offset.get(), it.timestamp));
        let count = self.records().count().max(1);
        let of_record = self.records().nth(target.unsigned_abs() as usize % count);
        for target in [Some(START_MS + target), of_record.map(|it| it.1)]
            .into_iter()
            .flatten()
        {
            let found = self.log.lookup_timestamp(target).unwrap().resolve().unwrap();
            let naive = self.records().find(|record| record.1 >= target);
            prop_assert_eq!(told(found), naive, "the first at or after {}", target);
        }
        let found = self.log.max_timestamp().unwrap().resolve().unwrap();
        let greatest = self.records().map(|record| record.1).max();
        let naive = self.records().find(|record| Some(record.1) == greatest);
        prop_assert_eq!(told(found), naive, "the greatest");
        Ok(())
    }
}

proptest! {
    #[test]
    fn timestamp_lookup_matches_naive_after_any_history(steps in prop::collection::vec(step(), 1..80)) {
        let bench = Bench::new(&[
            ("segment.bytes", "300"),
            ("index.interval.bytes", "100"),
            ("file.delete.delay.ms", "0"),
            ("retention.ms", "-1"),
        ]);
        let log = bench.create();
        let mut twin = Twin { bench, log, batches: Vec::new() };
        for step in &steps {
            twin.take(step);
            if let Step::Look(target) = step {
                twin.check(*target)?;
            }
        }
        for target in [0, 1000, 2500] {
            twin.check(target)?;
        }
    }
}

/// The record that was the latest of its segment is deleted: what comes behind it is found. (Apache Kafka finds
/// nothing.)
#[test]
fn a_record_behind_a_deleted_one_that_was_later_is_found() {
    let bench = small();
    let mut twin = Twin {
        log: bench.create(),
        bench,
        batches: Vec::new(),
    };
    twin.append(&[100, 900]);
    twin.append(&[500, 400]);
    twin.log.roll(START_MS).unwrap();
    twin.append(&[700, 600]);
    let found = |twin: &Twin, target| {
        let found = twin.log.lookup_timestamp(START_MS + target).unwrap().resolve().unwrap();
        found.map(|it| it.offset)
    };
    let greatest = |twin: &Twin| twin.log.max_timestamp().unwrap().resolve().unwrap().unwrap().offset;
    assert_eq!((found(&twin, 450), greatest(&twin)), (Some(Offset(1)), Offset(1)));
    twin.log.advance_log_start_offset(Offset(2), Offset(6)).unwrap();
    assert_eq!(
        (found(&twin, 450), found(&twin, 650)),
        (Some(Offset(2)), Some(Offset(4)))
    );
    assert_eq!((found(&twin, 800), greatest(&twin)), (None, Offset(4)));
}
