//! The rules against a model that keeps every batch ever appended and looks through all of them.

use proptest::prelude::*;

use super::*;
use base::place::Offset;

#[derive(Debug, Default)]
struct NaiveProducers {
    /// Producer id, epoch, sequences one by one, base offset.
    batches: Vec<(i64, i16, Vec<i32>, i64)>,
    end: i64,
}

fn sequences(first: i32, count: i32) -> Vec<i32> {
    let limit = i64::from(i32::MAX) + 1;
    (0..i64::from(count))
        .map(|at| ((i64::from(first) + at) % limit) as i32)
        .collect()
}

impl NaiveProducers {
    fn check(&self, producer_id: i64, epoch: i16, wanted: &[i32]) -> Result<Check, ErrorCode> {
        let of_producer: Vec<_> = self.batches.iter().filter(|(id, ..)| *id == producer_id).collect();
        let Some((_, last_epoch, last_sequences, _)) = of_producer.last() else {
            return APPEND;
        };
        let retained = of_producer
            .iter()
            .rev()
            .take_while(|(_, of, ..)| of == last_epoch)
            .take(5);
        for (_, of, known, base_offset) in retained.collect::<Vec<_>>().into_iter().rev() {
            if *of == epoch && known == wanted {
                let last_offset = base_offset + known.len() as i64 - 1;
                return Ok(Check::Duplicate {
                    base_offset: Offset(*base_offset),
                    last_offset: Offset(last_offset),
                    timestamp: NOW_MS,
                });
            }
        }
        let follows = match wanted[0] {
            0 => last_sequences.last() == Some(&i32::MAX),
            first => last_sequences.last() == Some(&(first - 1)),
        };
        match epoch.cmp(last_epoch) {
            std::cmp::Ordering::Less => STALE_EPOCH,
            std::cmp::Ordering::Greater if wanted[0] == 0 => APPEND,
            std::cmp::Ordering::Equal if follows => APPEND,
            _ => OUT_OF_ORDER,
        }
    }

    fn next_sequence(&self, producer_id: i64) -> i32 {
        let last = self.batches.iter().rfind(|(id, ..)| *id == producer_id);
        last.and_then(|(_, _, known, _)| known.last())
            .map_or(0, |last| if *last == i32::MAX { 0 } else { last + 1 })
    }
}

#[derive(Debug, Clone)]
enum Sequence {
    Next(i32),
    Again(usize),
    Anything(i32),
}

fn sequence() -> impl Strategy<Value = Sequence> {
    prop_oneof![
        6 => Just(Sequence::Next(0)),
        1 => (-2..3).prop_map(Sequence::Next),
        3 => (0..9_usize).prop_map(Sequence::Again),
        1 => prop_oneof![Just(0), i32::MAX - 6..=i32::MAX].prop_map(Sequence::Anything),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn producer_state_matches_naive(
        steps in prop::collection::vec(
            (0..3_i64, prop_oneof![8 => Just(0_i16), 1 => -1..2_i16], sequence(), 1..5_i32),
            1..60,
        ),
    ) {
        let (mut model, mut state) = (NaiveProducers::default(), unverified());
        let mut epochs = [0_i16; 3];
        for (producer_id, epoch_step, sequence, mut count) in steps {
            let epoch = (epochs[producer_id as usize] + epoch_step).max(0);
            let first = match sequence {
                Sequence::Next(by) => model.next_sequence(producer_id).saturating_add(by).max(0),
                Sequence::Anything(first) => first,
                Sequence::Again(back) => {
                    let known: Vec<_> = model.batches.iter().filter(|(id, ..)| *id == producer_id).collect();
                    let Some((_, _, again, _)) = known.iter().rev().nth(back) else { continue };
                    count = again.len() as i32;
                    again[0]
                }
            };
            let wanted = sequences(first, count);
            let header = data(producer_id, epoch, first, count, model.end);
            prop_assert_eq!(header.last_sequence(), *wanted.last().unwrap());
            let expected = model.check(producer_id, epoch, &wanted);
            prop_assert_eq!(check(&state, &header), expected, "{:?}", header);
            if expected == APPEND {
                state.update(&header, None);
                model.batches.push((producer_id, epoch, wanted, model.end));
                model.end += i64::from(count);
                epochs[producer_id as usize] = epoch;
            }
            prop_assert_eq!(state.map_end_offset(), Offset(model.end));
        }
    }

    #[test]
    fn the_last_stable_offset_matches_naive(steps in prop::collection::vec((0..4_i64, 0..3_u8, 0..4_i64), 1..60)) {
        let mut state = unverified();
        let (mut end_offset, mut high_watermark) = (0_i64, 0_i64);
        // Producer id, first offset, marker.
        let mut txns: Vec<(i64, i64, Option<i64>)> = Vec::new();
        for (producer_id, action, amount) in steps {
            match action {
                0 => {
                    if !txns.iter().any(|(id, _, marker)| *id == producer_id && marker.is_none()) {
                        txns.push((producer_id, end_offset, None));
                    }
                    state.update(&in_txn(data(producer_id, 0, 0, 2, end_offset)), None);
                    end_offset += 2;
                }
                1 => {
                    let open = txns.iter_mut().find(|(id, _, marker)| *id == producer_id && marker.is_none());
                    let ended = state.update(&marker(producer_id, 0, end_offset), Some(end(ControlType::Abort, 0)));
                    let first = open.as_ref().map(|(_, first, _)| Offset(*first));
                    prop_assert_eq!(ended.map(|ended| ended.first_offset), first);
                    if let Some((_, _, marker)) = open {
                        *marker = Some(end_offset);
                        let others = txns.iter().filter(|(_, _, marker)| marker.is_none()).map(|(_, first, _)| *first);
                        let stable = others.min().unwrap_or(end_offset + 1);
                        prop_assert_eq!(ended.map(|ended| ended.last_stable_offset), Some(Offset(stable)));
                    }
                    end_offset += 1;
                }
                _ => {
                    high_watermark = (high_watermark + amount).min(end_offset);
                    state.on_high_watermark(Offset(high_watermark));
                }
            }
            let unstable = txns.iter().filter(|(_, _, marker)| marker.is_none_or(|marker| marker >= high_watermark));
            let first = unstable.map(|(_, first, _)| Offset(*first)).min();
            prop_assert_eq!(state.first_unstable_offset(Offset(high_watermark)), first);
        }
    }
}
