//! Open and aborted transactions against the broker's own view.

use proptest::prelude::*;

use super::super::testing::*;
use super::super::{AbortedRange, Isolation};
use base::place::{LeaderEpoch, Offset};
use record::Origin;
use storage::Log;

#[derive(Debug, Clone, Copy)]
enum Step {
    Plain,
    Data(i64),
    End(i64, bool),
    Roll,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => Just(Step::Plain),
        4 => (1i64..4).prop_map(Step::Data),
        3 => ((1i64..4), any::<bool>()).prop_map(|(producer, commit)| Step::End(producer, commit)),
        1 => Just(Step::Roll),
    ]
}

/// Runs the steps; gives the expected last stable offset and aborted transactions of a log that ends there.
fn run(bench: &Bench, steps: &[Step]) -> (Log, i64, Vec<AbortedRange>) {
    let mut log = bench.create();
    let mut sequences = [0; 4];
    let mut open: [Option<i64>; 4] = [None; 4];
    let mut aborted = Vec::new();
    let mut end = 0;
    for step in steps {
        match *step {
            Step::Plain => {
                bench.append(&mut log, 1, 10);
            }
            Step::Data(producer) => {
                let at = producer as usize;
                let mut bytes = producer_batch(START_MS, producer, sequences[at], true);
                log.append_as_leader(&mut bytes, LeaderEpoch(0), Origin::Client, START_MS)
                    .unwrap();
                sequences[at] += 1;
                open[at].get_or_insert(end);
            }
            Step::End(producer, is_committed) => {
                let Some(first_offset) = open[producer as usize].take() else {
                    continue;
                };
                marker(&mut log, producer, is_committed, START_MS);
                aborted.extend((!is_committed).then_some(AbortedRange {
                    producer_id: producer,
                    first_offset: Offset(first_offset),
                    last_offset: Offset(end),
                }));
            }
            Step::Roll => {
                log.roll(START_MS).unwrap();
                continue;
            }
        }
        end += 1;
    }
    let stable = open.iter().flatten().min().copied().unwrap_or(end);
    aborted.retain(|range| range.first_offset < Offset(stable));
    (log, stable, aborted)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_last_stable_offset_and_what_was_aborted_are_found_beside_an_open_log(
        steps in prop::collection::vec(step(), 1..60),
        is_closed in any::<bool>(),
        are_snapshots_lost in any::<bool>(),
    ) {
        let bench = Bench::new(&[]);
        let (mut log, stable, aborted) = run(&bench, &steps);
        prop_assume!(log.log_end_offset() > Offset(0)); // a log that was never written has no files yet
        if is_closed {
            log.close().unwrap();
        }
        if are_snapshots_lost {
            for name in bench.names().iter().filter(|name| name.ends_with(".snapshot")) {
                std::fs::write(bench.path().join(name), "no snapshot").unwrap();
            }
        }
        let mut request = request(&bench);
        request.isolation = Isolation::ReadCommitted;
        let plan = plan(&request).unwrap();
        prop_assert_eq!(plan.end_offset, Offset(stable));
        prop_assert_eq!(plan.aborted.as_deref(), Some(&aborted[..]));
        for split in plan.splits(1).unwrap() {
            let (start, end) = (split.start_offset, split.end_offset);
            let touches = |it: &&AbortedRange| it.last_offset >= start && it.first_offset < end;
            let expected: Vec<_> = aborted.iter().filter(touches).copied().collect();
            prop_assert_eq!(split.aborted.unwrap(), expected);
        }
    }
}

#[test]
fn a_transaction_whose_marker_is_above_the_high_watermark_is_open() {
    let bench = Bench::new(&[]);
    let (_log, ..) = run(&bench, &[Step::Plain, Step::Data(1), Step::End(1, true), Step::Plain]);
    let mut request = request(&bench);
    request.isolation = Isolation::ReadCommitted;
    for (high_watermark, end) in [(4, 4), (3, 3), (2, 1), (1, 1)] {
        write_high_watermark(&bench, high_watermark);
        assert_eq!(plan(&request).unwrap().end_offset, Offset(end), "{high_watermark}");
    }
}

#[test]
fn read_uncommitted_asks_for_no_transactions() {
    let bench = Bench::new(&[]);
    let (_log, ..) = run(&bench, &[Step::Data(1), Step::Plain]);
    let plan = plan(&request(&bench)).unwrap();
    assert_eq!(plan.end_offset, Offset(2));
    assert_eq!(plan.splits(1000).unwrap()[0].aborted, None);
}
