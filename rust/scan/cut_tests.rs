//! Splits cover a range exactly once.

use proptest::prelude::*;

use super::super::Bound;
use super::super::testing::*;
use base::place::Offset;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn splits_of_any_size_hold_every_record_once(
        count in 1usize..120,
        per_batch in 1usize..5,
        per_segment in 1usize..12,
        split_bytes in 1u64..4000,
        start in 0i64..120,
        span in 0i64..120,
        is_index_lost in any::<bool>(),
    ) {
        let bench = Bench::new(&[("index.interval.bytes", "200")]);
        fill(&bench, &vec![START_MS; count], per_batch, per_segment);
        if is_index_lost {
            for path in segment_files(&bench.path()) {
                std::fs::write(path.with_extension("index"), [0x7f; 80]).unwrap();
            }
        }
        let count = count as i64;
        let (start, end) = (start.min(count), (start + span).min(count));
        let mut request = request(&bench);
        request.start.insert(0, Bound::Offset(Offset(start)));
        request.end.insert(0, Bound::Offset(Offset(end)));
        let plan = plan(&request).unwrap();
        let splits = plan.splits(split_bytes).unwrap();
        prop_assert_eq!(splits.is_empty(), start == end);
        let offsets: Vec<i64> = splits.iter().flat_map(offsets_of).collect();
        prop_assert_eq!(offsets, (start..end).collect::<Vec<_>>());
        let mut next = start;
        for split in &splits {
            prop_assert_eq!(split.start_offset, Offset(next));
            prop_assert!(split.end_offset > split.start_offset);
            next = split.end_offset.get();
        }
        prop_assert_eq!(next, if splits.is_empty() { start } else { end });
        let bytes: u64 = splits.iter().map(super::super::Split::size_bytes).sum();
        prop_assert_eq!(bytes, plan.size_bytes());
    }
}

#[test]
fn small_segments_share_a_split() {
    let bench = Bench::new(&[]);
    fill(&bench, &[START_MS; 40], 1, 2);
    let plan = plan(&request(&bench)).unwrap();
    assert_eq!(plan.segment_count(), 20);
    let splits = plan.splits(plan.size_bytes() / 2).unwrap();
    assert_eq!(splits.len(), 2);
    assert!(splits.iter().all(|split| split.slices.len() >= 8));
}

#[test]
fn a_split_of_no_bytes_is_refused() {
    let bench = Bench::new(&[]);
    fill(&bench, &[START_MS], 1, 1);
    let said = plan(&request(&bench)).unwrap().splits(0).err().unwrap().to_string();
    assert!(said.contains("split_bytes: 0"), "{said}");
}

#[test]
fn an_empty_range_within_a_batch_has_no_split() {
    let bench = Bench::new(&[]);
    fill(&bench, &[START_MS; 4], 2, 1);
    let mut request = request(&bench);
    request.start.insert(0, Bound::Offset(Offset(3)));
    request.end.insert(0, Bound::Offset(Offset(3)));
    let plan = plan(&request).unwrap();
    assert_eq!((plan.size_bytes(), plan.splits(1).unwrap().len()), (0, 0));
}
